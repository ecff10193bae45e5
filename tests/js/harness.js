// A world for the client: a clock that only moves when told, a WebSocket and an event stream of our own, and a
// board server in a page of code. Nothing here waits for real time.

import { connect } from "../../static/rankcast.js";
import { crc32 } from "../../static/rankcast/crc32.js";

/** Timers, clock, screen and chance, moved by the test. */
export class FakePlatform {
  time = 1_700_000_000_000;
  chance = 0.5;
  isHidden = false;
  drawing = true; // whether the screen asks for frames (a hidden page's does not)
  errors = [];
  stretch = 0; // timers of a hidden page run at multiples of this only
  #timers = new Map();
  #frames = [];
  #wakers = new Set();
  #nextTimer = 1;

  now = () => this.time;
  random = () => (typeof this.chance === "function" ? this.chance() : this.chance);
  later = (run, ms) => {
    const timer = this.#nextTimer++;
    const at = this.time + Math.max(0, ms);
    this.#timers.set(timer, { run, at: this.stretch ? Math.ceil(at / this.stretch) * this.stretch : at });
    return timer;
  };
  cancel = (timer) => this.#timers.delete(timer);
  frame = (run) => {
    this.#frames.push(run);
  };
  hidden = () => this.isHidden;
  onwake = (run) => {
    this.#wakers.add(run);
    return () => this.#wakers.delete(run);
  };
  report = (error) => this.errors.push(error);

  get timers() {
    return this.#timers.size;
  }

  get wakers() {
    return this.#wakers.size;
  }

