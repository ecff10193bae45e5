// One line to the server, kept up: opening, back-off, tokens, dead lines, the way over server-sent events.
//
// Owns: when a line is opened, watched, replaced and given up. Never reads a board.
// Neighbours: socket.js and sse.js are the lines; backoff.js knows what a close code asks for;
// client.js gives the frames to subscriptions.js.

import { Backoff, CODES, TOKEN_EXPIRED, isFinal } from './backoff.js';
import { SocketLine } from './socket.js';
import { EventLine } from './sse.js';
import { Token } from './token.js';

const OPEN_MS = 10_000; // a line that said nothing for so long was not opened
const PROBE_MS = 5_000; // a silent line that does not answer a ping within this is dead
const REFUSALS = 2; // WebSockets that could not be opened in a row, before server-sent events are tried
const SOCKET_AGAIN_MS = 60_000; // how long server-sent events are used before a WebSocket is tried again
const SOCKET_LATEST_MS = 600_000;
const PUSHY_MS = 1_000; // waking up brings the next try forward, but not closer to the last one than this

export class Link {
  /** 'idle' | 'waiting' | 'opening' | 'up' | 'paused' | 'closed' */
  phase = 'idle';
  reason = '';
  code = null;
  retryAt = null;
  silent = false;
  #options;
  #platform;
  #on;
  #token;
  #backoff;
  #line = null;
  #scout = null; // a WebSocket that is tried while server-sent events carry on
  #timer = null;
  #scoutTimer = null;
  #attempt = 0; // tells the answers of an attempt that was given up
  #triedAt = -Infinity;
  #upSince = 0;
  #lastHeard = 0;
  #held = false; // a `bye` said when to come back: waking up does not bring it forward
  #probedAt = null;
  #heartbeatMs = 15_000;
  #refusals = 0;
  #scouts = 0;
  #nextId = 1;

  /** `on.up(welcome)`, `on.down()`, `on.frame(frame)`, `on.bad()`, `on.change()` */
  constructor(options, platform, on) {
    this.#options = options;
    this.#platform = platform;
    this.#on = on;
    this.#backoff = new Backoff(platform.random);
    this.#token = new Token(options.token, platform, (token) => this.#authorise(token));
  }

  get transport() {
    return this.#line ? this.#line.kind : null;
  }

  /** When the server was last heard, on this line or the one before. */
  get heardAt() {
    return this.#line && this.phase === 'up' ? this.#line.heardAt : this.#lastHeard;
  }

  /** Opens a line unless there is one, or one is on its way, or there is to be none. */
  open() {
    if (this.phase === 'idle') this.#open();
  }

  /** Lets the line go: nothing is wanted. */
  rest() {
    if (this.phase === 'closed') return;
    this.#drop();
    this.#become('idle', 'nothing is subscribed');
  }

  /** Ends for good. */
  close(reason, code = null) {
    this.#drop();
    this.#token.stop();
    this.code = code;
    this.#become('closed', reason);
  }

  /** Sends a command and returns the id that it was given. */
  send(command) {
    const id = this.#nextId++;
    this.#line?.send({ id, ...command });
    return id;
  }

  /** The page came to the front, the machine woke up or the network is back: timers may have slept. */
  wake(cause) {
    if (this.phase === 'up' && this.#line.kind === 'sse' && this.#platform.hidden()) this.#pause();
    else if (this.#platform.hidden()) return;
    else if (this.phase === 'up') this.#watch(cause === 'online');
    else if (this.phase === 'opening') this.#checkOpening();
    else if (this.phase === 'paused') this.#open();
    else if (this.phase === 'waiting') this.#hurry();
  }

  #hurry() {
    const now = this.#platform.now();
    if (now >= this.retryAt || (!this.#held && now - this.#triedAt >= PUSHY_MS)) this.#open();
  }

  #become(phase, reason = '') {
    this.phase = phase;
    this.reason = reason;
    if (phase !== 'waiting') this.retryAt = null;
    this.#on.change();
  }

  #later(run, ms) {
    this.#platform.cancel(this.#timer);
    this.#timer = this.#platform.later(run, ms);
  }

  #drop() {
    const wasUp = this.phase === 'up';
    if (wasUp) this.#lastHeard = this.#line.heardAt;
    this.#attempt++;
    this.#platform.cancel(this.#timer);
    this.#platform.cancel(this.#scoutTimer);
    this.#line?.close();
    this.#scout?.close();
    this.#line = this.#scout = null;
    this.silent = false;
    this.#probedAt = null;
    if (wasUp) this.#on.down();
  }

  // -- opening

  get #usesEvents() {
    const { transport } = this.#options;
    return transport === 'sse' || (transport !== 'websocket' && this.#refusals >= REFUSALS);
  }

