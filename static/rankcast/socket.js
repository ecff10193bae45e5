// A line over a WebSocket: text frames in and out.
//
// Owns: one WebSocket from its opening to its end. Never opens another, never reads what a frame says.
// Neighbours: link.js holds one line at a time; sse.js is the other kind.

/** @import { WebSocketClass } from '../rankcast.js' */
/** @import { Command, Frame, Line, LineHandlers } from './types.js' */

/**
 * The frame that `text` is, null when it is none.
 * @param {string} text @returns {Frame | null}
 */
export function frameOf(text) {
  try {
    const frame = JSON.parse(text);
    return typeof frame === "object" ? frame : null;
  } catch {
    return null;
  }
}

/** @implements {Line} */
export class SocketLine {
  /** @type {'websocket'} */
  kind = "websocket";
  #socket;
  /** @type {LineHandlers | null} */
  #on;
  #heardAt;
  #now;

  /**
   * Opens `url`.
   * @param {string} url @param {WebSocketClass} WebSocketClass @param {() => number} now @param {LineHandlers} on
   */
  constructor(url, WebSocketClass, now, on) {
    this.#on = on;
    this.#now = now;
    this.#heardAt = now();
    const socket = (this.#socket = new WebSocketClass(url, "rankcast.v1"));
    socket.onopen = () => this.#on?.open();
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = ({ code, reason }) => this.#end(code, reason);
    socket.onerror = () => {}; // a close event follows that says more
  }

  /** When the server was last heard. */
  get heardAt() {
    return this.#heardAt;
  }

  /** @param {Command & { id: number }} command */
  send(command) {
    if (this.#socket.readyState === 1) this.#socket.send(JSON.stringify(command));
  }

  close() {
    this.#on = null;
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    try {
      this.#socket.close(1000);
    } catch {
      // It never came to be open: there is nothing to end.
    }
  }

  /** @param {string} data */
  #receive(data) {
    this.#heardAt = this.#now();
    const frame = frameOf(data);
    if (frame) this.#on?.frame(frame);
    else this.#on?.bad();
  }

  /** @param {number} code @param {string} reason */
  #end(code, reason) {
    const on = this.#on;
    this.#on = null;
    on?.close(code, reason);
  }
}
