// One view of one board: what the server has agreed to, who wants it, what waits to be handed over.
//
// Owns: the state of one subscription. Never sends: it says what it is, subscriptions.js does what follows.
// Neighbours: picture.js holds what it shows; handover.js empties `rankups` and sets `shown`.

import { AroundPicture, NoPicture, TopPicture, Toasts } from "./picture.js";

/** @import { Listener, Picture, RankUpFrame, Spec } from './types.js' */
/** @import { Stale } from '../rankcast.js' */

const KEPT_RANKUPS = 20; // toasts of a page that does not look are dropped, the oldest first
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
const CALM_MS = 60_000; // after so long without one, the next resynchronisation is immediate again

/** @type {{ [view: string]: (spec: Spec) => Picture }} */
const PICTURES = {
  top: () => new TopPicture(),
  around: ({ player = "" }) => new AroundPicture(player),
  rankups: () => new NoPicture(),
};

/**
 * One view of one board: idle -> asking -> live -> leaving -> idle; broken: live, but to be left and asked for
 * anew; refused until the next line.
 */
export class Subscription {
  /** @type {'idle' | 'asking' | 'live' | 'broken' | 'leaving' | 'refused'} */
  state = "idle";
  /** @type {string | null} the server's name for it, while live */
  topic = null;
  /** @type {Set<Listener>} */
  listeners = new Set();
  /** @type {{ frame: RankUpFrame, at: number }[]} not yet handed over; `at`: when each came */
  rankups = [];
  /** @type {Stale | null} */
  stale = null;
  /** @type {string | null} */
  season = null;
  /** Whether the picture was confirmed on this line. */
  current = false;
  /** @type {any} the view that was handed over last */
  shown = null;
  #toasts = new Toasts();
  #trouble = 0;
  #troubledAt = 0;
  notBefore = 0;

  /** @param {Spec} spec */
  constructor(spec) {
    this.spec = Object.freeze(spec);
    this.picture = PICTURES[spec.view](spec);
  }

  get wanted() {
    return this.listeners.size > 0;
  }

  /**
   * Puts the next try off by growing pauses, so that a fault is no storm. `atOnce`: the first has none.
   * @param {number} now @param {number} random @param {boolean} atOnce
   */
  postpone(now, random, atOnce) {
    if (now - this.#troubledAt > CALM_MS) this.#trouble = 0;
    const pause =
      atOnce && this.#trouble === 0 ? 0 : Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** this.#trouble);
    this.notBefore = now + pause * (0.5 + random / 2);
    this.#trouble = Math.min(this.#trouble + 1, 10);
    this.#troubledAt = now;
  }

  /**
   * Keeps a rank-up to be handed over. Returns whether it was new.
   * @param {RankUpFrame} rankup @param {number} now
   */
  keep(rankup, now) {
    if (!this.#toasts.isNew(rankup)) return false;
    this.rankups.push({ frame: rankup, at: now });
    if (this.rankups.length > KEPT_RANKUPS) this.rankups.shift();
    return true;
  }

  /** @param {string} board */
  isOfBoard(board) {
    return this.spec.board === board || (this.topic !== null && this.topic.startsWith(`${board}/`));
  }
}
