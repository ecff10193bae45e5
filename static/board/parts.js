// The places of the page that its parts draw into, by what they are called in index.html.
//
// Owns: the names. Neighbours: board.js hands the places to the parts.

import { byId } from "./dom.js";

/** @param {string} id */
export const part = (id) => byId(id, HTMLElement);
/** @param {string} id */
export const button = (id) => byId(id, HTMLButtonElement);

export function factsParts() {
  return {
    players: part("players"),
    results: part("results"),
    version: part("version"),
    lag: part("lag"),
    state: part("state"),
  };
}

export function noticeParts() {
  return {
    page: part("page"),
    message: part("message"),
    title: part("message-title"),
    text: part("message-text"),
    links: part("message-links"),
    line: part("notice"),
  };
}

export function searchParts() {
  return { field: byId("search", HTMLInputElement), list: part("found"), note: part("found-note") };
}

export function aroundParts() {
  return {
    panel: part("around"),
    flag: part("around-flag"),
    name: part("around-name"),
    rank: part("around-rank"),
    of: part("around-of"),
    points: part("around-points"),
    when: part("around-when"),
    trend: part("around-trend"),
    note: part("around-note"),
    chart: part("chart"),
    table: part("neighbours"),
    body: part("neighbour-rows"),
  };
}

export function pinParts() {
  return {
    bar: part("pin"),
    rank: part("pin-rank"),
    flag: part("pin-flag"),
    name: part("pin-name"),
    points: part("pin-points"),
    show: button("pin-show"),
    leave: button("pin-leave"),
  };
}

export function demoParts() {
  return {
    panel: part("demo"),
    year: part("demo-year"),
    day: part("demo-day"),
    phase: part("demo-phase"),
    match: part("demo-match"),
    done: part("demo-done"),
    first: part("demo-first"),
    last: part("demo-last"),
    buttons: part("demo-buttons"),
    pause: button("demo-pause"),
    speeds: part("demo-speeds"),
    restart: button("demo-restart"),
  };
}
