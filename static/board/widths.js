// How wide the columns of numbers have to be: rows are laid out one by one, so what all of them need is said to the table.
//
// Owns: two properties of the table's style, in characters. Neighbours: table.js calls, rows.css and around.css use them.

import { grouped } from "./format.js";

/** @import { Row } from '../rankcast.js' */

/** @param {HTMLElement} table @param {readonly Row[]} rows @param {number} best the most points of them */
export function fitColumns(table, rows, best) {
  if (!rows.length) return;
  set(table, "--ranks", grouped(rows[rows.length - 1].rank).length);
  set(table, "--digits", grouped(best).length);
}

/** @param {HTMLElement} table @param {string} name @param {number} characters */
function set(table, name, characters) {
  const value = String(characters);
  if (table.style.getPropertyValue(name) !== value) table.style.setProperty(name, value);
}
