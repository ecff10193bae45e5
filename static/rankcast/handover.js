// Handing over what came: at most once a frame of the screen, however many frames of the server came before it.
//
// Owns: when a page's functions are called, and that their errors harm nobody else.
// Never decides what is true: pictures and their changes come from picture.js.
// Neighbours: client.js tells what is due; platform.js gives the frames of the screen.

import { FIRST, compare } from "./picture.js";

/** @import { RankUp } from '../rankcast.js' */
/** @import { Platform, RankUpFrame } from './types.js' */
/** @import { Subscription } from './subscription.js' */

const TOAST_MS = 10_000; // a rank-up that could not be shown for so long is old news

/**
 * Calls the page's code, whose errors are its own.
 * @template T @param {Platform} platform @param {((value: T) => void) | undefined} listener @param {T} value
 */
export function call(platform, listener, value) {
  try {
    listener?.(value);
  } catch (error) {
    platform.report(error);
  }
}

/** @param {Record<string, any>} one @param {Record<string, any>} other whether all of `one` is in `other` as it is */
export const sameIn = (one, other) => Object.keys(one).every((key) => one[key] === other[key]);

export class Handover {
  #platform;
  #nameOf;
  /** @type {Set<Subscription>} */
  #due = new Set();
  #frameAsked = false;

  /** @param {Platform} platform @param {(board: string, player: string) => string | null} nameOf */
  constructor(platform, nameOf) {
    this.#platform = platform;
    this.#nameOf = nameOf;
  }

  /**
   * There is something to show of this subscription.
   * @param {Subscription} one
   */
  add(one) {
    this.#due.add(one);
    if (this.#frameAsked) return;
    this.#frameAsked = true;
    this.#platform.frame(() => this.#flush());
  }

  #flush() {
    this.#frameAsked = false;
    const due = [...this.#due];
    this.#due.clear();
    for (const one of due) this.#view(one); // a rank-up is told after the picture that shows it
    for (const one of due) this.#rankups(one);
  }

  /** @param {Subscription} one */
  #view(one) {
    const picture = one.picture.show();
    if (!picture) return;
    const before = one.shown;
    const { board, view } = one.spec;
    const now = { board, view, ...picture, stale: one.stale, season: one.season };
    const changed = !before || !sameIn(now, before);
    if (changed)
      one.shown = Object.freeze({ ...now, changes: before ? compare(before.rows, now.rows) : FIRST });
    for (const listener of [...one.listeners]) {
      if (!one.listeners.has(listener)) continue; // taken away by the one before it
      if (listener.fresh)
        call(this.#platform, listener.onview, Object.freeze({ ...one.shown, changes: FIRST }));
      else if (changed) call(this.#platform, listener.onview, one.shown);
      listener.fresh = false;
    }
  }

  /** @param {Subscription} one */
  #rankups(one) {
    const oldest = this.#platform.now() - TOAST_MS;
    for (const { frame, at } of one.rankups.splice(0)) {
      if (at < oldest) continue;
      const event = this.#event(one.spec.board, frame);
      for (const listener of [...one.listeners]) {
        if (one.listeners.has(listener)) call(this.#platform, listener.onrankup, event);
      }
    }
  }

  /** @param {string} board @param {RankUpFrame} frame @returns {RankUp} */
  #event(board, { epoch, version, player, points, before, after }) {
    const id = `${epoch}-${version}-${player}`;
    return Object.freeze({
      id,
      board,
      epoch,
      version,
      player,
      name: this.#nameOf(board, player),
      points,
      before,
      after,
    });
  }
}
