// What is wanted against what the server has agreed to: the subscriptions of one client.
//
// Owns: which commands are due (derived from the state, never queued, so that the last wish wins), routing of
// frames to pictures, resynchronising. Never opens a line, never calls the caller's code.
// Neighbours: link.js carries the commands; picture.js takes the frames; client.js hands views over.

import { AroundPicture, NoPicture, TopPicture, Toasts } from './picture.js';

const KEPT_RANKUPS = 20; // toasts of a page that does not look are dropped, the oldest first
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
const CALM_MS = 60_000; // after so long without one, the next resynchronisation is immediate again

const PICTURES = {
  top: () => new TopPicture(),
  around: ({ player }) => new AroundPicture(player),
  rankups: () => new NoPicture(),
};

/** One view of one board: idle -> asking -> live -> leaving -> idle; or refused until the next line. */
export class Subscription {
  state = 'idle';
  topic = null;
  listeners = new Set();
  rankups = [];
  stale = null;
  season = null;
  current = false; // whether the picture was confirmed on this line
  shown = null; // the view that was handed over last
  #toasts = new Toasts();
  #trouble = 0;
  #troubledAt = 0;
  notBefore = 0;

  constructor(spec) {
    this.spec = Object.freeze(spec);
    this.picture = PICTURES[spec.view](spec);
  }

  get wanted() {
    return this.listeners.size > 0;
  }

