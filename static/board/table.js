// A table of rows that follows a view: rows are kept by player, glide to their places, and tell where they moved.
//
// Owns: what is done at once (places, and what rows in sight say) and what little by little, within a second or two
// (rows out of sight, and the order of the elements, for those who read the document: moving elements costs more than
// all else); which rows glide: those in sight, and none where too many move at once.
// Neighbours: line.js is one row, order.js the moves, glide.js the motion, marks.js the places, sight.js the screen,
// walk.js the keyboard.

import { setData } from "./dom.js";
import { Glide } from "./glide.js";
import { Line } from "./line.js";
import { Marks } from "./marks.js";
import { staying } from "./order.js";
import { sight } from "./sight.js";
import { Walk, playerAt } from "./walk.js";
import { fitColumns } from "./widths.js";

/** @import { Row } from '../rankcast.js' */

const MOST_MOVERS = 60; // rows that change their order at once: above that a glide shows nothing any more
const MOST_FLASHES = 8; // a frame
const BEYOND_ROWS = 3; // rows beyond the edges of the screen that glide, too
const ENTER_ROWS = 0.4;
const MARKS_MS = 500;
const LATER_MS = 200; // until the next bit of what is put off,
const LATER_ROWS = 20; // which is so many rows
const LATER_MOVES = 12; // and so many elements

/** @typedef {(player: string) => string} FlagOf */

/** @param {{ epoch: string | null, version: number }} view */
export const positionOf = ({ epoch, version }) => `${epoch}-${version}`;

export class Table {
  #body;
  #table;
  #flagOf;
  #walk;
  #glide = new Glide();
  #marks = new Marks();
  /** @type {Map<string, Line>} */
  #lines = new Map();
  /** @type {readonly Row[]} */
  #rows = [];
  /** @type {string | null} */
  #chosen = null;
  #laterTimer = 0;
  #laterFrom = 0;
  #laterLeft = 0;
  #best = 0;
  #position = "";
  #top = 0;
  #height = 44;

