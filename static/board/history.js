// The ranks of players over the last minutes, one a second. Pure: times are given, in milliseconds.
//
// Owns: what is kept and when it is let go. Neighbours: chart.js draws it, board.js notes what views show.

export const KEPT_MS = 5 * 60_000;
const EVERY_MS = 1_000;

/** @typedef {{ at: number, rank: number }} Sample */

export class History {
  /** @type {Map<string, Sample[]>} */
  #ranks = new Map();
  #lookedAt = -Infinity;

  /**
   * Notes the ranks of many players; more often than once a second is of no use and ignored.
   * @param {readonly { player: string, rank: number }[]} rows @param {number} now
   */
  noteAll(rows, now) {
    if (now - this.#lookedAt < EVERY_MS) return;
    this.#lookedAt = now;
    for (const { player, rank } of rows) this.note(player, rank, now);
    for (const [player, samples] of this.#ranks) {
      if (samples[samples.length - 1].at < now - KEPT_MS) this.#ranks.delete(player);
    }
  }

  /** @param {string} player @param {number} rank @param {number} now */
  note(player, rank, now) {
    const samples = this.#ranks.get(player) ?? [];
    const last = samples[samples.length - 1];
    if (last && now - last.at < EVERY_MS) {
      last.rank = rank;
      return;
    }
    samples.push({ at: now, rank });
    while (samples[0].at < now - KEPT_MS) samples.shift();
    this.#ranks.set(player, samples);
  }

  /**
   * What is known of a player, the oldest first.
   * @param {string} player @returns {readonly Sample[]}
   */
  of(player) {
    return this.#ranks.get(player) ?? [];
  }

  /** Forgets everything, as when a season begins anew. */
  clear() {
    this.#ranks.clear();
    this.#lookedAt = -Infinity;
  }
}