  /** Puts the next try off: at once the first time, then with growing pauses, so that a fault is no storm. */
  postpone(now, random, atOnce) {
    if (now - this.#troubledAt > CALM_MS) this.#trouble = 0;
    const pause = atOnce && this.#trouble === 0 ? 0 : Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** this.#trouble);
    this.notBefore = now + pause * (0.5 + random / 2);
    this.#trouble = Math.min(this.#trouble + 1, 10);
    this.#troubledAt = now;
  }

  keep(rankup, now) {
    if (!this.#toasts.isNew(rankup)) return false;
    this.rankups.push({ frame: rankup, at: now });
    if (this.rankups.length > KEPT_RANKUPS) this.rankups.shift();
    return true;
  }

  isOfBoard(board) {
    return this.spec.board === board || (this.topic !== null && this.topic.startsWith(`${board}/`));
  }
}

const keyOf = ({ board, view, limit, player, radius }) => [board, view, limit ?? player, radius].join('/');

export class Subscriptions {
  #all = new Map(); // key -> Subscription
  #asked = new Map(); // command id -> Subscription
  #live = new Map(); // topic -> Subscription
  #out;
  #up = false;

  /**
   * `out.send(command)` returns the command's id, or null when none may be sent now (then `settle` is called again);
   * `out.dirty(subscription)`: there is something to show; `out.refused(subscription, error)`;
   * `out.again(ms)`: call `settle` then; `out.now()`, `out.random()`.
   */
  constructor(out) {
    this.#out = out;
  }

  [Symbol.iterator]() {
    return this.#all.values();
  }

  /** The subscription of this view, shared by all who want it. */
  get(spec) {
    const key = keyOf(spec);
    let found = this.#all.get(key);
    if (!found) this.#all.set(key, (found = new Subscription(spec)));
    return found;
  }

  /** Whether a line is worth having. */
  get wanted() {
    for (const one of this.#all.values()) if (one.wanted && one.state !== 'refused') return true;
    return false;
  }

  /** A line is open: everything wanted is asked for again. */
  lineUp() {
    this.#up = true;
    this.settle();
  }

  /** The line is gone, and with it all that the server had agreed to. */
  lineDown() {
    this.#up = false;
    this.#asked.clear();
    this.#live.clear();
    for (const one of this.#all.values()) {
      one.state = 'idle';
      one.topic = null;
      one.stale = null;
      one.current = false;
      one.notBefore = 0;
    }
    this.settle();
  }

  /** Sends the commands that bring what the server has to what is wanted. */
  settle() {
    const now = this.#out.now();
    for (const [key, one] of this.#all) {
      if (!one.wanted && (one.state === 'idle' || one.state === 'refused')) this.#all.delete(key);
      else if (!this.#up) continue;
      else if (one.wanted && one.state === 'idle') this.#subscribe(one, now);
      else if (!one.wanted && one.state === 'live') this.#leave(one);
    }
  }

  #subscribe(one, now) {
    if (now < one.notBefore) {
      this.#out.again(one.notBefore - now);
      return;
    }
    const have = one.picture.position;
    const id = this.#out.send({ op: 'subscribe', ...one.spec, ...(have && { have }) });
    if (id === null) return;
    one.state = 'asking';
    this.#asked.set(id, one);
  }

  #leave(one) {
    const id = this.#out.send({ op: 'unsubscribe', topic: one.topic });
    if (id === null) return;
    this.#live.delete(one.topic);
    one.state = 'leaving';
    one.current = false;
    this.#asked.set(id, one);
  }

  /** Asks for a snapshot: leaves the topic and subscribes anew without `have`. */
  #resync(one) {
    one.picture.position = null;
    one.current = false;
    one.postpone(this.#out.now(), this.#out.random(), true);
    this.#leave(one);
    this.#out.dirty(one);
  }

  /** A frame could not be read: what it said is unknown, so everything that is not chained is asked for again. */
  resyncAll() {
    for (const one of this.#live.values()) if (one.spec.view !== 'rankups') this.#resync(one);
  }

  /** Takes a frame of the server. Returns false when it is none of a subscription's. */
  receive(frame) {
    switch (frame.type) {
      case 'ok':
      case 'error':
        return this.#answer(frame);
      case 'snapshot':
      case 'diff':
      case 'around':
        this.#show(frame);
        return true;
      case 'rankup':
        this.#rankup(frame);
        return true;
      case 'heartbeat':
        this.#compare(frame);
        return true;
      case 'stale':
      case 'fresh':
        this.#stale(frame);
        return true;
      case 'season':
        this.#season(frame);
        return true;
      default:
        return false;
    }
  }

  #answer(frame) {
    const one = this.#asked.get(frame.id);
    if (!one) return false;
    this.#asked.delete(frame.id);
    if (one.state === 'leaving') {
      one.state = 'idle'; // refused or not: the server does not hold it
      one.topic = null;
    } else if (frame.type === 'ok') {
      one.state = 'live';
      one.topic = frame.topic;
      one.current = one.spec.view === 'rankups';
      this.#live.set(frame.topic, one);
      this.#out.dirty(one);
    } else {
      this.#refused(one, frame);
    }
    this.settle();
    return true;
  }

  #refused(one, frame) {
    one.state = frame.retry ? 'idle' : 'refused';
    if (frame.retry) one.postpone(this.#out.now(), this.#out.random(), false);
    this.#out.refused(one, frame);
  }

  #show(frame) {
    const one = this.#live.get(frame.topic);
    if (!one) return; // of a topic that was left, or was not agreed to yet
    const problem = one.picture.take(frame);
    if (problem) {
      this.#resync(one);
      return;
    }
    one.current = true;
    this.#out.dirty(one);
  }

  #rankup(frame) {
    const one = this.#live.get(frame.topic);
    if (one && one.keep(frame, this.#out.now())) this.#out.dirty(one);
  }

  #compare({ heads, partial }) {
    if (!heads) return;
    for (const [topic, one] of this.#live) {
      const at = one.picture.position;
      const head = heads[topic];
      if (one.spec.view === 'rankups' || (!head && partial)) continue;
      const same = head && at && head[0] === at.epoch && head[1] <= at.version;
      if (!same) this.#resync(one);
    }
  }

  #stale({ type, board, reason, since }) {
    for (const one of this.#live.values()) {
      if (!one.isOfBoard(board)) continue;
      one.stale = type === 'stale' ? Object.freeze({ reason, since }) : null;
      this.#out.dirty(one);
    }
  }

  #season(frame) {
    const one = this.#live.get(frame.topic);
    if (!one) return;
    one.season = frame.reason;
    this.#out.dirty(one);
  }
}
