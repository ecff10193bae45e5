// The keyboard's way through a table: one row is a stop of the tab key, arrows lead from there to the others.
//
// Owns: which row that is, by player, wherever the row goes. Neighbours: table.js has the rows.

/** @import { Row } from '../rankcast.js' */
/** @import { Line } from './line.js' */

const PAGE = 10;

/** @param {EventTarget | null} target */
export function playerAt(target) {
  const row = target instanceof Element ? target.closest("tr") : null;
  return row?.dataset.player ?? null;
}

export class Walk {
  #rowsNow;
  #lineOf;
  #stop = "";

  /**
   * @param {HTMLElement} body
   * @param {{ rowsNow: () => readonly Row[], lineOf: (player: string) => Line | undefined }} table
   */
  constructor(body, { rowsNow, lineOf }) {
    this.#rowsNow = rowsNow;
    this.#lineOf = lineOf;
    body.addEventListener("keydown", (event) => this.#key(event));
    body.addEventListener("focusin", ({ target }) => this.#stopAt(playerAt(target)));
  }

  /** Sees to it that there is a stop, where there are rows. */
  refresh() {
    if (!this.#lineOf(this.#stop)) this.#stopAt(this.#rowsNow()[0]?.player);
  }

  /** @param {string | null | undefined} player */
  #stopAt(player) {
    const line = this.#lineOf(player ?? "");
    if (!line) return;
    const old = this.#lineOf(this.#stop);
    if (old) old.button.tabIndex = -1;
    this.#stop = player ?? "";
    line.button.tabIndex = 0;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const rows = this.#rowsNow();
    const place = rows.findIndex((row) => row.player === playerAt(event.target));
    const last = rows.length - 1;
    /** @type {{ [key: string]: number }} */
    const ways = {
      ArrowUp: place - 1,
      ArrowDown: place + 1,
      PageUp: place - PAGE,
      PageDown: place + PAGE,
      Home: 0,
      End: last,
    };
    const wanted = ways[event.key];
    if (wanted === undefined || place < 0) return;
    event.preventDefault();
    const line = this.#lineOf(rows[Math.max(0, Math.min(last, wanted))].player);
    line?.button.focus({ preventScroll: true });
    line?.element.scrollIntoView({ block: "nearest" });
  }
}
