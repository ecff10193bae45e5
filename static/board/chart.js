// A player's rank over the last minutes as a line: the better the higher.
//
// Owns: one SVG and what is written beside it. Never keeps ranks: history.js does.

import { draw, make, setText } from "./dom.js";
import { grouped, ordinal, span } from "./format.js";

/** @import { Sample } from './history.js' */

const HEIGHT = 96;
const EDGE = 8; // room for the line's width and the dot
const LABELS = 44; // room for the ranks at the left
const LEAST_MS = 1_000; // over the whole width

/**
 * Where samples lie: the newest at the right edge, the best rank at the top. Pure.
 * @param {readonly Sample[]} samples @param {number} now @param {number} width
 */
export function outline(samples, now, width) {
  const best = Math.min(...samples.map(({ rank }) => rank));
  const worst = Math.max(...samples.map(({ rank }) => rank));
  const spread = Math.max(1, worst - best);
  const length = Math.max(LEAST_MS, now - samples[0].at);
  const middle = worst === best ? HEIGHT / 2 : null;
  const points = samples.map(({ at, rank }) => ({
    x: width - EDGE - ((now - at) / length) * (width - EDGE - LABELS),
    y: middle ?? EDGE + ((rank - best) / spread) * (HEIGHT - 2 * EDGE),
  }));
  return { best, worst, points };
}

export class Chart {
  #line = draw("path", { class: "line", fill: "none" });
  #area = draw("path", { class: "area" });
  #dot = draw("circle", { class: "dot", r: 4 });
  #svg = draw("svg", { height: HEIGHT, role: "img" });
  #width = 320;
  #best = make("span", "best");
  #worst = make("span", "worst");
  #from = make("span", "from");

  /** @param {HTMLElement} place */
  constructor(place) {
    this.#svg.append(this.#area, this.#line, this.#dot);
    place.append(this.#svg, this.#best, this.#worst, this.#from, make("span", "to", "now"));
    new ResizeObserver(() => (this.#width = place.clientWidth || this.#width)).observe(place);
  }

  /** @param {readonly Sample[]} samples @param {number} now */
  show(samples, now) {
    this.#svg.classList.toggle("blank", !samples.length);
    if (!samples.length) return;
    const still = { at: now, rank: samples[samples.length - 1].rank };
    const { best, worst, points } = outline([...samples, still], now, this.#width);
    let path = `M${points[0].x.toFixed(1)} ${points[0].y.toFixed(1)}`;
    for (const { x, y } of points.slice(1)) path += `H${x.toFixed(1)}V${y.toFixed(1)}`;
    const last = points[points.length - 1];
    this.#line.setAttribute("d", path);
    this.#area.setAttribute("d", `${path}V${HEIGHT}H${points[0].x.toFixed(1)}Z`);
    this.#dot.setAttribute("cx", String(last.x));
    this.#dot.setAttribute("cy", String(last.y));
    const length = span(now - samples[0].at);
    setText(this.#best, `#${grouped(best)}`);
    setText(this.#worst, worst === best ? "" : `#${grouped(worst)}`);
    setText(this.#from, `${length} ago`);
    const words = `Rank over the last ${length}: best ${ordinal(best)}, worst ${ordinal(worst)}`;
    this.#svg.setAttribute("aria-label", words);
  }
}
