// A line over server-sent events: the same frames where a WebSocket cannot be opened.
//
// Owns: one stream (an ordinary fetch) per subscription, made to look like one line: it answers `subscribe` and
// `unsubscribe` itself. Fetch and not EventSource: it carries the token in a header, exists in Node, and tells
// a refusal (404) from a loss.
// Neighbours: link.js holds one line at a time; socket.js is the other kind.

import { frameOf } from "./socket.js";

/** @import { Command, Line, LineHandlers, SubscribeCommand } from './types.js' */
/** @typedef {{ abort: AbortController, heardAt: number }} Stream */

/** Takes the text of an event stream apart. Pure: pieces of text in, `data` of whole events out. */
export class EventParser {
  #rest = "";
  /** @type {string[]} */
  #data = [];

  /** @param {string} text */
  push(text) {
    /** @type {string[]} */
    const events = [];
    const whole = this.#rest + text;
    const lines = whole.split(/\r\n|\n|\r(?!$)/); // a lone CR at the end may be half of CRLF
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (this.#data.length) events.push(this.#data.join("\n"));
        this.#data = [];
      } else if (line.startsWith("data:")) {
        this.#data.push(line.slice(line[5] === " " ? 6 : 5));
      }
    }
    return events;
  }
}

/**
 * The address of the stream that a `subscribe` command asks for, null for a board that has none.
 * @param {string} base @param {Omit<SubscribeCommand, 'op'>} command
 */
export function streamAddress(base, { board, view, limit, player, radius, have }) {
  const [, season, window] = /^s(\d+)(?::(.+))?$/.exec(board) ?? [];
  if (season === undefined) return null;
  const wanted = { view, limit, player, radius, window, have: have && `${have.epoch}-${have.version}` };
  const query = Object.entries(wanted).filter(([, value]) => value !== undefined);
  const pairs = query.map(([name, value]) => [name, String(value)]);
  return `${base}/seasons/${season}/leaderboard/stream?${new URLSearchParams(pairs)}`;
}

const BUSY = 3013;
const LATER = 1013;
const BAD_TOKEN = 3500;
const DENIED = 3507;
const EXPIRED = 3005;
const LOST = 1006;

/**
 * The line's end that a refused stream means, or null when only this subscription is refused.
 * @param {number} status @param {string} code
 */
function endOf(status, code) {
  if (status === 401) return code === "token_expired" ? EXPIRED : BAD_TOKEN;
  if (status === 403) return DENIED;
  if (status === 429) return BUSY;
  if (status === 503) return LATER;
  return status >= 500 ? LOST : null;
}

/** @implements {Line} */
export class EventLine {
  /** @type {'sse'} */
  kind = "sse";
  #base;
  #fetch;
  #now;
  /** @type {LineHandlers | null} */
  #on;
  /** @type {string | null} */
  #token = null;
  /** @type {Map<string, Stream>} by topic */
  #streams = new Map();

  /** @param {string} base @param {typeof fetch} fetchFunction @param {() => number} now @param {LineHandlers} on */
  constructor(base, fetchFunction, now, on) {
    this.#base = base;
    this.#fetch = fetchFunction;
    this.#now = now;
    this.#on = on;
    // Later, as a socket would: whoever makes a line has not kept it yet.
    queueMicrotask(() => {
      this.#on?.open();
      this.#on?.frame({ type: "welcome", protocol: "rankcast.v1" });
    });
  }

  /** When the stream that was silent for longest was last heard. */
  get heardAt() {
    let oldest = this.#now();
    for (const { heardAt } of this.#streams.values()) oldest = Math.min(oldest, heardAt);
    return oldest;
  }

  /** @param {Command & { id: number }} command */
  send(command) {
    if (command.op === "auth") this.#token = command.token;
    else if (command.op === "subscribe") this.#open(command);
    else if (command.op === "unsubscribe") this.#leave(command);
  }

  close() {
    this.#on = null;
    for (const { abort } of this.#streams.values()) abort.abort();
    this.#streams.clear();
  }

  /** @param {{ id: number, topic: string }} command */
  #leave({ id, topic }) {
    this.#streams.get(topic)?.abort.abort();
    this.#streams.delete(topic);
    queueMicrotask(() => this.#on?.frame({ type: "ok", id, topic }));
  }

  /** @param {SubscribeCommand & { id: number }} command */
  async #open(command) {
    const topic = `stream-${command.id}`;
    const stream = { abort: new AbortController(), heardAt: this.#now() };
    this.#streams.set(topic, stream);
    /** @type {Record<string, string>} */
    const headers = { accept: "text/event-stream" };
    if (this.#token) headers.authorization = `Bearer ${this.#token}`;
    try {
      const address = streamAddress(this.#base, command);
      await null; // as on a wire, no answer comes before its command was noted
      if (!address) return this.#refuse(topic, command.id, "unknown_board", `${command.board} is no board`);
      const answer = await this.#fetch(address, { headers, signal: stream.abort.signal, cache: "no-store" });
      if (!answer.ok) return await this.#refused(topic, command.id, answer);
      this.#on?.frame({ type: "ok", id: command.id, topic, resumed: false });
      if (answer.body) await this.#read(answer.body, topic, stream);
      this.#end(topic, LOST, "the stream ended");
    } catch (error) {
      this.#end(topic, LOST, String(error));
    }
  }

  /** @param {ReadableStream<Uint8Array>} body @param {string} topic @param {Stream} stream */
  async #read(body, topic, stream) {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      stream.heardAt = this.#now();
      for (const data of parser.push(decoder.decode(value, { stream: true }))) this.#receive(data, topic);
    }
  }

  /** @param {string} data @param {string} topic */
  #receive(data, topic) {
    if (!this.#streams.has(topic)) return;
    const frame = frameOf(data);
    if (!frame) {
      this.#on?.bad();
      return;
    }
    // Topics here are streams: two of them may show what the server calls one topic.
    if ("topic" in frame) frame.topic = topic;
    if (frame.type === "heartbeat") {
      const [head] = Object.values(frame.heads ?? {});
      frame.heads = head ? { [topic]: head } : {};
      frame.partial = true; // of the other streams it says nothing
    }
    if (frame.type !== "ok") this.#on?.frame(frame);
  }

  /** @param {string} topic @param {number} id @param {Response} answer */
  async #refused(topic, id, answer) {
    const problem = await answer.json().catch(() => ({}));
    const code =
      String(problem.type ?? "")
        .split(/[/:#]/)
        .pop() || `http_${answer.status}`;
    const end = endOf(answer.status, code);
    const reason = problem.detail ?? problem.title ?? `HTTP ${answer.status}`;
    if (end) this.#end(topic, end, reason);
    else this.#refuse(topic, id, code, reason);
  }

  /** @param {string} topic @param {number} id @param {string} code @param {string} reason */
  #refuse(topic, id, code, reason) {
    this.#streams.delete(topic);
    this.#on?.frame({ type: "error", id, code, reason, retry: false });
  }

  /** @param {string} topic @param {number} code @param {string} reason */
  #end(topic, code, reason) {
    if (!this.#streams.delete(topic)) return; // left on purpose
    const on = this.#on;
    this.close();
    on?.close(code, reason);
  }
}
