// A player's rank over the last minutes as a line: the better the higher.
//
// Owns: one SVG and what is written beside it. Never keeps ranks: history.js does.

import { draw, make, setText } from "./dom.js";
import { grouped, ordinal, span } from "./format.js";

/** @import { Sample } from './history.js' */

const HEIGHT = 96;
const EDGE = 8; // room for the line's width and the dot
const DIGIT = 0.6; // of the letters' size: how wide one is, at most
const LEAST_MS = 30_000; // over the whole width: what is shorter grows from the right

/**
 * Where samples lie: the newest at the right edge, the best rank at the top. Pure.
 * @param {readonly Sample[]} samples @param {number} now @param {number} left @param {number} right
 */
export function outline(samples, now, left, right) {
  const best = Math.min(...samples.map(({ rank }) => rank));
  const worst = Math.max(...samples.map(({ rank }) => rank));
  const spread = Math.max(1, worst - best);
  const length = Math.max(LEAST_MS, now - samples[0].at);
  const middle = worst === best ? HEIGHT / 2 : null;
  const points = samples.map(({ at, rank }) => ({
    x: right - ((now - at) / length) * (right - left),
    y: middle ?? EDGE + ((rank - best) / spread) * (HEIGHT - 2 * EDGE),
  }));
  return { best, worst, length, points };
}

export class Chart {
  #line = draw("path", { class: "line", fill: "none" });
  #area = draw("path", { class: "area" });
  #dot = draw("circle", { class: "dot", r: 4 });
  #svg = draw("svg", { height: HEIGHT, role: "img" });
  #width = 320;
  #letters = 12; // their size
  #best = make("span");
  #worst = make("span");
  #from = make("span");
  /** @type {[readonly Sample[], number]} */
  #shown = [[], 0];

  /** @param {HTMLElement} place */
  constructor(place) {
    this.#svg.append(this.#area, this.#line, this.#dot);
    place.append(this.#svg, this.#best, this.#worst, this.#from, make("span", "to", "now"));
    new ResizeObserver(() => {
      this.#width = place.clientWidth || this.#width;
      this.#letters = parseFloat(getComputedStyle(place).fontSize);
      this.show(...this.#shown);
    }).observe(place);
  }

  /** @param {readonly Sample[]} samples @param {number} now */
  show(samples, now) {
    this.#shown = [samples, now];
    this.#svg.classList.toggle("blank", !samples.length);
    if (!samples.length) return [this.#best, this.#worst, this.#from].forEach((label) => setText(label, ""));
    const still = { at: now, rank: samples[samples.length - 1].rank };
    const ranks = samples.map(({ rank }) => rank);
    const left = EDGE + this.#letters * DIGIT * (1 + grouped(Math.max(...ranks)).length);
    const { best, worst, length, points } = outline([...samples, still], now, left, this.#width - EDGE);
    this.#trace(points);
    this.#say(this.#best, `#${grouped(best)}`, 0, worst === best ? HEIGHT / 2 : EDGE);
    this.#say(this.#worst, worst === best ? "" : `#${grouped(worst)}`, 0, HEIGHT - EDGE);
    this.#say(this.#from, `${span(length)} ago`, left, HEIGHT + this.#letters);
    const words = `Rank over the last ${span(length)}: best ${ordinal(best)}, worst ${ordinal(worst)}`;
    this.#svg.setAttribute("aria-label", words);
  }

  /** @param {readonly { x: number, y: number }[]} points */
  #trace(points) {
    let path = `M${points[0].x.toFixed(1)} ${points[0].y.toFixed(1)}`;
    for (const { x, y } of points.slice(1)) path += `H${x.toFixed(1)}V${y.toFixed(1)}`;
    const last = points[points.length - 1];
    this.#line.setAttribute("d", path);
    this.#area.setAttribute("d", `${path}V${HEIGHT}H${points[0].x.toFixed(1)}Z`);
    this.#dot.setAttribute("cx", String(last.x));
    this.#dot.setAttribute("cy", String(last.y));
  }

  /** Moved by a transform, so that the page's layout stays. @param {HTMLElement} label @param {string} text @param {number} x @param {number} y */
  #say(label, text, x, y) {
    setText(label, text);
    label.style.transform = `translate(${x}px, calc(${y}px - 50%))`;
  }
}
