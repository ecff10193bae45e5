// What a screen reader is told: where the chosen player is, and nothing else. Not each step: the newest, now and then.
//
// Owns: the live region and its pace. Neighbours: board.js hands over the chosen player's view.

import { setText } from "./dom.js";
import { called, counted, grouped, ordinal } from "./format.js";

/** @import { AroundView } from '../rankcast.js' */

const EVERY_MS = 6_000;

/**
 * The player's place in words; `before` is the rank that was told last, null: none. Pure.
 * @param {AroundView} view @param {number | null} before
 */
export function inWords({ own, player, total }, before) {
  if (!own) return `${called({ player, name: null })} is not ranked.`;
  const places = before === null ? 0 : before - own.rank;
  const moved = places
    ? `, ${places > 0 ? "up" : "down"} ${counted(Math.abs(places), "place", "places")}`
    : "";
  return `${called(own)} is ${ordinal(own.rank)} of ${grouped(total)} with ${counted(own.points, "point", "points")}${moved}.`;
}

export class Announcer {
  #region;
  /** @type {string | null} */
  #player = null;
  /** @type {number | null | undefined} undefined: nothing was told yet */
  #told = undefined;
  /** @type {AroundView | null} */
  #newest = null;
  #timer = 0;

  /** @param {HTMLElement} region */
  constructor(region) {
    this.#region = region;
  }

  /** @param {AroundView | null} view null: nobody is chosen */
  take(view) {
    this.#newest = view;
    if (view?.player !== this.#player) {
      clearTimeout(this.#timer);
      this.#timer = 0;
      this.#told = undefined;
      this.#player = view?.player ?? null;
      setText(this.#region, "");
    }
    if (!this.#timer) this.#tell();
  }

  #tell() {
    this.#timer = 0;
    if (!this.#newest || this.#newest.rank === this.#told) return;
    setText(this.#region, inWords(this.#newest, this.#told ?? null));
    this.#told = this.#newest.rank;
    this.#timer = window.setTimeout(() => this.#tell(), EVERY_MS);
  }
}
