// What passes by: who enters the best 100, who takes the lead, who climbs.
//
// Owns: which moves are worth a line, how many are shown, and how fast they come. Old ones are dropped rather than
// queued: a feed that lags tells yesterday's news. Neighbours: board.js hands over views and rank-ups.

import { make } from "./dom.js";
import { called, clockText, counted, ordinal } from "./format.js";
import { Glide } from "./glide.js";

/** @import { RankUp, TopView } from '../rankcast.js' */

const SHOWN = 6;
const EVERY_MS = 700; // readable: one line at a time
const WAITING = 3;
const CLIMB = 8; // places at once that are worth a line
const PODIUM = 10;

/** @typedef {{ player: string, name: string | null, text: string, weight: number }} News */

/**
 * The moves of a view that are worth a line: a new leader, a rise within the best ten, a climb. Pure.
 * @param {TopView} view @returns {News[]}
 */
export function newsOf(view) {
  if (view.changes.first) return [];
  const places = new Map(view.changes.moved.map(({ player, places }) => [player, places]));
  /** @type {News[]} */
  const news = [];
  view.rows.forEach((row, place) => {
    const rise = places.get(row.player) ?? 0;
    if (rise <= 0) return;
    const one = { player: row.player, name: row.name };
    const passed = view.rows[place + 1];
    if (row.rank === 1) news.push({ ...one, text: "takes the lead", weight: 1_000 });
    else if (row.rank <= PODIUM && passed) {
      const text = `passes ${called(passed)}: ${ordinal(row.rank)}`;
      news.push({ ...one, text, weight: 100 - row.rank });
    } else if (rise >= CLIMB) {
      news.push({
        ...one,
        text: `climbs ${counted(rise, "place", "places")} to ${ordinal(row.rank)}`,
        weight: rise,
      });
    }
  });
  return news;
}

/**
 * A rise into the best 100 as a line. Pure.
 * @param {RankUp} event @returns {News}
 */
export function newsOfRankUp(event) {
  const from = event.before === null ? "" : ` from ${ordinal(event.before)}`;
  const text =
    event.before === null
      ? `is new at ${ordinal(event.after)}`
      : `comes in at ${ordinal(event.after)}${from}`;
  return { player: event.player, name: event.name, text, weight: 50 };
}

export class Feed {
  #list;
  #flagOf;
  #glide = new Glide();
  /** @type {HTMLElement[]} the newest first */
  #items = [];
  /** @type {Set<HTMLElement>} */
  #nameless = new Set();
  /** @type {News[]} */
  #waiting = [];
  #shownAt = -Infinity;
  #timer = 0;

  /** @param {HTMLElement} list @param {{ flagOf: (player: string) => string, onchoose: (player: string) => void }} options */
  constructor(list, { flagOf, onchoose }) {
    this.#list = list;
    this.#flagOf = flagOf;
    list.addEventListener("click", ({ target }) => {
      const player = target instanceof Element ? target.closest("li")?.dataset.player : undefined;
      if (player) onchoose(player);
    });
  }

  /** @param {News[]} news */
  add(news) {
    this.#waiting.push(...news);
    this.#waiting.sort((one, other) => other.weight - one.weight);
    this.#waiting.length = Math.min(this.#waiting.length, WAITING);
    this.#next();
  }

  /**
   * Gives names to those who had none when they passed: names follow a moment later.
   * @param {(player: string) => string | null} nameOf
   */
  name(nameOf) {
    for (const item of this.#nameless) {
      const name = nameOf(item.dataset.player ?? "");
      if (name === null && item.isConnected) continue;
      this.#nameless.delete(item);
      const bdi = item.querySelector("bdi");
      if (bdi && name !== null) bdi.textContent = name;
    }
  }

  /** Forgets everything, as when a season begins anew. */
  clear() {
    this.#waiting = [];
    for (const item of this.#items.splice(0)) this.#glide.drop(item);
    this.#list.replaceChildren();
  }

  #next() {
    clearTimeout(this.#timer);
    if (!this.#waiting.length) return;
    const wait = this.#shownAt + EVERY_MS - performance.now();
    if (wait <= 0) this.#show(/** @type {News} */ (this.#waiting.shift()));
    this.#timer = window.setTimeout(() => this.#next(), Math.max(wait, EVERY_MS / 4));
  }

  /** @param {News} news */
  #show({ player, name, text }) {
    this.#shownAt = performance.now();
    const flag = make("span", "flag", this.#flagOf(player));
    flag.setAttribute("aria-hidden", "true");
    const bdi = make("bdi", "", called({ player, name }));
    bdi.dir = "auto";
    const time = make("time", "", clockText(Date.now()));
    const item = make("li", "", flag, make("span", "what", bdi, ` ${text}`), time);
    item.dataset.player = player;
    if (name === null) this.#nameless.add(item);
    this.#items.unshift(item);
    this.#list.prepend(item);
    for (const old of this.#items.splice(SHOWN)) {
      this.#glide.drop(old);
      old.remove();
    }
    const lively = this.#glide.allowed;
    this.#items.forEach((one, place) =>
      lively ? this.#glide.move(one, place) : this.#glide.put(one, place),
    );
    if (lively) this.#glide.enter(item, 0, -0.3);
  }
}