  /** Lets promises settle and draws. */
  async turn() {
    for (let round = 0; round < 10; round++) await null;
    if (this.drawing) for (const run of this.#frames.splice(0)) run(this.time);
    await null;
  }

  /** Moves the clock, running the timers that come due, in order. */
  async advance(ms) {
    const end = this.time + ms;
    await this.turn();
    for (;;) {
      const due = [...this.#timers].filter(([, { at }]) => at <= end).sort((a, b) => a[1].at - b[1].at)[0];
      if (!due) break;
      this.#timers.delete(due[0]);
      this.time = Math.max(this.time, due[1].at);
      due[1].run();
      await this.turn();
    }
    this.time = end;
    await this.turn();
  }

  /** The machine slept: the clock jumps and no timer has run. */
  sleep(ms) {
    this.time += ms;
  }

  async wake(type) {
    for (const run of [...this.#wakers]) run(type);
    await this.turn();
  }

  async hide() {
    this.isHidden = true;
    this.drawing = false;
    await this.wake("visibilitychange");
  }

  async unhide() {
    this.isHidden = false;
    this.drawing = true;
    await this.wake("visibilitychange");
  }
}

/** Makes the WebSocket class of one world; every socket that the client makes is in `sockets`. */
export function fakeSockets(onmade) {
  const sockets = [];
  class FakeSocket {
    readyState = 0;
    onopen = (this.onmessage = this.onclose = this.onerror = null);
    sent = [];
    deaf = false; // a dead line: what is sent arrives nowhere, nothing comes

    constructor(url, protocol) {
      this.url = url;
      this.protocol = protocol;
      sockets.push(this);
      onmade?.(this);
    }

    open(welcome = { type: "welcome", protocol: "rankcast.v1", heartbeat_ms: 15_000, limits: {} }) {
      this.readyState = 1;
      this.onopen?.({});
      if (welcome) this.push(welcome);
    }

    send(text) {
      const command = JSON.parse(text);
      this.sent.push(command);
      if (!this.deaf) queueMicrotask(() => this.oncommand?.(command)); // never within the call, as on a wire
    }

    push(frame) {
      this.pushText(JSON.stringify(frame));
    }

    pushText(data) {
      if (this.readyState === 1 && !this.deaf) this.onmessage?.({ data });
    }

    /** The server (or the network) ends it. */
    end(code = 1006, reason = "") {
      this.readyState = 3;
      this.onclose?.({ code, reason });
    }

    close(code) {
      this.closedWith = code;
      this.readyState = 3;
    }

    commands(op) {
      return this.sent.filter((command) => command.op === op);
    }
  }
  return { sockets, FakeSocket };
}

/** A client in a fake world. `world.socket` is the newest socket. */
export function world(options = {}, onmade) {
  const platform = new FakePlatform();
  const { sockets, FakeSocket } = fakeSockets(onmade);
  const client = connect("wss://board.example", { WebSocket: FakeSocket, platform, ...options });
  const states = [];
  client.onstate((state) => states.push(state));
  return {
    platform,
    client,
    sockets,
    states,
    get socket() {
      return sockets[sockets.length - 1];
    },
  };
}

export const textOf = (rows) => rows.map(([player, points, at]) => `${player},${points},${at}\n`).join("");
export const crcOf = (rows) => crc32(textOf(rows));

export const EPOCH = "00112233445566aa";

/** A top board that knows the law only: rows in order, a version, diffs between two states. */
export class FakeBoard {
  epoch = EPOCH;
  version = 1;
  rows;

  constructor(rows = []) {
    this.rows = rows;
  }

  snapshot(topic) {
    const { epoch, version, rows } = this;
    return { type: "snapshot", topic, epoch, version, total: rows.length, rows, names: {}, crc: crcOf(rows) };
  }

  /** Moves to `rows` and gives the diff. */
  move(topic, rows) {
    const from = this.version;
    const before = new Map(this.rows.map((row) => [row[0], row]));
    const after = new Set(rows.map(([player]) => player));
    const gone = [...before.keys()].filter((player) => !after.has(player));
    // Simplest that keeps the law: everything that is not at its old rank is told.
    const set = rows
      .map((row, index) => [...row, index + 1])
      .filter((row, index) => String(this.rows[index]) !== String(rows[index]));
    this.rows = rows;
    this.version++;
    return {
      type: "diff",
      topic,
      epoch: this.epoch,
      from,
      to: this.version,
      total: rows.length,
      gone,
      set,
      names: {},
      crc: crcOf(rows),
    };
  }
}

/** Answers the commands of `socket` as a server would that has one board. */
export function serve(socket, board, { resumes = true } = {}) {
  const topics = new Map(); // topic -> view; a second subscription to one would be seen in `held`
  socket.held = topics;
  socket.subscribed = 0;
  socket.oncommand = ({ id, op, topic: named, view, limit, player, radius, board: name, have }) => {
    if (op === "ping" || op === "auth") socket.push({ type: "ok", id });
    if (op === "unsubscribe") {
      const held = topics.delete(named);
      socket.push(
        held
          ? { type: "ok", id, topic: named }
          : { type: "error", id, code: "not_subscribed", reason: named, retry: false },
      );
    }
    if (op !== "subscribe") return;
    const topic = [name, view, limit ?? player, radius].filter((part) => part !== undefined).join("/");
    socket.subscribed++;
    topics.set(topic, view);
    const resumed = resumes && have?.epoch === board.epoch && have.version === board.version;
    socket.push({ type: "ok", id, topic, resumed });
    if (view === "top") socket.push(resumed ? emptyDiff(topic, board) : board.snapshot(topic));
  };
}

function emptyDiff(topic, { epoch, version, rows }) {
  return {
    type: "diff",
    topic,
    epoch,
    from: version,
    to: version,
    total: rows.length,
    gone: [],
    set: [],
    names: {},
    crc: crcOf(rows),
  };
}

/** `count` rows, best first. */
export function someRows(count, from = 1000) {
  return Array.from({ length: count }, (_, index) => [String(index + 1), from - index, 1_000 * index]);
}

/** Random numbers that are the same in every run. */
export class Chance {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit) {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  /** `count` different numbers below `limit`, rising. */
  pick(limit, count) {
    const left = Array.from({ length: limit }, (_, index) => index);
    while (left.length > count) left.splice(this.below(left.length), 1);
    return left;
  }
}
