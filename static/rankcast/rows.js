// The rows of one view, in order: the law `apply(rows, diff) == rows'` and the checksum that proves it.
//
// Owns: entries by place and by player, names that came with them, the frozen rows that are handed out.
// Never knows sockets, topics or versions.
// Neighbours: picture.js reads frames and calls this; crc32.js computes.

import { crc32, joined } from "./crc32.js";

/** @import { Row } from '../rankcast.js' */
/** @import { Names, PlacedTuple, RowTuple } from './types.js' */

/**
 * What is kept of a player: `row` is the frozen row that was handed out, null when it does not hold any more.
 * @typedef {{ player: string, name: string | null, points: number, achievedAt: number, index: number,
 *   row: Row | null, crc: number, length: number }} Entry
 */

/** @param {string} player @param {number} points @param {number} achievedAt @param {string | null} name @returns {Entry} */
function entryOf(player, points, achievedAt, name) {
  const text = `${player},${points},${achievedAt}\n`;
  return { player, name, points, achievedAt, index: -1, row: null, crc: crc32(text), length: text.length };
}

/**
 * Takes the entries at the places `taken` (ascending) out of `order`, puts `placed` (ascending by index) in.
 * Only the stretches in which entries move are walked. Returns the lowest place that changed, -1 when the
 * places cannot be reached (the diff is not one of these rows).
 * @param {Entry[]} order @param {number[]} taken @param {Entry[]} placed
 */
function weave(order, taken, placed) {
  let nextTaken = 0;
  let nextPlaced = 0;
  let lowest = -1;
  while (nextTaken < taken.length || nextPlaced < placed.length) {
    const start = Math.min(taken[nextTaken] ?? Infinity, placed[nextPlaced]?.index ?? Infinity);
    if (!Number.isInteger(start) || start < 0 || start > order.length) return -1;
    if (lowest < 0) lowest = start;
    const stretch = [];
    let read = start;
    for (;;) {
      /** @type {number} */
      const write = start + stretch.length;
      if (placed[nextPlaced]?.index === write) stretch.push(placed[nextPlaced++]);
      else if (taken[nextTaken] === read) {
        nextTaken++;
        read++;
      } else if (read === write)
        break; // as many came as went: what follows stays where it is
      else if (read < order.length) stretch.push(order[read++]);
      else break;
    }
    for (let at = 0; at < stretch.length; at++) {
      const entry = (order[start + at] = stretch[at]);
      if (entry.index !== start + at) {
        entry.index = start + at;
        entry.row = null;
      }
    }
    if (read === start + stretch.length) continue;
    order.length = start + stretch.length;
    if (nextTaken < taken.length || nextPlaced < placed.length) return -1;
  }
  return lowest < 0 ? order.length : lowest;
}

/** The ordered rows of one view. */
export class Rows {
  /** @type {Entry[]} */
  #order = [];
  /** @type {Map<string, Entry>} */
  #known = new Map();
  #sums = [0]; // checksum of the first i rows
  /** @type {readonly Row[]} the rows that were handed out last */
  #list = Object.freeze([]);
  #changed = false; // whether any of them may not hold any more
  #first = 1;

  /** CRC-32 of the rows' text `player,points,achieved_at\n`, one after another. */
  get crc() {
    return this.#sums[this.#order.length];
  }

  /**
   * Puts `rows` (in order) in place of all; names that are known stay known.
   * @param {readonly RowTuple[]} rows @param {Names} [names]
   */
  replace(rows, names) {
    const before = this.#known;
    this.#known = new Map();
    this.#order = rows.map(([player, points, achievedAt], index) => {
      const old = before.get(player);
      const same = old && old.points === points && old.achievedAt === achievedAt;
      const entry = same ? old : entryOf(player, points, achievedAt, old ? old.name : null);
      if (entry.index !== index) {
        entry.index = index;
        entry.row = null;
      }
      this.#known.set(player, entry);
      return entry;
    });
    this.#changed = true;
    this.#rename(names);
    this.#sum(0);
  }

  /**
   * Takes `gone` and the players of `set` out, puts those of `set` (`[player, points, achieved_at, rank]`, by rank)
   * in. Returns whether that was possible; when it was not, the rows are worthless until the next `replace`.
   * @param {readonly string[]} gone @param {readonly PlacedTuple[]} set @param {Names} [names]
   */
  change(gone, set, names) {
    const taken = [];
    for (const player of gone) {
      const old = this.#known.get(player);
      if (!old) return false;
      taken.push(old.index);
      this.#known.delete(player);
    }
    const placed = set.map(([player, points, achievedAt, rank]) => {
      const old = this.#known.get(player);
      if (old) taken.push(old.index);
      const entry = entryOf(player, points, achievedAt, old ? old.name : null);
      entry.index = rank - 1;
      this.#known.set(player, entry);
      return entry;
    });
    const lowest = weave(
      this.#order,
      taken.sort((a, b) => a - b),
      placed,
    );
    if (lowest < 0) return false;
    if (taken.length || placed.length) this.#changed = true;
    this.#rename(names);
    this.#sum(lowest);
    return this.#known.size === this.#order.length;
  }

  /**
   * The name that came with this player, null when none did or the player is not here.
   * @param {string} player
   */
  nameOf(player) {
    return this.#known.get(player)?.name ?? null;
  }

  /**
   * The rows as a frozen array of frozen rows, the first of which has rank `first`. A row that did not change is
   * the same object as before, and so is an array of which no row did.
   */
  list(first = 1) {
    if (first !== this.#first) for (const entry of this.#order) entry.row = null;
    if (first === this.#first && !this.#changed) return this.#list;
    this.#first = first;
    this.#changed = false;
    const rows = this.#order.map((entry) => (entry.row ??= this.#row(entry)));
    const same = rows.length === this.#list.length && rows.every((row, index) => row === this.#list[index]);
    return same ? this.#list : (this.#list = Object.freeze(rows));
  }

  /** @param {Entry} entry @returns {Row} */
  #row({ index, player, name, points, achievedAt }) {
    return Object.freeze({ rank: this.#first + index, player, name, points, achievedAt });
  }

  /** @param {Names} [names] */
  #rename(names = {}) {
    for (const player in names) {
      const entry = this.#known.get(player);
      if (!entry || entry.name === names[player]) continue;
      entry.name = names[player];
      entry.row = null;
      this.#changed = true;
    }
  }

  /** @param {number} lowest */
  #sum(lowest) {
    for (let at = lowest; at < this.#order.length; at++) {
      this.#sums[at + 1] = joined(this.#sums[at], this.#order[at].crc, this.#order[at].length);
    }
    this.#sums.length = this.#order.length + 1;
  }
}