  async #open() {
    const reason = this.phase === 'waiting' ? this.reason : ''; // why there is no line stays told until there is one
    this.#drop();
    if (this.#usesEvents && this.#platform.hidden()) {
      this.#become('paused', 'hidden');
      return;
    }
    const attempt = this.#attempt;
    this.#triedAt = this.#platform.now();
    this.#become('opening', reason);
    this.#later(() => this.#checkOpening(), OPEN_MS);
    let token;
    try {
      token = await this.#token.get();
    } catch (error) {
      if (attempt === this.#attempt) this.#ended(1006, `no token: ${error}`);
      return;
    }
    if (attempt !== this.#attempt) return;
    if (token === null && this.#token.needed) this.close('no token');
    else this.#line = this.#make(this.#usesEvents, token, attempt);
  }

  #make(events, token, attempt) {
    const { base, WebSocket, fetch } = this.#options;
    const now = this.#platform.now;
    let line = null;
    const on = {
      open: () => token && line.send({ id: this.#nextId++, op: 'auth', token }),
      frame: (frame) => this.#heard(line, frame),
      bad: () => line === this.#line && this.#on.bad(),
      close: (code, reason) => (attempt === this.#attempt && line === this.#line ? this.#ended(code, reason) : this.#scoutFailed(line)),
    };
    if (events) line = new EventLine(base.http, fetch, now, on);
    else line = new SocketLine(`${base.ws}/ws`, WebSocket, now, on);
    return line;
  }

  #checkOpening() {
    const left = this.#triedAt + OPEN_MS - this.#platform.now();
    if (left > 0) this.#later(() => this.#checkOpening(), left);
    else this.#ended(1006, 'no answer');
  }

  // -- frames

  #heard(line, frame) {
    if (line === this.#scout && frame.type === 'welcome') this.#adopt();
    if (line !== this.#line) return;
    if (this.silent || this.#probedAt !== null) this.#alive();
    if (frame.type === 'welcome') this.#welcome(frame);
    else if (frame.type === 'bye') this.#bye(frame);
    else if (frame.type === 'error' && frame.code === 'token_expired') this.#token.renew();
    else this.#on.frame(frame);
  }

  #welcome(frame) {
    if (frame.heartbeat_ms > 0) this.#heartbeatMs = frame.heartbeat_ms;
    if (this.phase === 'up') return;
    if (this.#line.kind === 'websocket') this.#refusals = this.#scouts = 0;
    this.#upSince = this.#platform.now();
    this.#held = false;
    this.#become('up');
    this.#watch(false);
    if (this.#line.kind === 'sse') this.#scoutLater();
    this.#on.up(frame);
  }

  #bye({ code = 1001, retry_after_ms: retryAfterMs = 0, jitter_ms: jitterMs = 0 }) {
    this.#ended(code, '', { retryAfterMs, jitterMs });
  }

  // -- the end of a line

  #ended(code, reason, asked = null) {
    const wasUp = this.phase === 'up';
    const kind = this.transport;
    this.#backoff.ended(wasUp ? this.#platform.now() - this.#upSince : 0);
    this.#drop();
    this.code = code;
    const words = CODES[code] ?? reason ?? '';
    if (isFinal(code) || (code === TOKEN_EXPIRED && !this.#token.expire())) {
      this.close(reason || words || `code ${code}`, code);
      return;
    }
    this.#countRefusal(kind, wasUp);
    const wait = this.#backoff.delay(code, asked);
    this.#held = asked !== null;
    this.retryAt = this.#platform.now() + wait;
    this.#later(() => this.#open(), wait);
    this.#become('waiting', words || `code ${code}`);
  }

  #countRefusal(kind, wasUp) {
    // A stream that fails as well tells of a server that is away, not of a way that is barred: the socket is next.
    if (kind === 'sse') this.#refusals = REFUSALS - 1;
    else if (!wasUp) this.#refusals++;
  }

  // -- watching: by the clock and the time of the last frame, since timers of a hidden page are stretched

  #watch(doubt) {
    const now = this.#platform.now();
    const quietFor = Math.max(0, now - this.#line.heardAt);
    const limit = 1.5 * this.#heartbeatMs + 500;
    if (this.#probedAt !== null && now - this.#probedAt >= PROBE_MS) {
      this.#ended(1006, 'silent');
      return;
    }
    if (this.#probedAt === null && (doubt || quietFor >= limit)) this.#probe(now, quietFor >= limit);
    const next = this.#probedAt === null ? limit - quietFor : this.#probedAt + PROBE_MS - now;
    this.#later(() => this.#watch(false), Math.max(next, 50));
  }

  #probe(now, silent) {
    this.#probedAt = now;
    this.send({ op: 'ping' });
    if (!silent) return;
    this.silent = true;
    this.#on.change();
  }

  #alive() {
    const wasSilent = this.silent;
    this.silent = false;
    this.#probedAt = null;
    this.#watch(false);
    if (wasSilent) this.#on.change();
  }

  // -- server-sent events

  #pause() {
    this.#drop();
    this.#become('paused', 'hidden');
  }

  #scoutLater() {
    if (this.#options.transport === 'sse') return;
    const wait = Math.min(SOCKET_LATEST_MS, SOCKET_AGAIN_MS * 2 ** Math.min(this.#scouts, 10));
    this.#scoutTimer = this.#platform.later(() => this.#sendScout(), wait * (0.5 + this.#platform.random() / 2));
  }

  async #sendScout() {
    this.#scouts++;
    const attempt = this.#attempt;
    const token = await this.#token.get().catch(() => null);
    if (attempt === this.#attempt) this.#scout = this.#make(false, token, attempt);
  }

  #scoutFailed(line) {
    if (line !== this.#scout) return;
    this.#scout = null;
    this.#scoutLater();
  }

  #adopt() {
    const line = this.#scout;
    this.#scout = null;
    this.#drop();
    this.#line = line;
    this.phase = 'opening';
  }

  #authorise(token) {
    if (this.phase === 'up') this.send({ op: 'auth', token });
  }
}
