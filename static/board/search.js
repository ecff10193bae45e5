// Finding a player by the beginning of a name or by id: a combobox whose list follows what is typed.
//
// Owns: the field, the list, its keyboard, and that an old answer never replaces a newer one.
// Never follows anybody: it tells who was chosen. Neighbours: board.js asks the server (`find`).

import { make, setHidden, setText } from "./dom.js";
import { called, grouped, ordinal } from "./format.js";

/** @typedef {{ playerId: number | string, name: string | null, rank: number | null, points: number | null }} Found */
/** @typedef {(query: string, signal: AbortSignal) => Promise<Found[]>} Find */

const PAUSE_MS = 120; // after a key: people type faster than answers are read
const ID = /^(0|-?[1-9]\d{0,18})$/;

export class Search {
  #field;
  #list;
  #note;
  #find;
  #flagOf;
  #onchoose;
  /** @type {Found[]} */
  #found = [];
  #active = -1;
  #timer = 0;
  #asking = new AbortController();

  /**
   * @param {{ field: HTMLInputElement, list: HTMLElement, note: HTMLElement }} parts
   * @param {{ find: Find, flagOf: (player: string) => string, onchoose: (player: string, name: string | null) => void }} options
   */
  constructor({ field, list, note }, { find, flagOf, onchoose }) {
    this.#field = field;
    this.#list = list;
    this.#note = note;
    this.#find = find;
    this.#flagOf = flagOf;
    this.#onchoose = onchoose;
    field.addEventListener("input", () => this.#typed());
    field.addEventListener("keydown", (event) => this.#key(event));
    field.addEventListener("blur", () => this.#close());
    field.addEventListener("focus", () => this.#typed());
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
    list.addEventListener("click", ({ target }) => {
      const option = target instanceof Element ? target.closest("li") : null;
      if (option) this.#choose([...list.children].indexOf(option));
    });
    document.addEventListener("keydown", (event) => {
      const busy = event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement;
      if (event.key !== "/" || busy) return;
      event.preventDefault();
      field.focus();
    });
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#asking.abort();
    const query = this.#field.value.trim();
    if (!query) this.#close();
    else this.#timer = window.setTimeout(() => this.#ask(query), PAUSE_MS);
  }

  /** @param {string} query */
  async #ask(query) {
    const { signal } = (this.#asking = new AbortController());
    try {
      this.#show(await this.#find(query, signal), `No player's name begins with “${query}”.`);
    } catch (error) {
      if (signal.aborted) return;
      // Whoever is known by id can be followed without the server's help.
      const known = ID.test(query) ? [{ playerId: query, name: null, rank: null, points: null }] : [];
      this.#show(known, error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {Found[]} found @param {string} otherwise */
  #show(found, otherwise) {
    this.#found = found;
    this.#list.replaceChildren(...found.map((one, at) => this.#option(one, at)));
    setHidden(this.#list, !found.length);
    setText(this.#note, found.length ? "" : otherwise);
    setHidden(this.#note, found.length > 0);
    this.#field.setAttribute("aria-expanded", String(found.length > 0));
    this.#activate(found.length ? 0 : -1);
  }

  /** @param {Found} found @param {number} at */
  #option({ playerId, name, rank }, at) {
    const player = String(playerId);
    const flag = make("span", "flag", this.#flagOf(player));
    flag.setAttribute("aria-hidden", "true");
    const bdi = make("bdi", "", called({ name, player }));
    bdi.dir = "auto";
    const place = make("span", "place", rank === null ? "not ranked" : `#${grouped(rank)}`);
    if (rank !== null) place.setAttribute("aria-label", `${ordinal(rank)}`);
    const option = make("li", "", flag, bdi, place);
    option.id = `found-${at}`;
    option.setAttribute("role", "option");
    return option;
  }

  /** @param {number} at */
  #activate(at) {
    this.#active = at;
    [...this.#list.children].forEach((option, place) => {
      option.setAttribute("aria-selected", String(place === at));
      if (place === at) option.scrollIntoView({ block: "nearest" });
    });
    if (at < 0) this.#field.removeAttribute("aria-activedescendant");
    else this.#field.setAttribute("aria-activedescendant", `found-${at}`);
  }

  #close() {
    clearTimeout(this.#timer);
    this.#asking.abort();
    this.#show([], "");
    setHidden(this.#note, true);
  }

  /** @param {number} at */
  #choose(at) {
    const one = this.#found[at];
    if (!one) return;
    this.#field.value = "";
    this.#field.blur();
    this.#onchoose(String(one.playerId), one.name);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const count = this.#found.length;
    if (event.key === "ArrowDown" && count) this.#activate((this.#active + 1) % count);
    else if (event.key === "ArrowUp" && count) this.#activate((this.#active + count - 1) % count);
    else if (event.key === "Enter" && count) this.#choose(Math.max(0, this.#active));
    else if (event.key === "Escape") this.#field.blur();
    else return;
    event.preventDefault();
  }
}