  /**
   * @param {HTMLElement} body the table's body @param {{ flagOf: FlagOf, onchoose: (player: string) => void }} options
   */
  constructor(body, { flagOf, onchoose }) {
    this.#body = body;
    this.#table = body.closest("table") ?? body;
    this.#flagOf = flagOf;
    body.addEventListener("click", ({ target }) => {
      const player = playerAt(target);
      if (player !== null) onchoose(player);
    });
    this.#walk = new Walk(body, {
      rowsNow: () => this.#rows,
      lineOf: (player) => this.#lines.get(player),
    });
    const observer = new ResizeObserver(() => this.#measure());
    observer.observe(body);
    observer.observe(document.body);
    addEventListener("scroll", () => this.#writeInSight(), { passive: true });
    setInterval(() => this.#showMarks(), MARKS_MS);
  }

  /**
   * Shows these rows, which are the board's at `position`. `fresh`: they are not a change of what is shown, so
   * nothing moves. The table's `data-position` names the position once all of the document is as it was there.
   * @param {readonly Row[]} rows @param {boolean} fresh @param {string} position
   */
  show(rows, fresh, position) {
    const old = this.#rows;
    const places = new Map(old.map((row, place) => [row.player, place]));
    const before = rows.map((row) => places.get(row.player) ?? -1);
    const stays = staying(before);
    const movers = before.filter((place, now) => place >= 0 && !stays[now]).length;
    const lively = !fresh && this.#glide.allowed && movers <= MOST_MOVERS;
    if (rows.length !== old.length) this.#body.style.height = `calc(${rows.length} * var(--row))`;
    this.#position = position;
    setData(this.#table, "position", "");
    this.#rows = rows;
    this.#best = rows.reduce((most, row) => Math.max(most, row.points), 0);
    fitColumns(this.#table, rows, this.#best);
    this.#drop(rows);
    this.#addNew(rows);
    if (fresh) this.#marks.clear();
    else this.#note(old, before);
    if (lively) this.#flash(old, before);
    this.#writeInSight();
    this.#place(before, stays, lively);
    this.#laterLeft = rows.length;
    if (fresh) this.#catchUp(rows.length, rows.length);
    else this.#later();
  }

  /**
   * Marks the row of this player as the viewer's own, now and whenever it is in the table.
   * @param {string | null} player
   */
  choose(player) {
    this.#own(this.#chosen, false);
    this.#chosen = player;
    this.#own(player, true);
  }

  /** Asks for all flags again. */
  refreshFlags() {
    for (const [player, line] of this.#lines) line.flag = this.#flagOf(player);
  }

  /**
   * Whether the player's row is in sight; false where there is none.
   * @param {string} player
   */
  isInSight(player) {
    const place = this.#rows.findIndex((row) => row.player === player);
    const top = this.#top + place * this.#height - sight.top;
    return place >= 0 && top > 0 && top + this.#height < sight.height;
  }

  /**
   * Scrolls to the player's row, if there is one.
   * @param {string} player
   */
  reveal(player) {
    this.#lines.get(player)?.element.scrollIntoView({ block: "center" });
  }

  // -- the order in the document

  /** @param {readonly Row[]} rows */
  #drop(rows) {
    const wanted = new Set(rows.map((row) => row.player));
    for (const [player, { element, glow }] of this.#lines) {
      if (wanted.has(player)) continue;
      this.#glide.drop(element);
      this.#glide.drop(glow);
      element.remove();
      this.#lines.delete(player);
    }
  }

  /** @param {readonly Row[]} rows */
  #addNew(rows) {
    for (const row of rows) {
      const { player } = row;
      if (this.#lines.has(player)) continue;
      const line = new Line(player, this.#flagOf(player));
      this.#lines.set(player, line);
      line.show(row, this.#best);
      if (player === this.#chosen) this.#own(player, true);
      this.#body.append(line.element);
    }
  }

  #later() {
    this.#laterTimer ||= window.setTimeout(() => this.#catchUp(LATER_ROWS, LATER_MOVES), LATER_MS);
  }

  /**
   * Does what was put off, or as much of it.
   * @param {number} rows @param {number} moves
   */
  #catchUp(rows, moves) {
    clearTimeout(this.#laterTimer);
    this.#laterTimer = 0;
    for (let count = 0; count < Math.min(rows, this.#rows.length); count++) {
      const row = this.#rows[(this.#laterFrom + count) % this.#rows.length];
      this.#line(row.player).show(row, this.#best);
    }
    this.#laterFrom += rows;
    this.#laterLeft -= rows;
    const inOrder = this.#arrange(moves);
    this.#walk.refresh();
    if (this.#laterLeft > 0 || !inOrder) this.#later();
    else setData(this.#table, "position", this.#position);
  }

  /**
   * Brings the elements closer to the order of the rows by so many moves; true where they are in that order then.
   * @param {number} moves
   */
  #arrange(moves) {
    const focused = document.activeElement;
    const elements = this.#rows.map(({ player }) => this.#line(player).element);
    const places = new Map([...this.#body.children].map((element, place) => [element, place]));
    const stays = staying(elements.map((element) => places.get(element) ?? -1));
    let left = moves;
    let next = this.#body.firstElementChild;
    elements.forEach((element, place) => {
      if (stays[place] || element === next) next = element.nextElementSibling;
      else if (left-- > 0) this.#put(element, next);
    });
    if (
      focused instanceof HTMLElement &&
      focused !== document.activeElement &&
      this.#body.contains(focused)
    ) {
      focused.focus({ preventScroll: true });
    }
    return left >= 0;
  }

  /** @param {Element} element @param {Element | null} next */
  #put(element, next) {
    /** @type {any} newer browsers move an element without taking the focus from it */
    const body = this.#body;
    if (body.moveBefore && element.isConnected) body.moveBefore(element, next);
    else body.insertBefore(element, next);
  }

  // -- what the rows say

  #writeInSight() {
    const { from, to } = this.#sight();
    for (const row of this.#rows.slice(Math.max(0, from), Math.max(0, to))) {
      this.#line(row.player).show(row, this.#best);
    }
    this.#showMarks();
  }

  /**
   * Notes who rose, fell or came in.
   * @param {readonly Row[]} old @param {number[]} before
   */
  #note(old, before) {
    const now = performance.now();
    this.#rows.forEach(({ player, rank }, place) => {
      const was = old[before[place]]?.rank;
      if (was === undefined) this.#marks.entered(player, now);
      else if (was !== rank) this.#marks.moved(player, was - rank, now);
    });
  }

  /**
   * Lets the points of those light up who rose by points of their own.
   * @param {readonly Row[]} old @param {number[]} before
   */
  #flash(old, before) {
    let left = MOST_FLASHES;
    this.#rows.forEach(({ player, rank, points }, place) => {
      const was = old[before[place]];
      if (!was || was.rank <= rank || was.points === points || left === 0 || !this.#isNear(place, place))
        return;
      left -= 1;
      this.#glide.flash(this.#line(player).glow);
    });
  }

  #showMarks() {
    const marks = this.#marks.at(performance.now());
    const { from, to } = this.#sight();
    this.#rows.forEach(({ player }, place) => {
      const mark = place >= from && place < to && marks.has(player) ? marks.get(player) : 0;
      this.#line(player).mark(mark ?? null);
    });
  }

  /** @param {string | null} player @param {boolean} own */
  #own(player, own) {
    const line = player === null ? undefined : this.#lines.get(player);
    line?.element.classList.toggle("own", own);
    line?.button.setAttribute("aria-pressed", String(own));
  }

  /** @param {string} player */
  #line(player) {
    const line = this.#lines.get(player);
    if (!line) throw new Error(`no row of ${player}`);
    return line;
  }

  // -- motion

  #measure() {
    const { top, height } = this.#body.getBoundingClientRect();
    this.#top = top + scrollY;
    if (this.#rows.length) this.#height = height / this.#rows.length;
  }

  /** The rows in sight, and a few beyond: from one to before another. */
  #sight() {
    const above = (sight.top - this.#top) / this.#height;
    const from = Math.floor(above) - BEYOND_ROWS;
    return { from, to: Math.ceil(above + sight.height / this.#height) + BEYOND_ROWS };
  }

  /** @param {number} one @param {number} other whether the way between two places is in sight */
  #isNear(one, other) {
    const { from, to } = this.#sight();
    return Math.min(one, other) < to && Math.max(one, other) >= from;
  }

  /**
   * Puts every row to its place; those in sight glide there.
   * @param {number[]} before @param {boolean[]} stays @param {boolean} lively
   */
  #place(before, stays, lively) {
    this.#rows.forEach(({ player }, place) => {
      const { element } = this.#line(player);
      const old = before[place];
      if (old === place && lively) return;
      if (!lively || !this.#isNear(old < 0 ? place : old, place)) this.#glide.put(element, place);
      else if (old < 0) this.#glide.enter(element, place, place + ENTER_ROWS);
      else this.#glide.move(element, place);
      element.classList.toggle("over", lively && !stays[place] && old > place);
    });
  }
}
