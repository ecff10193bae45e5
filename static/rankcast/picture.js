// What one subscription shows: frames in, immutable views out.
//
// Owns: the position (epoch, version) of each view, when a frame may be taken, what changed between two views.
// Never sends or waits: `take` answers with the reason when only a snapshot helps.
// Neighbours: rows.js holds the rows; subscriptions.js routes frames here; client.js hands the views over.

import { Rows } from "./rows.js";

/** @import { Changes, Move, Row } from '../rankcast.js' */
/** @import { Around, Diff, Picture, PictureFrame, Position, RankUpFrame, Snapshot } from './types.js' */

/** @type {readonly never[]} */
const NOTHING = Object.freeze([]);

/**
 * Changes of a view that nothing was shown before.
 * @type {Changes}
 */
export const FIRST = Object.freeze({ first: true, entered: NOTHING, left: NOTHING, moved: NOTHING });

/**
 * What changed from the rows `before` to the rows `after`; places are positive for a rise.
 * @param {readonly Row[]} before @param {readonly Row[]} after @returns {Changes}
 */
export function compare(before, after) {
  /** @type {Row[]} */
  const entered = [];
  /** @type {Move[]} */
  const moved = [];
  /** @type {Map<string, Row>} */
  const gone = new Map();
  if (before !== after) {
    for (const row of before) gone.set(row.player, row);
    for (const row of after) {
      const old = gone.get(row.player);
      if (!old) entered.push(row);
      else if (old.rank !== row.rank)
        moved.push(Object.freeze({ player: row.player, places: old.rank - row.rank }));
      gone.delete(row.player);
    }
  }
  return Object.freeze({
    first: false,
    entered: Object.freeze(entered),
    left: Object.freeze([...gone.values()]),
    moved: Object.freeze(moved),
  });
}

/**
 * The top of a board: a snapshot, then diffs, each proven by its checksum.
 * @implements {Picture}
 */
export class TopPicture {
  /** @type {Position | null} */
  position = null;
  #rows = new Rows();
  #total = 0;

  /** @param {PictureFrame} frame */
  take(frame) {
    const problem =
      frame.type === "snapshot" ? this.#snapshot(frame) : frame.type === "diff" ? this.#diff(frame) : null;
    if (problem) this.position = null;
    return problem;
  }

  /** @param {Snapshot} frame */
  #snapshot(frame) {
    this.#rows.replace(frame.rows, frame.names);
    if (this.#rows.crc !== frame.crc) return "crc";
    this.#total = frame.total;
    this.position = { epoch: frame.epoch, version: frame.version };
    return null;
  }

  /** @param {Diff} frame */
  #diff(frame) {
    const at = this.position;
    if (!at || frame.epoch !== at.epoch) return "gap";
    if (frame.from < at.version && frame.to <= at.version) return null; // told before
    if (frame.from !== at.version) return "gap";
    if (!this.#rows.change(frame.gone, frame.set, frame.names) || this.#rows.crc !== frame.crc) return "crc";
    this.#total = frame.total;
    this.position = { epoch: at.epoch, version: frame.to };
    return null;
  }

  /** @param {string} player */
  nameOf(player) {
    return this.#rows.nameOf(player);
  }

  show() {
    return this.position && { ...this.position, total: this.#total, rows: this.#rows.list() };
  }
}

/**
 * A player's neighbourhood: every frame is whole, or moves the rank and total of rows that stay.
 * @implements {Picture}
 */
export class AroundPicture {
  /** @type {Position | null} */
  position = null;
  #player;
  #rows = new Rows();
  /** @type {number | null} */
  #rank = null;
  #total = 0;

  /** @param {string} player */
  constructor(player) {
    this.#player = player;
  }

  /** @param {PictureFrame} frame */
  take(frame) {
    if (frame.type !== "around") return null;
    if (!frame.rows && !this.position) return "gap";
    if (frame.rows) this.#rows.replace(frame.rows, frame.names);
    else this.#rows.change(NOTHING, NOTHING, frame.names);
    if (frame.rank !== undefined) this.#rank = frame.rank;
    this.#total = frame.total;
    this.position = { epoch: frame.epoch, version: frame.version };
    return null;
  }

  /** @param {string} player */
  nameOf(player) {
    return this.#rows.nameOf(player);
  }

  show() {
    if (!this.position) return null;
    const rows = this.#rows.list(this.#rank ?? 1);
    const own = rows.find((row) => row.player === this.#player) ?? null;
    return { ...this.position, total: this.#total, rows, player: this.#player, rank: own && own.rank, own };
  }
}

/**
 * Rank-ups: events, told once each; they have no rows and no position to resume from.
 * @implements {Picture}
 */
export class NoPicture {
  position = null;

  take() {
    return null;
  }

  nameOf() {
    return null;
  }

  show() {
    return null;
  }
}

/** Lets a rank-up pass once: by (epoch, version) it only goes on, and within one version once a player. */
export class Toasts {
  /** @type {string | null} */
  #epoch = null;
  #version = -1;
  /** @type {Set<string>} */
  #players = new Set();

  /** @param {RankUpFrame} rankup */
  isNew({ epoch, version, player }) {
    if (epoch === this.#epoch && version < this.#version) return false;
    if (epoch !== this.#epoch || version > this.#version) {
      this.#epoch = epoch;
      this.#version = version;
      this.#players.clear();
    }
    if (this.#players.has(player)) return false;
    this.#players.add(player);
    return true;
  }
}
