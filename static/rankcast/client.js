// The client: one link, the subscriptions that it carries, and the views handed to the page.
//
// Owns: when views are handed over (at most once a frame of the screen), and the state that a page shows.
// Never reads rows or bytes: it joins link.js and subscriptions.js.
// Neighbours: ../rankcast.js makes it; views come from picture.js.

import { Link } from './link.js';
import { Pace } from './pace.js';
import { FIRST, compare } from './picture.js';
import { Subscriptions } from './subscriptions.js';

const LINGER_MS = 5_000; // a line that nothing is subscribed on is kept for so long
const COMMANDS_A_SECOND = 20;
const SPARE = 0.75; // of the server's limit: its seconds are not ours
const TOAST_MS = 10_000; // a rank-up that could not be shown for so long is old news

export class Client {
  #platform;
  #link;
  #subscriptions;
  #pace = new Pace();
  #limit = COMMANDS_A_SECOND;
  #dirty = new Set();
  #frameAsked = false;
  #againTimer = null;
  #lingerTimer = null;
  #stateListeners = new Set();
  #errorListeners = new Set();
  #state;
  #stopWaking;

  constructor(options, platform) {
    this.#platform = platform;
    this.#link = new Link(options, platform, {
      up: (welcome) => this.#up(welcome),
      down: () => this.#subscriptions.lineDown(),
      frame: (frame) => { this.#subscriptions.receive(frame); this.#judge(); },
      bad: () => this.#subscriptions.resyncAll(),
      change: () => this.#judge(),
    });
    this.#subscriptions = new Subscriptions({
      send: (command) => this.#send(command),
      dirty: (subscription) => this.#show(subscription),
      refused: (subscription, error) => this.#refused(subscription, error),
      again: (ms) => this.#again(ms),
      now: platform.now,
      random: platform.random,
    });
    this.#state = Object.freeze({ name: 'connecting', reason: '', since: platform.now(), code: null, retryAt: null, transport: null });
    this.#stopWaking = platform.onwake((cause) => this.#link.wake(cause));
  }

  /** The connection's state: frozen, another object after each change. */
  get state() {
    return this.#state;
  }

  /** Calls `listener` with the state, now and after each change. Returns what ends that. */
  onstate(listener) {
    this.#stateListeners.add(listener);
    this.#call(listener, this.#state);
    return () => this.#stateListeners.delete(listener);
  }

  /** Calls `listener` with each refused subscription. Returns what ends that. */
  onerror(listener) {
    this.#errorListeners.add(listener);
    return () => this.#errorListeners.delete(listener);
  }

  /** Ends everything: no view, state or error comes after the state `closed`. */
  close() {
    this.#stopWaking();
    this.#platform.cancel(this.#againTimer);
    this.#platform.cancel(this.#lingerTimer);
    this.#link.close('closed by the page');
    for (const one of this.#subscriptions) one.listeners.clear();
    this.#subscriptions.settle();
    this.#stateListeners.clear();
    this.#errorListeners.clear();
  }

  /** Adds a listener to the view that `spec` names. Returns the function that takes it away again. */
  subscribe(spec, { onview, onrankup, onerror }) {
    const one = this.#subscriptions.get(spec);
    const listener = { onview, onrankup, onerror, fresh: true };
    one.listeners.add(listener);
    this.#show(one);
    this.#arrange();
    return () => {
      one.listeners.delete(listener);
      this.#arrange();
    };
  }

  // Wishes of one turn of the loop count together: a view that is left and wanted again costs nothing.
  #arrange() {
    this.#again(0);
  }

  #again(ms) {
    this.#platform.cancel(this.#againTimer);
    this.#againTimer = this.#platform.later(() => this.#settle(), ms);
  }

  #settle() {
    this.#againTimer = null;
    this.#subscriptions.settle();
    this.#platform.cancel(this.#lingerTimer);
    if (this.#subscriptions.wanted) this.#link.open();
    else this.#lingerTimer = this.#platform.later(() => this.#link.rest(), LINGER_MS);
    this.#judge();
  }

  #up(welcome) {
    this.#limit = Math.max(1, Math.floor(SPARE * (welcome.limits?.commands_a_second ?? COMMANDS_A_SECOND)));
    this.#subscriptions.lineUp();
  }

  #send(command) {
    const wait = this.#pace.take(this.#platform.now(), this.#limit);
    if (wait === 0) return this.#link.send(command);
    this.#again(wait);
    return null;
  }

  #refused(one, { code, reason, retry }) {
    const { board, view } = one.spec;
    const error = Object.freeze({ board, view, code, reason, retry });
    for (const listener of one.listeners) if (listener.onerror) this.#call(listener.onerror, error);
    for (const listener of this.#errorListeners) this.#call(listener, error);
    if (!retry) this.#arrange();
  }

  // -- views: handed over at a frame of the screen, however many frames of the server came before it

  #show(one) {
    this.#dirty.add(one);
    if (this.#frameAsked) return;
    this.#frameAsked = true;
    this.#platform.frame(() => this.#flush());
  }

  #flush() {
    this.#frameAsked = false;
    const due = [...this.#dirty];
    this.#dirty.clear();
    for (const one of due) {
      this.#handRankups(one);
      if (one.picture.position) this.#handView(one);
    }
  }

  #handRankups(one) {
    const oldest = this.#platform.now() - TOAST_MS;
    for (const { frame, at } of one.rankups.splice(0)) {
      if (at < oldest) continue;
      const { epoch, version, player, points, before, after } = frame;
      const event = Object.freeze({ id: `${epoch}-${version}-${player}`, board: one.spec.board, epoch, version, player, points, before, after, name: frame.name ?? nameOf(one, player) });
      for (const listener of [...one.listeners]) if (listener.onrankup) this.#call(listener.onrankup, event);
    }
  }

  #handView(one) {
    const before = one.shown;
    const { board, view: kind } = one.spec;
    const now = { board, view: kind, ...one.picture.show(), stale: one.stale, season: one.season };
    const changed = !before || Object.keys(now).some((key) => now[key] !== before[key]);
    if (changed) one.shown = Object.freeze({ ...now, changes: before ? compare(before.rows, now.rows) : FIRST });
    for (const listener of [...one.listeners]) {
      if (listener.fresh) this.#call(listener.onview, Object.freeze({ ...one.shown, changes: FIRST }));
      else if (changed) this.#call(listener.onview, one.shown);
      listener.fresh = false;
    }
  }

  #call(listener, value) {
    try {
      listener(value);
    } catch (error) {
      this.#platform.report(error);
    }
  }

  // -- the state that a page shows

  #judge() {
    const link = this.#link;
    const [name, reason, since] = this.#verdict();
    const next = { name, reason, code: link.phase === 'waiting' || link.phase === 'closed' ? link.code : null, retryAt: link.retryAt, transport: link.transport };
    const old = this.#state;
    if (Object.keys(next).every((key) => next[key] === old[key])) return;
    const changed = old.name !== name || old.reason !== reason;
    this.#state = Object.freeze({ ...next, since: changed ? (since ?? this.#platform.now()) : old.since });
    for (const listener of [...this.#stateListeners]) this.#call(listener, this.#state);
  }

  /** [name, reason, since when (undefined: now)] */
  #verdict() {
    const link = this.#link;
    if (link.phase === 'closed') return ['closed', link.reason];
    const wanted = [...this.#subscriptions].filter((one) => one.wanted);
    const pictured = wanted.filter((one) => one.shown);
    if (link.phase !== 'up') return pictured.length ? ['stale', link.reason || 'reconnecting', link.heardAt] : ['connecting', link.reason];
    if (link.silent) return ['stale', 'silent', link.heardAt];
    const board = wanted.find((one) => one.stale);
    if (board) return ['stale', board.stale.reason, board.stale.since];
    if (pictured.some((one) => !one.current)) return ['stale', 'catching up'];
    if (wanted.length && !wanted.some((one) => one.current)) return ['connecting', 'subscribing'];
    return ['live', ''];
  }
}

const nameOf = (one, player) => one.shown?.rows.find((row) => row.player === player)?.name ?? null;
