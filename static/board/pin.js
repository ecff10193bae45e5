// The viewer's own row at the foot of the screen, while it is not in sight in the table.
//
// Owns: the bar. Neighbours: board.js says what stands in it and when it is needed.

import { setHidden, setText } from "./dom.js";
import { called, counted, grouped } from "./format.js";

/** @import { AroundView } from '../rankcast.js' */

export class Pin {
  #parts;

  /**
   * @param {{ bar: HTMLElement, rank: HTMLElement, flag: HTMLElement, name: HTMLElement, points: HTMLElement, show: HTMLButtonElement,
   *   leave: HTMLButtonElement }} parts
   * @param {{ onshow: () => void, onleave: () => void }} calls
   */
  constructor(parts, { onshow, onleave }) {
    this.#parts = parts;
    parts.show.addEventListener("click", onshow);
    parts.leave.addEventListener("click", onleave);
  }

  /**
   * @param {AroundView | null} view null: nobody is chosen @param {boolean} needed @param {string} flag
   */
  show(view, needed, flag) {
    const { bar, rank, name, points } = this.#parts;
    setHidden(bar, !view || !needed);
    if (!view) return;
    const { own, player } = view;
    setText(rank, own ? `#${grouped(own.rank)}` : "–");
    setText(name, called(own ?? { name: null, player }));
    setText(this.#parts.flag, flag);
    setText(points, own ? counted(own.points, "point", "points") : "not ranked");
  }
}
