// Who rose and who fell of late: the places of each player, added up over some seconds. Pure.
//
// Owns: how long a move is told. Times are given, in milliseconds. Neighbours: table.js shows the marks.

export const SHOWN_MS = 4_000;

export class Marks {
  /** @type {Map<string, { at: number, places: number }[]>} */
  #moves = new Map();
  /** @type {Map<string, number>} */
  #entered = new Map();

  /** @param {string} player @param {number} places @param {number} now */
  moved(player, places, now) {
    const moves = this.#moves.get(player);
    if (moves) moves.push({ at: now, places });
    else this.#moves.set(player, [{ at: now, places }]);
  }

  /** @param {string} player @param {number} now */
  entered(player, now) {
    this.#moves.delete(player);
    this.#entered.set(player, now);
  }

  /** Forgets everything. */
  clear() {
    this.#moves.clear();
    this.#entered.clear();
  }

  /**
   * The places of every player who has a mark, null for one who came in. Forgets what is too old.
   * @param {number} now @returns {Map<string, number | null>}
   */
  at(now) {
    const oldest = now - SHOWN_MS;
    /** @type {Map<string, number | null>} */
    const marks = new Map();
    for (const [player, moves] of this.#moves) {
      while (moves.length && moves[0].at < oldest) moves.shift();
      if (!moves.length) this.#moves.delete(player);
      const places = moves.reduce((sum, move) => sum + move.places, 0);
      if (places) marks.set(player, places);
    }
    for (const [player, at] of this.#entered) {
      if (at < oldest) this.#entered.delete(player);
      else marks.set(player, null);
    }
    return marks;
  }
}
