// The chosen player: rank, points, the way there, and the neighbours, wherever on the board they are.
//
// Owns: the panel. Never chooses or subscribes: board.js does. Neighbours: table.js has the rows, chart.js the line.

import { Chart } from "./chart.js";
import { setData, setHidden, setText } from "./dom.js";
import { called, counted, grouped, momentText, span } from "./format.js";
import { Table, positionOf } from "./table.js";

/** @import { AroundView } from '../rankcast.js' */
/** @import { Sample } from './history.js' */

export class Around {
  #parts;
  #table;
  #chart;
  #room = 0; // for so many rows: the panel keeps its height where the board's end leaves fewer

  /**
   * @param {{ panel: HTMLElement, flag: HTMLElement, name: HTMLElement, rank: HTMLElement, of: HTMLElement,
   *   points: HTMLElement, when: HTMLElement, trend: HTMLElement, note: HTMLElement, chart: HTMLElement,
   *   table: HTMLElement, body: HTMLElement }} parts
   * @param {{ flagOf: (player: string) => string, onchoose: (player: string) => void }} options
   */
  constructor(parts, options) {
    this.#parts = parts;
    this.#table = new Table(parts.body, options);
    this.#chart = new Chart(parts.chart);
  }

  /** Takes the flags anew. */
  refreshFlags() {
    this.#table.refreshFlags();
  }

  /**
   * Opens the panel for a player of whom nothing but the id, and perhaps the name, is known yet; null closes it.
   * @param {string | null} player @param {string | null} name @param {string} flag @param {number} room for rows
   */
  open(player, name, flag, room) {
    const { panel, note, rank, of, points, when, trend } = this.#parts;
    setHidden(panel, player === null);
    if (player === null) return;
    this.#title(called({ player, name }), flag);
    for (const part of [of, points, when, trend]) setText(part, "");
    setText(rank, "–");
    setText(note, "");
    setData(panel, "ranked", "unknown");
    this.#table.show([], true, "");
    this.#keepRoom((this.#room = room));
    this.#table.choose(player);
    this.#chart.show([], 0);
  }

  /** @param {number} rows */
  #keepRoom(rows) {
    this.#parts.body.style.minHeight = `calc(${rows} * var(--row))`;
  }

  /** @param {string} name @param {string} flag */
  #title(name, flag) {
    setText(this.#parts.name, name);
    setText(this.#parts.flag, flag);
  }

  /** @param {AroundView} view @param {string} flag */
  show(view, flag) {
    const { panel, rank, of, points, when, note } = this.#parts;
    setData(panel, "ranked", String(view.own !== null));
    if (view.own) {
      this.#title(called(view.own), flag);
      setText(rank, grouped(view.own.rank));
      setText(of, `of ${grouped(view.total)}`);
      setText(points, grouped(view.own.points));
      setText(when, `${view.own.points === 1 ? "point" : "points"} since ${momentText(view.own.achievedAt)}`);
    } else {
      setText(rank, "–");
      for (const part of [of, points, when]) setText(part, "");
    }
    setText(note, view.own ? "" : "Not ranked yet. The first result that counts shows here at once.");
    this.#keepRoom(Math.min(this.#room, view.total));
    this.#table.show(view.rows, view.changes.first, positionOf(view));
  }

  /**
   * What the last minutes were like.
   * @param {readonly Sample[]} samples @param {number} now
   */
  trend(samples, now) {
    this.#chart.show(samples, now);
    const places = samples.length ? samples[0].rank - samples[samples.length - 1].rank : 0;
    setData(this.#parts.trend, "kind", places > 0 ? "up" : places < 0 ? "down" : "");
    const length = samples.length ? span(now - samples[0].at) : "";
    setText(this.#parts.trend, places ? `${counted(Math.abs(places), "place", "places")} in ${length}` : "");
  }
}
