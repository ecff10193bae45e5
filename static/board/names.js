// The names that views have told, for what comes without one: somebody who has just left the view, say. Pure.
//
// Owns: how many are kept. Neighbours: board.js fills and asks.

const KEPT = 500;

export class Names {
  /** @type {Map<string, string>} */
  #names = new Map();

  /** @param {readonly { player: string, name: string | null }[]} rows */
  learn(rows) {
    for (const { player, name } of rows) {
      if (name !== null && this.#names.get(player) !== name) this.#names.set(player, name);
    }
    for (const player of this.#names.keys()) {
      if (this.#names.size <= KEPT) return;
      this.#names.delete(player); // the oldest first
    }
  }

  /** The name of a player, null where it is not known. @type {(player: string) => string | null} */
  of = (player) => this.#names.get(player) ?? null;
}
