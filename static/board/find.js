// Players by the beginning of their names, or by id, with their ranks on the page's board.
//
// Owns: the question to the server. Neighbours: search.js asks.

/** @import { Found } from './search.js' */
/** @import { Season } from './season.js' */

const MOST = 8;

/**
 * Those found, perhaps nobody; raises an Error with the server's reason.
 * @param {string} query @param {Season | null} season @param {AbortSignal} signal @returns {Promise<Found[]>}
 */
export async function find(query, season, signal) {
  const parameters = new URLSearchParams({ query, limit: String(MOST) });
  if (season) parameters.set("season", String(season.id));
  const answer = await fetch(`/players?${parameters}`, { signal });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail);
  return body.players;
}
