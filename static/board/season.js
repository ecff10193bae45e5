// Which board the page shows: that of its address, else the first season's.
//
// Owns: the list of seasons, and what the page's address says. Neighbours: board.js starts with it.

import { dayOf } from "./format.js";

/**
 * @typedef {object} Season
 * @property {number} id
 * @property {string} board its name on the socket
 * @property {string} name
 * @property {number} startsAt Unix milliseconds
 * @property {number} endsAt Unix milliseconds
 */

const ID = /^(0|-?[1-9]\d{0,18})$/;

/**
 * All seasons by id, and the board of the demo that the server plays, if it does. Raises an Error with a sentence.
 * @returns {Promise<{ seasons: Season[], demo: string | null }>}
 */
export async function allSeasons() {
  const answer = await fetch("/seasons");
  if (!answer.ok) throw new Error(`The seasons cannot be read (${answer.status}).`);
  const { seasons, demo } = await answer.json();
  return { seasons: seasons.map(season), demo };
}

/**
 * @param {{ season_id: number, board: string, name: string, starts_at: string, ends_at: string }} told
 * @returns {Season}
 */
function season({ season_id: id, board, name, starts_at: starts, ends_at: ends }) {
  return { id, board, name, startsAt: Date.parse(starts), endsAt: Date.parse(ends) };
}

/**
 * The board that is asked for, by default the first season's, and its season where there is one. Pure.
 * @param {string} query the address's @param {readonly Season[]} seasons at least one
 * @returns {{ board: string, season: Season | null, player: string | null }}
 */
export function asked(query, seasons) {
  const parameters = new URLSearchParams(query);
  const player = parameters.get("player");
  const board = parameters.get("board") ?? seasons[0].board;
  const season = seasons.find((one) => board === one.board || board.startsWith(`${one.board}:`));
  return { board, season: season ?? null, player: player !== null && ID.test(player) ? player : null };
}

/**
 * The first and the last day of a season. Pure.
 * @param {{ startsAt: number, endsAt: number }} season
 */
export const lengthText = ({ startsAt, endsAt }) => `${dayOf(startsAt)} to ${dayOf(endsAt - 1)}`;

/**
 * Writes the chosen player into the page's address, so that it can be passed on.
 * @param {string | null} player
 */
export function keepInAddress(player) {
  const address = new URL(location.href);
  if (player === null) address.searchParams.delete("player");
  else address.searchParams.set("player", player);
  history.replaceState(null, "", address);
}
