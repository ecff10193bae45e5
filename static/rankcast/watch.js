// Whether a line is alive: judged by the clock and the time of the last frame.
//
// Owns: the limits of silence. A page's timers may be stretched to a minute or stand still while the machine
// sleeps, so that a late look must find the same as one in time. Pure: the clock is given.
// Neighbours: link.js looks, pings and replaces.

const PROBE_MS = 5_000; // a line in doubt that does not answer a ping within this is dead
const SOONEST_MS = 50;

/** @typedef {{ dead: boolean, ping: boolean, next: number }} Finding `next`: look again after so many ms */

export class Watch {
  /** Nothing was heard for longer than a heartbeat takes: what is shown may be old. */
  silent = false;
  /** @type {number | null} */
  #pingedAt = null;

  /** Whether the next frame brings good news. */
  get doubtful() {
    return this.#pingedAt !== null;
  }

  /**
   * Looks at a line that was last heard at `heardAt`. `doubt`: there is a reason to ask, whatever the clock says.
   * @param {number} now @param {number} heardAt @param {number} heartbeatMs @param {boolean} doubt @returns {Finding}
   */
  look(now, heardAt, heartbeatMs, doubt) {
    const quietFor = Math.max(0, now - heardAt);
    const limit = 1.5 * heartbeatMs + 500;
    if (quietFor >= limit) this.silent = true;
    // The last word is never the clock's alone: frames that came during a sleep may still wait to be handed over.
    const ping = this.#pingedAt === null && (doubt || this.silent);
    if (ping) this.#pingedAt = now;
    const next = this.#pingedAt === null ? limit - quietFor : this.#pingedAt + PROBE_MS - now;
    return { dead: this.#pingedAt !== null && next <= 0, ping, next: Math.max(next, SOONEST_MS) };
  }

  /** The line spoke. */
  heard() {
    this.silent = false;
    this.#pingedAt = null;
  }
}
