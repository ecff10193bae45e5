// One line to the server, kept up: opened, watched, replaced, given up.
//
// Owns: the phases of a line and the timers that move them. Never reads a board.
// Neighbours: lines.js makes the lines, ways.js chooses between them; backoff.js knows what a close code asks for;
// watch.js tells a dead line; token.js brings tokens; client.js gives the frames to subscriptions.js.

import { Backoff, CODES, TOKEN_EXPIRED, isFinal } from "./backoff.js";
import { lineTo } from "./lines.js";
import { Scout } from "./scout.js";
import { Token } from "./token.js";
import { Watch } from "./watch.js";
import { Ways } from "./ways.js";

/** @import { Bye, Command, Frame, Line, LinkHandlers, LinkOptions, Platform, Timer, Welcome } from './types.js' */

const OPEN_MS = 10_000; // a line on which nothing was said for so long was not opened
const PUSHY_MS = 1_000; // waking up brings the next try forward, but not closer to the last one than this
const LOST = 1006;

export class Link {
  /** @type {'idle' | 'waiting' | 'opening' | 'up' | 'paused' | 'closed'} */
  phase = "idle";
  reason = ""; // why there is no line, or was none before this one: told until the server has said more than welcome
  /** @type {number | null} close code of the last line */
  code = null;
  /** @type {number | null} when the next try is due, while waiting */
  retryAt = null;
  #options;
  #platform;
  #on;
  #token;
  #backoff;
  #ways;
  #watch = new Watch();
  /** @type {Line | null} */
  #line = null;
  #scout;
  /** @type {Timer} */
  #timer = null;
  #attempt = 0; // tells the answers of an attempt that was given up
  #triedAt = -Infinity;
  #upSince = 0;
  #lastHeard = 0;
  #held = false; // a `bye` said when to come back: waking up does not bring it forward
  #heartbeatMs = 15_000;
  #nextId = 1;
  #authId = 0; // of the last `auth`: where that is refused, the server closes the line by itself

  /** @param {LinkOptions} options @param {Platform} platform @param {LinkHandlers} on */
  constructor(options, platform, on) {
    this.#options = options;
    this.#platform = platform;
    this.#on = on;
    this.#backoff = new Backoff(platform.random);
    this.#ways = new Ways(options.transport);
    this.#scout = new Scout(platform, this.#ways, async () => this.#make(false, await this.#token.get()));
    this.#token = new Token(options.token, platform, (token) => this.#authorise(token));
  }

  get transport() {
    return this.#line ? this.#line.kind : null;
  }

  /** Whether nothing was heard for so long that what is shown may be old. */
  get silent() {
    return this.#watch.silent;
  }

  /** When the server was last heard, on this line or the one before. */
  get heardAt() {
    return this.phase === "up" && this.#line ? this.#line.heardAt : this.#lastHeard;
  }

  /** Opens a line unless there is one, or one is on its way, or there is to be none. */
  open() {
    if (this.phase === "idle") this.#open();
  }

  /** Lets the line go: nothing is wanted. */
  rest() {
    if (this.phase === "closed") return;
    this.#drop();
    this.#become("idle", "nothing is subscribed");
  }

  /**
   * Ends for good.
   * @param {string} reason @param {number | null} code
   */
  close(reason, code = null) {
    this.#drop();
    this.#token.stop();
    this.code = code;
    this.#become("closed", reason);
  }

  /**
   * Sends a command and returns the id that it was given.
   * @param {Command} command
   */
  send(command) {
    const id = this.#nextId++;
    this.#line?.send({ id, ...command });
    return id;
  }

  /**
   * The page came to the front, the machine woke up or the network is back: timers may have slept.
   * @param {string} cause the event's name
   */
  wake(cause) {
    const hidden = this.#platform.hidden();
    if (this.phase === "up" && this.transport === "sse" && hidden) this.#pause();
    else if (hidden) return;
    else if (this.phase === "up") this.#look(cause === "online");
    else if (this.phase === "opening") this.#checkOpening();
    else if (this.phase === "paused") this.#open();
    else if (this.phase === "waiting") this.#hurry();
  }

  #hurry() {
    const now = this.#platform.now();
    const due = now >= (this.retryAt ?? 0);
    if (due || (!this.#held && now - this.#triedAt >= PUSHY_MS)) this.#open();
  }

  /** @param {Link['phase']} phase @param {string} reason */
  #become(phase, reason = "") {
    this.phase = phase;
    this.reason = reason;
    if (phase !== "waiting") this.retryAt = null;
    this.#on.change();
  }

