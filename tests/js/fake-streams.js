// A fetch of our own that serves event streams, for the way without a WebSocket.

/** Streams in the order in which they were asked for; each can be answered, fed and ended by the test. */
export class FakeStreams {
  asked = [];

  fetch = (address, { headers, signal }) => {
    const stream = new FakeStream(String(address), headers);
    this.asked.push(stream);
    return new Promise((resolve, reject) => {
      stream.resolve = resolve;
      stream.reject = reject;
      signal.addEventListener("abort", () => stream.abort());
    });
  };

  get newest() {
    return this.asked[this.asked.length - 1];
  }

  get open() {
    return this.asked.filter(({ aborted, ended }) => !aborted && !ended);
  }
}

class FakeStream {
  aborted = false;
  ended = false;
  #controller;

  constructor(address, headers) {
    this.address = new URL(address);
    this.headers = headers;
  }

  /** What the address asks for. */
  get query() {
    return Object.fromEntries(this.address.searchParams);
  }

  accept() {
    const body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
    });
    this.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
    return this;
  }

  refuse(status, problem) {
    this.ended = true;
    this.resolve(new Response(problem ? JSON.stringify(problem) : "nothing", { status }));
  }

  fail() {
    this.ended = true;
    this.reject(new TypeError("network error"));
  }

  text(text) {
    if (!this.aborted) this.#controller.enqueue(new TextEncoder().encode(text));
  }

  push(frame) {
    this.text(
      `event: ${frame.type}\nid: ${frame.epoch}-${frame.version ?? frame.to}\ndata: ${JSON.stringify(frame)}\n\n`,
    );
  }

  end() {
    this.ended = true;
    this.#controller.close();
  }

  abort() {
    this.aborted = true;
    this.reject(new DOMException("aborted", "AbortError"));
    try {
      this.#controller?.error(new DOMException("aborted", "AbortError"));
    } catch {
      // it had ended before
    }
  }
}
