// The client: one link, the subscriptions that it carries, and the state that a page shows.
//
// Owns: when a line is wanted, how fast commands go, the verdict connecting | live | stale | closed.
// Never reads rows or bytes: it joins link.js, subscriptions.js and handover.js.
// Neighbours: ../rankcast.js makes it.

import { Handover, call, sameIn } from "./handover.js";
import { Link } from "./link.js";
import { Pace } from "./pace.js";
import { Subscriptions } from "./subscriptions.js";

/** @import { Refusal, State } from '../rankcast.js' */
/** @import { Command, ErrorFrame, Frame, LinkOptions, Listener, Platform, Spec, Timer, Welcome } from './types.js' */
/** @import { Subscription } from './subscription.js' */

const LINGER_MS = 5_000; // a line that nothing is subscribed on is kept for so long
const COMMANDS_A_SECOND = 20; // the server's limit where its welcome does not say
const SPARE = 0.75; // of the server's limit: its seconds are not ours

export class Client {
  #platform;
  #link;
  #subscriptions;
  #handover;
  #pace = new Pace();
  #limit = COMMANDS_A_SECOND * SPARE;
  /** @type {Timer} */
  #settleTimer = null;
  #settleAt = Infinity;
  /** @type {Timer} */
  #lingerTimer = null;
  /** @type {Set<(state: State) => void>} */
  #stateListeners = new Set();
  /** @type {Set<(refusal: Refusal) => void>} */
  #errorListeners = new Set();
  /** @type {State} */
  #state;
  #stopWaking;

  /** @param {LinkOptions} options @param {Platform} platform */
  constructor(options, platform) {
    const { now, random } = platform;
    this.#platform = platform;
    this.#state = Object.freeze({
      name: "connecting",
      reason: "",
      since: now(),
      code: null,
      retryAt: null,
      transport: null,
    });
    this.#link = new Link(options, platform, {
      up: (welcome) => this.#up(welcome),
      down: () => this.#subscriptions.lineDown(),
      frame: (frame) => this.#receive(frame),
      bad: () => this.#subscriptions.resyncAll(),
      change: () => this.#judge(),
    });
    this.#subscriptions = new Subscriptions({
      send: (command) => this.#send(command),
      dirty: (one) => this.#handover.add(one),
      refused: (one, error) => this.#refused(one, error),
      again: (ms) => this.#settleIn(ms),
      now,
      random,
    });
    this.#handover = new Handover(platform, (board, player) => this.#subscriptions.nameOf(board, player));
    this.#stopWaking = platform.onwake((cause) => this.#link.wake(cause));
  }

  /** The connection's state: frozen, another object after each change. */
  get state() {
    return this.#state;
  }

  /**
   * Calls `listener` with the state, now and after each change. Returns what ends that.
   * @param {(state: State) => void} listener
   */
  onstate(listener) {
    this.#stateListeners.add(listener);
    call(this.#platform, listener, this.#state);
    return () => void this.#stateListeners.delete(listener);
  }

  /**
   * Calls `listener` with each refused subscription. Returns what ends that.
   * @param {(refusal: Refusal) => void} listener
   */
  onerror(listener) {
    this.#errorListeners.add(listener);
    return () => void this.#errorListeners.delete(listener);
  }

  /** Ends everything: no view, state or error comes after the state `closed`. */
  close() {
    this.#stopWaking();
    this.#link.close("closed by the page");
    for (const one of this.#subscriptions) one.listeners.clear();
    this.#stateListeners.clear();
    this.#errorListeners.clear();
    this.#platform.cancel(this.#settleTimer);
    this.#platform.cancel(this.#lingerTimer);
  }

  /**
   * Adds a listener to the view that `spec` names. Returns the function that takes it away again.
   * @param {Spec} spec @param {Omit<Listener, 'fresh'>} calls
   */
  subscribe(spec, calls) {
    const one = this.#subscriptions.get(spec);
    const listener = { ...calls, fresh: true };
    one.listeners.add(listener);
    this.#handover.add(one);
    this.#settleIn(0);
    return () => {
      if (one.listeners.delete(listener)) this.#settleIn(0);
    };
  }

  /**
   * Wishes of one turn of the loop count together: a view that is left and wanted again costs nothing.
   * @param {number} ms
   */
  #settleIn(ms) {
    const at = this.#platform.now() + ms;
    if (at >= this.#settleAt || this.#link.phase === "closed") return;
    this.#platform.cancel(this.#settleTimer);
    this.#settleAt = at;
    this.#settleTimer = this.#platform.later(() => this.#settle(), ms);
  }

  #settle() {
    this.#settleAt = Infinity;
    this.#subscriptions.settle();
    this.#platform.cancel(this.#lingerTimer);
    if (this.#subscriptions.wanted) this.#link.open();
    else this.#lingerTimer = this.#platform.later(() => this.#link.rest(), LINGER_MS);
    this.#judge();
  }

  /** @param {Frame} frame */
  #receive(frame) {
    try {
      this.#subscriptions.receive(frame);
    } catch {
      this.#subscriptions.resyncAll(); // it is not what the protocol says: what it meant to say is unknown
    }
    this.#judge();
  }

  /** @param {Welcome} welcome */
  #up(welcome) {
    const told = welcome.limits?.commands_s ?? COMMANDS_A_SECOND;
    this.#limit = Math.max(1, Math.floor(SPARE * told));
    this.#subscriptions.lineUp();
  }

  /** @param {Command} command */
  #send(command) {
    const wait = this.#pace.take(this.#platform.now(), this.#limit);
    if (wait === 0) return this.#link.send(command);
    this.#settleIn(wait);
    return null;
  }

  /** @param {Subscription} one @param {ErrorFrame} error */
  #refused(one, { code, reason, retry }) {
    const { board, view } = one.spec;
    const refusal = Object.freeze({ board, view, code, reason, retry });
    for (const listener of one.listeners) call(this.#platform, listener.onerror, refusal);
    for (const listener of this.#errorListeners) call(this.#platform, listener, refusal);
    this.#settleIn(0);
  }

  #judge() {
    const { phase, code, retryAt, transport } = this.#link;
    const [name, reason, since] = this.#verdict();
    const ended = phase === "waiting" || phase === "closed";
    const next = { name, reason, code: ended ? code : null, retryAt, transport };
    const old = this.#state;
    if (sameIn(next, old)) return;
    const other = old.name !== name || old.reason !== reason;
    const told = (this.#state = Object.freeze({
      ...next,
      since: other ? (since ?? this.#platform.now()) : old.since,
    }));
    for (const listener of [...this.#stateListeners]) {
      if (this.#state !== told) return; // a listener changed it: all have been told by then
      call(this.#platform, listener, told);
    }
  }

  /** @returns {[name: State['name'], reason: string, since?: number]} nothing for `since`: now */
  #verdict() {
    const { phase, reason, silent, heardAt } = this.#link;
    if (phase === "closed") return ["closed", reason];
    const wanted = [...this.#subscriptions].filter((one) => one.wanted);
    const pictured = wanted.filter((one) => one.shown || one.current);
    if (phase !== "up")
      return pictured.length ? ["stale", reason || "reconnecting", heardAt] : ["connecting", reason];
    if (silent) return ["stale", "silent", heardAt];
    if (reason && pictured.length) return ["stale", reason];
    for (const { stale, current } of wanted)
      if (stale && current) return ["stale", stale.reason, stale.since];
    if (pictured.some((one) => !one.current)) return ["stale", "catching up"];
    if (wanted.length && !pictured.length) return ["connecting", "subscribing"];
    return ["live", ""];
  }
}
