// Which way to the server: a WebSocket, or server-sent events where one cannot be opened.
//
// Owns: the counts that decide it. Pure.
// Neighbours: link.js asks before each try and tells how it ended.

const REFUSALS = 2; // WebSockets that could not be opened in a row, before server-sent events are tried
const AGAIN_MS = 60_000; // how long server-sent events are used before a WebSocket is tried beside them
const LATEST_MS = 600_000;

export class Ways {
  #transport;
  #refusals = 0;
  #scouts = 0;

  /** @param {'auto' | 'websocket' | 'sse'} transport */
  constructor(transport) {
    this.#transport = transport;
  }

  get usesEvents() {
    return this.#transport === "sse" || (this.#transport === "auto" && this.#refusals >= REFUSALS);
  }

  /** @param {'websocket' | 'sse'} kind */
  opened(kind) {
    if (kind === "websocket") this.#refusals = this.#scouts = 0;
  }

  /**
   * A line ended, or could not be made. `wasUp`: the server had spoken on it.
   * @param {'websocket' | 'sse' | null} kind @param {boolean} wasUp
   */
  ended(kind, wasUp) {
    // A stream that fails as well tells of a server that is away, not of a way that is barred: the socket is next.
    if (kind === "sse") this.#refusals = REFUSALS - 1;
    else if (kind === "websocket" && !wasUp) this.#refusals++;
  }

  /**
   * How long server-sent events go on before a WebSocket is tried beside them; null: it never is.
   * @param {number} random from 0 to 1
   */
  scoutDelay(random) {
    if (this.#transport === "sse") return null;
    return Math.min(LATEST_MS, AGAIN_MS * 2 ** Math.min(this.#scouts++, 10)) * (0.5 + random / 2);
  }
}
