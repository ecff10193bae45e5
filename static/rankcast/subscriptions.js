// What is wanted against what the server has agreed to: the subscriptions of one client.
//
// Owns: which commands are due (derived from the state, never queued, so that the last wish wins), routing of
// frames to pictures, resynchronising. Never opens a line, never calls the caller's code.
// Neighbours: subscription.js is one of them; link.js carries the commands; handover.js hands views over.

import { Subscription } from "./subscription.js";

/** @import { ErrorFrame, Frame, Heartbeat, Ok, PictureFrame, RankUpFrame, SeasonMark, Spec, StaleMark, Command } from './types.js' */
/** @import { Stale } from '../rankcast.js' */

/**
 * What the subscriptions need: `send` returns the command's id, or null when none may be sent now (then `settle` is
 * called again); `dirty`: there is something to show; `again`: call `settle` in so many ms.
 * @typedef {{ send(command: Command): number | null, dirty(one: Subscription): void, again(ms: number): void,
 *   refused(one: Subscription, error: ErrorFrame): void, now(): number, random(): number }} Out
 */

/** @param {Spec} spec */
const keyOf = ({ board, view, limit, player, radius }) => [board, view, limit ?? player, radius].join("/");

export class Subscriptions {
  /** @type {Map<string, Subscription>} by key */
  #all = new Map();
  /** @type {Map<number, Subscription>} by the id of the command that waits for an answer */
  #asked = new Map();
  /** @type {Map<string, Subscription>} by topic */
  #live = new Map();
  /** @type {Map<string, Stale>} boards that the server calls stale */
  #stale = new Map();
  #out;
  #up = false;

  /** @param {Out} out */
  constructor(out) {
    this.#out = out;
  }

  [Symbol.iterator]() {
    return this.#all.values();
  }

  /**
   * The subscription of this view, shared by all who want it.
   * @param {Spec} spec
   */
  get(spec) {
    const key = keyOf(spec);
    let found = this.#all.get(key);
    if (!found) this.#all.set(key, (found = new Subscription(spec)));
    if (found.state === "refused") found.state = "idle"; // wanted anew is asked for anew
    return found;
  }

  /**
   * The name that any view of this board was told for a player.
   * @param {string} board @param {string} player
   */
  nameOf(board, player) {
    for (const one of this.#all.values()) {
      const name = one.spec.board === board ? one.picture.nameOf(player) : null;
      if (name !== null) return name;
    }
    return null;
  }

  /** Whether a line is worth having. */
  get wanted() {
    for (const one of this.#all.values()) if (one.wanted && one.state !== "refused") return true;
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
    this.#stale.clear();
    for (const one of this.#all.values()) {
      one.state = "idle";
      one.topic = null;
      one.current = false;
      one.notBefore = 0;
    }
    this.settle();
  }

  /** Sends the commands that bring what the server has to what is wanted. */
  settle() {
    const now = this.#out.now();
    for (const [key, one] of this.#all) {
      if (!one.wanted && (one.state === "idle" || one.state === "refused")) this.#all.delete(key);
      else if (!this.#up) continue;
      else if (one.wanted && one.state === "idle") this.#subscribe(one, now);
      else if (one.state === "broken" || (!one.wanted && one.state === "live")) this.#leave(one);
    }
  }

  /** @param {Subscription} one @param {number} now */
  #subscribe(one, now) {
    if (now < one.notBefore) {
      this.#out.again(one.notBefore - now);
      return;
    }
    const at = one.picture.position;
    const have = at?.epoch ? at : null; // on a board in the making there is no place to go on from
    const id = this.#out.send({ op: "subscribe", ...one.spec, ...(have && { have }) });
    if (id === null) return;
    one.state = "asking";
    this.#asked.set(id, one);
  }

  /** @param {Subscription} one */
  #leave(one) {
    if (one.topic === null) return;
    const id = this.#out.send({ op: "unsubscribe", topic: one.topic });
    if (id === null) return;
    this.#live.delete(one.topic);
    one.state = "leaving";
    one.current = false;
    this.#asked.set(id, one);
  }

  /**
   * Asks for a snapshot: leaves the topic and subscribes anew without `have`.
   * @param {Subscription} one
   */
  #resync(one) {
    one.picture.position = null;
    one.current = false;
    one.state = "broken";
    if (one.topic !== null) this.#live.delete(one.topic);
    one.postpone(this.#out.now(), this.#out.random(), true);
    this.settle();
  }

  /** A frame could not be read: what it said is unknown, so everything that is not chained is asked for again. */
  resyncAll() {
    for (const one of this.#live.values()) if (one.spec.view !== "rankups") this.#resync(one);
  }

  /**
   * Takes a frame of the server. What is none of a subscription's is ignored: later versions may say more.
   * @param {Frame} frame
   */
  receive(frame) {
    switch (frame.type) {
      case "ok":
      case "error":
        return this.#answer(frame);
      case "snapshot":
      case "diff":
      case "around":
        return this.#show(frame);
      case "rankup":
        return this.#rankup(frame);
      case "heartbeat":
        return this.#compare(frame);
      case "stale":
      case "fresh":
        return this.#mark(frame);
      case "season":
        return this.#season(frame);
    }
  }

  /** @param {Ok | ErrorFrame} frame */
  #answer(frame) {
    const one = this.#asked.get(frame.id ?? 0);
    if (!one) return;
    this.#asked.delete(frame.id ?? 0);
    if (one.state === "leaving") {
      one.state = "idle"; // refused or not: the server does not hold it
      one.topic = null;
    } else if (frame.type === "ok" && frame.topic !== undefined) {
      one.state = "live";
      one.topic = frame.topic;
      one.current = one.spec.view === "rankups";
      one.stale = [...this.#stale].find(([board]) => one.isOfBoard(board))?.[1] ?? null;
      this.#live.set(frame.topic, one);
      this.#out.dirty(one);
    } else if (frame.type === "error") {
      this.#refused(one, frame);
    }
    this.settle();
  }

  /** @param {Subscription} one @param {ErrorFrame} frame */
  #refused(one, frame) {
    one.state = frame.retry ? "idle" : "refused";
    if (frame.retry) one.postpone(this.#out.now(), this.#out.random(), false);
    this.#out.refused(one, frame);
  }

  /** @param {PictureFrame} frame */
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

  /** @param {RankUpFrame} frame */
  #rankup(frame) {
    const one = this.#live.get(frame.topic);
    if (one && one.keep(frame, this.#out.now())) this.#out.dirty(one);
  }

  /** @param {Heartbeat} heartbeat */
  #compare({ heads, partial }) {
    if (!heads) return;
    for (const [topic, one] of this.#live) {
      const at = one.picture.position;
      const head = heads[topic];
      if (one.spec.view === "rankups" || (!head && partial)) continue;
      const same = head && at && head[0] === at.epoch && head[1] <= at.version;
      if (!same) this.#resync(one);
    }
  }

  /** @param {StaleMark} mark */
  #mark({ type, board, reason = "", since = this.#out.now() }) {
    const stale = type === "stale" ? Object.freeze({ reason, since }) : null;
    if (stale) this.#stale.set(board, stale);
    else this.#stale.delete(board);
    for (const one of this.#live.values()) {
      if (!one.isOfBoard(board)) continue;
      one.stale = stale;
      this.#out.dirty(one);
    }
  }

  /** @param {SeasonMark} frame */
  #season(frame) {
    const one = this.#live.get(frame.topic);
    if (!one) return;
    one.season = frame.reason;
    this.#out.dirty(one);
  }
}
