// The figures above the board: players, results a second, version, lag, and the state of the connection.
//
// Owns: how they are written. Neighbours: board.js brings views and states, pulse.js the rest.

import { setData, setText } from "./dom.js";
import { grouped, rate } from "./format.js";

/** @import { View } from '../rankcast.js' */
/** @import { Pulse } from './pulse.js' */
/** @import { Standing } from './standing.js' */

export class Facts {
  #parts;
  /** @type {View | null} */
  #view = null;
  /** @type {Pulse | null} */
  #pulse = null;

  /** @param {{ players: HTMLElement, results: HTMLElement, version: HTMLElement, lag: HTMLElement, state: HTMLElement }} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /** @param {View} view */
  view(view) {
    this.#view = view;
    setText(this.#parts.players, grouped(view.total));
    this.#showVersion();
  }

  /** @param {Pulse | null} pulse */
  pulse(pulse) {
    this.#pulse = pulse;
    const results = pulse?.resultsPerSecond ?? null;
    const lag = pulse?.lagRecords ?? null;
    setText(this.#parts.results, results === null ? "–" : rate(results));
    setText(this.#parts.lag, lag === null ? "–" : grouped(lag));
    this.#showVersion();
  }

  /** @param {Standing} standing */
  standing({ kind, word }) {
    setData(this.#parts.state, "kind", kind);
    setText(this.#parts.state, word);
  }

  /** A view that did not change keeps its version while the board goes on: the newer of both is told. */
  #showVersion() {
    const { epoch = null, version = 0 } = this.#view ?? {};
    const pulse = this.#pulse;
    const newer = pulse !== null && (epoch === null || pulse.epoch === epoch) && pulse.version > version;
    setText(this.#parts.version, grouped(newer ? pulse.version : version));
  }
}
