// What the page says about its state: in place of the rows where there are none, else in a line over them.
//
// Owns: both places, and the greyed board of a server that is away. The line lies over the page, so that nothing
// moves when it comes and goes. Neighbours: standing.js decides what is said.

import { make, setData, setHidden, setText } from "./dom.js";

/** @import { Season } from './season.js' */
/** @import { Standing } from './standing.js' */

/** @type {{ [kind: string]: [title: string, text: string] }} what stands in place of rows; no text: the standing's */
const WORDS = {
  connecting: ["Connecting", ""],
  live: ["Nobody is ranked yet", ""],
  empty: ["Nobody is ranked yet", "The first result that counts appears here at once."],
  upcoming: ["Nobody is ranked yet", "The first result that counts appears here at once."],
  ended: ["Nobody was ranked", "The season is over."],
  unknown: ["There is no such board", ""],
  refused: ["This board cannot be shown", ""],
  stale: ["Nobody is ranked yet", ""],
  away: ["The server is away", ""],
};

export class Notice {
  #parts;
  #said = "";

  /** @param {{ page: HTMLElement, message: HTMLElement, title: HTMLElement, text: HTMLElement, links: HTMLElement, line: HTMLElement }} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * @param {Standing} standing @param {boolean} hasRows @param {readonly Season[]} others boards that there are
   */
  show({ kind, text }, hasRows, others) {
    const { page, message, title, line } = this.#parts;
    setData(page, "state", kind);
    setHidden(message, hasRows);
    setHidden(line, !hasRows || text === "");
    if (hasRows) setText(line, text);
    setText(title, WORDS[kind][0]);
    setText(this.#parts.text, WORDS[kind][1] || text);
    const links = kind === "unknown" ? others : [];
    const said = links.map(({ board }) => board).join();
    if (said === this.#said) return;
    this.#said = said;
    this.#parts.links.replaceChildren(...links.map(linkTo));
  }

  /**
   * Says that there is nothing that could be shown.
   * @param {string} title @param {string} text
   */
  fail(title, text) {
    setData(this.#parts.page, "state", "refused");
    setHidden(this.#parts.message, false);
    setText(this.#parts.title, title);
    setText(this.#parts.text, text);
  }
}

/** @param {Season} season */
function linkTo({ board, name }) {
  const link = make("a", "", name);
  link.href = `?board=${encodeURIComponent(board)}`;
  return make("li", "", link);
}