  /** @param {() => void} run @param {number} ms */
  #later(run, ms) {
    this.#platform.cancel(this.#timer);
    this.#timer = this.#platform.later(run, ms);
  }

  #drop() {
    const wasUp = this.phase === "up";
    if (wasUp) this.#lastHeard = this.heardAt;
    this.#attempt++;
    this.#platform.cancel(this.#timer);
    this.#scout.stop();
    this.#line?.close();
    this.#line = null;
    this.#watch.heard();
    this.phase = "idle"; // until the caller says what comes
    if (wasUp) this.#on.down();
  }

  // -- opening

  async #open() {
    const reason = this.phase === "waiting" ? this.reason : ""; // why there is no line stays told until there is one
    this.#drop();
    if (this.#ways.usesEvents && this.#platform.hidden()) {
      this.#become("paused", "hidden");
      return;
    }
    const attempt = this.#attempt;
    this.#triedAt = this.#platform.now();
    this.#become("opening", reason);
    this.#later(() => this.#checkOpening(), OPEN_MS);
    try {
      const token = await this.#token.get();
      if (attempt !== this.#attempt) return;
      if (token === null && this.#token.needed) this.close("no token");
      else this.#line = this.#make(this.#ways.usesEvents, token);
    } catch (error) {
      // The caller has no token now, or the page may not open a WebSocket at all.
      if (attempt === this.#attempt) this.#ended(LOST, String(error));
    }
  }

  /** @param {boolean} events @param {string | null} token @returns {Line} */
  #make(events, token) {
    const on = {
      open: () => {
        if (token !== null) line.send({ id: (this.#authId = this.#nextId++), op: "auth", token });
      },
      frame: (/** @type {Frame} */ frame) => this.#heard(line, frame),
      bad: () => {
        if (line === this.#line) this.#on.bad();
      },
      close: (/** @type {number} */ code, /** @type {string} */ reason) => {
        if (line === this.#line) this.#ended(code, reason);
        else if (this.#scout.owns(line)) this.#scout.later();
      },
    };
    /** @type {Line} */
    const line = lineTo(this.#options, events, this.#platform.now, on);
    return line;
  }

  #checkOpening() {
    const left = this.#triedAt + OPEN_MS - this.#platform.now();
    if (left > 0) this.#later(() => this.#checkOpening(), left);
    else this.#ended(LOST, "no answer");
  }

  // -- frames

  /** @param {Line} line @param {Frame} frame */
  #heard(line, frame) {
    if (this.#scout.owns(line) && frame.type === "welcome") this.#adopt(line);
    if (line !== this.#line) return;
    if (this.#watch.doubtful) this.#alive();
    if (frame.type === "welcome") this.#welcome(line, frame);
    else if (frame.type === "bye") this.#bye(frame);
    else {
      this.reason = "";
      this.#on.frame(frame);
    }
    if (frame.type === "error" && frame.code === "token_expired" && frame.id !== this.#authId)
      this.#token.renew();
  }

  /** @param {Line} line @param {Welcome} frame */
  #welcome(line, frame) {
    if (frame.heartbeat_ms) this.#heartbeatMs = frame.heartbeat_ms;
    if (this.phase === "up") return;
    this.#ways.opened(line.kind);
    this.#upSince = this.#platform.now();
    this.#held = false;
    this.#become("up", this.reason); // a line of events welcomes by itself
    this.#look(false);
    if (line.kind === "sse") this.#scout.later();
    this.#on.up(frame);
  }

  /** @param {Bye} frame */
  #bye({ code = 1001, retry_after_ms: retryAfterMs = 0, jitter_ms: jitterMs = 0 }) {
    this.#ended(code, "", { retryAfterMs, jitterMs });
  }

  // -- the end of a line

  /** @param {number} code @param {string} told @param {{ retryAfterMs: number, jitterMs: number } | null} asked */
  #ended(code, told, asked = null) {
    const wasUp = this.phase === "up";
    this.#ways.ended(this.transport, wasUp);
    this.#backoff.ended(wasUp ? this.#platform.now() - this.#upSince : 0);
    this.#drop();
    const reason = (code === LOST && told) || CODES[code] || told || `code ${code}`;
    if (isFinal(code) || (code === TOKEN_EXPIRED && !this.#token.expire())) {
      this.close(reason, code);
      return;
    }
    const wait = this.#backoff.delay(code, asked);
    this.code = code;
    this.#held = asked !== null;
    this.retryAt = this.#platform.now() + wait;
    this.#later(() => this.#open(), wait);
    this.#become("waiting", reason);
  }

  // -- watching

  /** @param {boolean} doubt */
  #look(doubt) {
    const wasSilent = this.silent;
    const found = this.#watch.look(this.#platform.now(), this.heardAt, this.#heartbeatMs, doubt);
    if (found.dead) return this.#ended(LOST, "silent");
    if (found.ping) this.send({ op: "ping" });
    this.#later(() => this.#look(false), found.next);
    if (this.silent !== wasSilent) this.#on.change();
  }

  #alive() {
    this.#watch.heard();
    this.#look(false);
    this.#on.change();
  }

  // -- server-sent events: released by hidden pages, left when a WebSocket can be had again

  #pause() {
    this.#drop();
    this.#become("paused", "hidden");
  }

  /** @param {Line} line */
  #adopt(line) {
    this.#scout.release();
    this.#drop();
    this.#line = line;
    this.phase = "opening";
  }

  /** @param {string} token */
  #authorise(token) {
    if (this.phase === "up") this.#authId = this.send({ op: "auth", token });
  }
}
