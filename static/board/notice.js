// What the page says about its state: in place of the rows where there are none, else in a line over them.
//
// Owns: both places, and the greyed board of a server that is away. The line lies over the page, so that nothing
// moves when it comes and goes. Neighbours: standing.js decides what is said.

import { make, setData, setHidden, setText } from "./dom.js";

/** @import { Season } from './season.js' */
/** @import { Standing } from './standing.js' */

const FIRST = "The first result that counts appears here at once: by Kafka, or posted to the server.";
const HOW = { href: "/docs#submit", name: "How results are reported" };

/** @type {{ [kind: string]: [title: string, text: string] }} what stands in place of rows; no text: the standing's */
const WORDS = {
  connecting: ["Connecting", "The board comes in a moment."],
  live: ["Nobody is ranked yet", ""],
  empty: ["Nobody is ranked yet", FIRST],
  upcoming: ["Nobody is ranked yet", FIRST],
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
    setText(this.#parts.text, text || WORDS[kind][1]);
    const boards = others.map(({ board, name }) => ({ href: `?board=${encodeURIComponent(board)}`, name }));
    const links = kind === "unknown" ? boards : kind === "empty" || kind === "upcoming" ? [HOW] : [];
    const said = links.map(({ href }) => href).join();
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

/** @param {{ href: string, name: string }} target */
function linkTo({ href, name }) {
  const link = make("a", "", name);
  link.href = href;
  return make("li", "", link);
}
