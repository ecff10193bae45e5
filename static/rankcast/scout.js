// A WebSocket that is tried now and then while server-sent events carry on.
//
// Owns: that socket until it has proven itself, and the pauses between tries.
// Neighbours: link.js makes the socket and takes it over when the server speaks on it; ways.js knows the pauses.

/** @import { Line, Platform, Timer } from './types.js' */
/** @import { Ways } from './ways.js' */

const OPEN_MS = 10_000; // as for any line: on which nothing was said for so long, it was not opened

export class Scout {
  #platform;
  #ways;
  #make;
  /** @type {Line | null} */
  #line = null;
  /** @type {Timer} */
  #timer = null;
  #try = 0; // tells the answers of a try that was given up

  /** @param {Platform} platform @param {Ways} ways @param {() => Promise<Line>} make */
  constructor(platform, ways, make) {
    this.#platform = platform;
    this.#ways = ways;
    this.#make = make;
  }

  /** @param {Line} line */
  owns(line) {
    return line === this.#line;
  }

  /** Sends a scout after the pause that is due. */
  later() {
    this.stop();
    const wait = this.#ways.scoutDelay(this.#platform.random());
    if (wait !== null) this.#timer = this.#platform.later(() => this.#send(), wait);
  }

  async #send() {
    const mine = this.#try;
    this.#timer = this.#platform.later(() => this.later(), OPEN_MS);
    try {
      const line = await this.#make();
      if (mine === this.#try) this.#line = line;
      else line.close();
    } catch {
      if (mine === this.#try) this.later();
    }
  }

  /** The socket works: it is the caller's now. */
  release() {
    this.#line = null;
    this.stop();
  }

  stop() {
    this.#try++;
    this.#platform.cancel(this.#timer);
    this.#line?.close();
    this.#line = null;
  }
}
