// One row of a table: its cells, written only where they changed.
//
// Owns: how a row looks in the document. Rows are laid out by a grid, which takes a table's meaning from its
// elements, so each says its role itself. Never knows its neighbours. Neighbours: table.js keeps the rows.

import { make } from "./dom.js";
import { called, counted, grouped, momentText } from "./format.js";

/** @import { Row } from '../rankcast.js' */

const LEAST_SHARE = 0.002; // of the width: less is not seen

export class Line {
  /** @type {Row | null} */
  row = null;
  element = make("tr");
  button = make("button", "player");
  glow = make("i", "glow");
  #rank = new Text();
  #move = make("td", "move");
  #places = new Text();
  #flag = make("span", "flag");
  #name = make("bdi");
  #points = new Text();
  #when = new Text();
  #gap = make("i", "gap");
  #share = 0;
  /** @type {number | null} */
  #marked = 0;

  /** @param {string} player @param {string} flag */
  constructor(player, flag) {
    this.element.dataset.player = player;
    this.button.type = "button";
    this.button.tabIndex = -1;
    this.#flag.setAttribute("aria-hidden", "true");
    this.flag = flag;
    this.#name.dir = "auto";
    this.button.append(this.#flag, this.#name);
    this.#move.append(this.#places);
    const name = make("th", "name", this.button, this.#gap);
    name.scope = "row";
    const points = make("td", "points", this.glow, make("b", "", this.#points));
    this.element.append(
      make("td", "rank", this.#rank),
      this.#move,
      name,
      points,
      make("td", "when", this.#when),
    );
    this.element.setAttribute("role", "row");
    for (const cell of this.element.children) cell.setAttribute("role", cell === name ? "rowheader" : "cell");
  }

  /**
   * Shows the row; true where its points have changed since it was shown last.
   * @param {Row} row @param {number} best the most points of the table
   */
  show(row, best) {
    const old = this.row;
    this.row = row;
    if (old?.rank !== row.rank) this.#showRank(row.rank, old?.rank ?? 0);
    if (!old || old.name !== row.name) this.#showName(row);
    if (old?.points !== row.points) this.#points.data = grouped(row.points);
    if (old?.achievedAt !== row.achievedAt) this.#when.data = momentText(row.achievedAt);
    this.#showShare(best > 0 ? row.points / best : 0);
    return old !== null && old.points !== row.points;
  }

  /** @param {number} rank @param {number} old */
  #showRank(rank, old) {
    this.#rank.data = grouped(rank);
    if (rank <= 3) this.element.dataset.rank = String(rank);
    else if (old > 0 && old <= 3) delete this.element.dataset.rank;
  }

  /** @param {Row} row */
  #showName(row) {
    this.#name.textContent = called(row);
    this.button.title = row.name === null ? "" : `${row.name} (${row.player})`;
    this.element.classList.toggle("nameless", row.name === null);
  }

  /** @param {number} share of the best's points */
  #showShare(share) {
    if (Math.abs(share - this.#share) < LEAST_SHARE) return;
    this.#share = share;
    this.#gap.style.transform = `scaleX(${share.toFixed(4)})`;
  }

  /**
   * Marks the row as risen or fallen by so many places, as new (null), or not at all (0).
   * @param {number | null} places
   */
  mark(places) {
    if (places === this.#marked) return;
    this.#marked = places;
    this.#move.dataset.kind = places === null ? "new" : places > 0 ? "up" : places < 0 ? "down" : "";
    this.#places.data = places === null ? "new" : places === 0 ? "" : grouped(Math.abs(places));
    if (places) this.#move.setAttribute("aria-label", moveInWords(places));
    else this.#move.removeAttribute("aria-label");
  }

  /** @param {string} flag */
  set flag(flag) {
    this.#flag.textContent = flag;
  }
}

/** @param {number} places */
const moveInWords = (places) =>
  `${places > 0 ? "up" : "down"} ${counted(Math.abs(places), "place", "places")}`;
