// How fast commands may be sent: a client that subscribes to much stays below the server's limit.
//
// Owns: the times of the last commands. Pure: the clock is given.
// Neighbours: client.js asks before each command.

const WINDOW_MS = 1_000;

export class Pace {
  /** @type {number[]} times of the commands within the window */
  #sent = [];

  /**
   * Milliseconds to wait before one more command at `now`; at 0 it is counted as sent. `limit`: commands a second.
   * @param {number} now @param {number} limit
   */
  take(now, limit) {
    while (this.#sent.length && (now - this.#sent[0] >= WINDOW_MS || now < this.#sent[0])) this.#sent.shift();
    if (this.#sent.length >= limit) return this.#sent[0] + WINDOW_MS - now;
    this.#sent.push(now);
    return 0;
  }
}
