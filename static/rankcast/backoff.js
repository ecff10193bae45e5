// When to come back: what each close code asks for, and how long to wait.
//
// Owns: the close-code table of the protocol and the full-jitter back-off. Pure: time and chance are given.
// Neighbours: link.js asks after each line that ended.

/**
 * Words for the codes that a state's reason may name; any other code is told as its number.
 * @type {{ readonly [code: number]: string }}
 */
export const CODES = Object.freeze({
  1000: "closed",
  1001: "going away",
  1006: "lost",
  1009: "frame too big",
  1011: "server error",
  1012: "restart",
  1013: "try again later",
  3001: "shutdown",
  3005: "token expired",
  3008: "slow",
  3012: "no pong",
  3013: "too many requests",
  3500: "bad token",
  3501: "bad request",
  3502: "no subscription",
  3504: "connection limit",
  3505: "subscription limit",
  3507: "permission denied",
});

export const TOKEN_EXPIRED = 3005;

const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;
const BUSY_MS = 5_000; // servers that say "too much" are left alone for so long at least
const STABLE_MS = 10_000; // a line that lived for less has not shown that the server is well

/**
 * Whether a client must not come back after this close code.
 * @param {number} code
 */
export function isFinal(code) {
  return (code >= 3500 && code <= 3999) || (code >= 4500 && code <= 4999);
}

/** @param {number} code */
const isBusy = (code) => code === 1013 || code === 3013;

/** Counts failures and spreads the returns. */
export class Backoff {
  #failures = 0;
  #random;

  /** @param {() => number} random a number from 0 to 1, as Math.random gives it */
  constructor(random) {
    this.#random = random;
  }

  /**
   * A line ended that lived for `livedMs` (0: it never was up).
   * @param {number} livedMs
   */
  ended(livedMs) {
    this.#failures = livedMs >= STABLE_MS ? 0 : this.#failures + 1;
  }

  /**
   * Milliseconds until the next try after close code `code`. `asked`: what a `bye` asked for.
   * @param {number} code @param {{ retryAfterMs: number, jitterMs: number } | null} asked
   */
  delay(code, asked = null) {
    if (asked) return asked.retryAfterMs + this.#random() * asked.jitterMs;
    const floor = isBusy(code) ? BUSY_MS : 0;
    return (
      floor +
      this.#random() * Math.max(floor, Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(this.#failures, 10)))
    );
  }
}
