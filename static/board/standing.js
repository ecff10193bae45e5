// What state the page is in, as people understand it: one word, a sentence, and since when. Pure.
//
// Owns: which of connection, server and season has the say. Neighbours: notice.js shows it, board.js brings the facts.

import { clockText, dayOf, span } from "./format.js";

/** @import { Refusal, State, View } from '../rankcast.js' */
/** @import { Season } from './season.js' */

/**
 * @typedef {object} Standing
 * @property {"connecting" | "live" | "empty" | "unknown" | "upcoming" | "ended" | "stale" | "away" | "refused"} kind
 * @property {string} word for the state beside the board
 * @property {string} text a sentence, empty where there is nothing to explain
 */

const SHORT_MS = 1_200; // what lasts no longer is not worth a word

/** @type {{ [reason: string]: string }} */
const STALE = {
  loading: "the server reads the board",
  building: "the board is being made",
  lost: "the server's board store is not what it was; the board is being made anew",
  gap: "the server fills a gap in what it heard",
  replaced: "the board is replaced by a new one",
  differs: "the server found a difference and reads the board again",
  went_back: "the server's board store went back; the board is being made anew",
  unreachable: "the server cannot reach its board store",
  unreadable: "the server cannot read its board store",
};

const OURS = new Set(["", "catching up", "hidden", "subscribing"]); // passing states of the client, no faults

/**
 * @param {{ state: State, view: View | null, refusal: Refusal | null, season: Season | null, now: number }} facts
 * @returns {Standing}
 */
export function standing({ state, view, refusal, season, now }) {
  if (state.name === "closed") return { kind: "refused", word: "closed", text: closedText(state.reason) };
  if (!view) return refusal ? refused(refusal) : connecting(state, now);
  const told = view.stale !== null && state.reason === view.stale.reason; // by the server, over a line that is up
  if (state.name === "stale" && !told && !OURS.has(state.reason) && now - state.since > SHORT_MS) {
    return away(state, now);
  }
  if (view.stale && now - view.stale.since > SHORT_MS) return stale(view.stale, view, now);
  return ofSeason(view, season, now);
}

/** @param {Refusal} refusal @returns {Standing} */
function refused({ board, code, reason }) {
  const unknown = code === "unknown_board" || code === "unknown_season";
  if (!unknown) return { kind: "refused", word: "refused", text: reason };
  return { kind: "unknown", word: "no such board", text: `This server has no board ${board}. It has these:` };
}

/** @param {State} state @param {number} now @returns {Standing} */
function connecting(state, now) {
  const text = OURS.has(state.reason)
    ? ""
    : `The server does not answer (${state.reason}).${nextTry(state, now)}`;
  return { kind: "connecting", word: "connecting", text };
}

/** @param {State} state @param {number} now @returns {Standing} */
function away(state, now) {
  const { reason, since } = state;
  const text = `The server is away since ${clockText(since)} (${reason}). This is the last picture; it goes on by itself.`;
  return { kind: "away", word: `away ${span(now - since)}`, text: text + nextTry(state, now) };
}

/** @param {State} state @param {number} now */
function nextTry({ retryAt }, now) {
  return retryAt === null ? "" : ` Next try in ${Math.max(1, Math.ceil((retryAt - now) / 1000))} s.`;
}

/** @param {{ reason: string, since: number }} stale @param {View} view @param {number} now @returns {Standing} */
function stale({ reason, since }, view, now) {
  const why = STALE[reason] ?? reason;
  if (view.epoch === null)
    return { kind: "connecting", word: "being made", text: "The board is being made." };
  const text = `This is the picture of ${clockText(since)}, ${span(now - since)} old: ${why}.`;
  return { kind: "stale", word: `stale ${span(now - since)}`, text };
}

/** @param {View} view @param {Season | null} season @param {number} now @returns {Standing} */
function ofSeason(view, season, now) {
  if (view.season === "closed" || (season !== null && now >= season.endsAt)) {
    return { kind: "ended", word: "final", text: "" }; // since when stands below the title
  }
  if (season && now < season.startsAt) {
    return { kind: "upcoming", word: `starts ${dayOf(season.startsAt)}`, text: "" };
  }
  return { kind: view.total === 0 ? "empty" : "live", word: "live", text: "" };
}

/** @param {string} reason */
function closedText(reason) {
  const token = reason.includes("token") || reason === "permission denied";
  return token
    ? `The server lets nobody see this board without a token (${reason}).`
    : `The connection has ended for good (${reason}). Load the page again to go on.`;
}
