// A line over a WebSocket: text frames in and out.
//
// Owns: one WebSocket from its opening to its end. Never opens another, never reads what a frame says.
// Neighbours: link.js holds one line at a time; sse.js is the other kind.

/** Opens `url`. Calls `on.open()`, `on.frame(frame)`, `on.bad()`, and at last, once, `on.close(code, reason)`. */
export class SocketLine {
  kind = 'websocket';
  #socket;
  #on;
  #heardAt;
  #now;

  constructor(url, WebSocketClass, now, on) {
    this.#on = on;
    this.#now = now;
    this.#heardAt = now();
    const socket = (this.#socket = new WebSocketClass(url, 'rankcast.v1'));
    socket.onopen = () => this.#on?.open();
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = ({ code, reason }) => this.#end(code, reason);
    socket.onerror = () => {}; // a close event follows that says more
  }

  /** When the server was last heard. */
  get heardAt() {
    return this.#heardAt;
  }

  send(command) {
    if (this.#socket.readyState === 1) this.#socket.send(JSON.stringify(command));
  }

  /** Ends the line; `on.close` is not called any more. */
  close() {
    this.#on = null;
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    try {
      this.#socket.close(1000);
    } catch {
      // It never came to be open: there is nothing to end.
    }
  }

  #receive(data) {
    this.#heardAt = this.#now();
    let frame;
    try {
      frame = JSON.parse(data);
    } catch {
      this.#on?.bad();
      return;
    }
    this.#on?.frame(frame);
  }

  #end(code, reason) {
    const on = this.#on;
    this.#on = null;
    on?.close(code, reason);
  }
}
