// The viewer's token: asked for when needed, renewed before it expires.
//
// Owns: the caller's token or callback, and when it is called. Never sends.
// Neighbours: link.js sends what this gives.

const EARLY_MS = 30_000;
const LONGEST_MS = 2 ** 31 - 1; // what a timer takes

/** @import { LinkOptions, Platform, Timer } from './types.js' */

/**
 * How long a JSON web token lives, in ms from `now`; null when it does not say.
 * @param {string} token @param {number} now @returns {number | null}
 */
export function lifeOf(token, now) {
  try {
    const { exp, iat } = JSON.parse(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")));
    // From issue to expiry where both are told: the clock of this machine may be wrong.
    if (typeof exp !== "number") return null;
    return typeof iat === "number" ? (exp - iat) * 1000 : exp * 1000 - now;
  } catch {
    return null;
  }
}

export class Token {
  #source;
  #platform;
  #renewed;
  /** @type {string | null} */
  #token = null;
  /** @type {Timer} */
  #timer = null;
  /** @type {Promise<string | null> | null} */
  #asking = null;

  /**
   * `source`: none, a token, or a function that gives one (or a promise of one); `renewed` is told of fresh ones.
   * @param {LinkOptions['token']} source @param {Platform} platform @param {(token: string) => void} renewed
   */
  constructor(source, platform, renewed) {
    this.#source = source ?? null;
    this.#platform = platform;
    this.#renewed = renewed;
    if (typeof source === "string") this.#token = source;
  }

  /** Whether the server is to be given a token at all. */
  get needed() {
    return this.#source !== null;
  }

  /** The token, null when there is none. Rejects when the callback fails. */
  async get() {
    if (this.#token !== null || typeof this.#source !== "function") return this.#token;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #ask() {
    const source = this.#source;
    const token = typeof source === "function" ? ((await source()) ?? null) : source;
    this.#token = token;
    const life = token === null ? null : lifeOf(token, this.#platform.now());
    this.#platform.cancel(this.#timer);
    if (life !== null) {
      const wait = Math.max(Math.min(life - EARLY_MS, LONGEST_MS), life / 2, 1_000);
      this.#timer = this.#platform.later(() => this.renew(), Math.min(wait, LONGEST_MS));
    }
    return token;
  }

  /** The server does not take the token any more. Returns whether the next `get` can bring a fresh one. */
  expire() {
    if (typeof this.#source !== "function") return false;
    this.#token = null;
    return true;
  }

  /** Asks for a fresh token now and tells of it; a failure is left to the next line. */
  async renew() {
    if (!this.expire()) return;
    const token = await this.get().catch(() => null);
    if (token !== null) this.#renewed(token);
  }

  stop() {
    this.#platform.cancel(this.#timer);
  }
}
