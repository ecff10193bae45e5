// Rankcast's client: a leaderboard that moves by itself, in browsers and in Node 20 and later.
//
//   import { connect } from './rankcast.js';
//   const client = connect('wss://board.example');
//   const stop = client.board('s12').top({ limit: 100 }, (view) => render(view.rows, view.changes));
//
// Owns: the names that a page uses. All else is in rankcast/; rankcast.d.ts explains every field.

import { Client } from "./rankcast/client.js";
import { ownPlatform } from "./rankcast/platform.js";

/** @import * as Api from './rankcast.js' */
/** @import { Platform } from './rankcast/types.js' */

/**
 * The addresses of a server: http(s) and ws(s), without a trailing slash; `/ws` at the end is no part of them.
 * @param {string | URL | null | undefined} url @param {string} [page]
 */
function addresses(url, page) {
  if (!url && !page) throw new TypeError("connect needs the server's address where there is no page");
  const { protocol, host, pathname } = new URL(url ?? "/", page);
  if (!/^(https?|wss?):$/.test(protocol))
    throw new TypeError(`${protocol}//${host} is no http, https, ws or wss address`);
  const rest = `${protocol === "https:" || protocol === "wss:" ? "s" : ""}://${host}${pathname.replace(/\/(ws)?$/, "")}`;
  return { http: `http${rest}`, ws: `ws${rest}` };
}

const DECIMAL = /^(0|-?[1-9]\d*)$/;

/**
 * A player id as text. Numbers that JavaScript cannot hold exactly are refused: they are another player already.
 * @param {string | number | bigint} player
 */
function playerId(player) {
  if (typeof player === "number" && !Number.isSafeInteger(player)) {
    throw new TypeError(`the player id ${player} has lost digits: give it as a string`);
  }
  const text = String(player);
  if (!DECIMAL.test(text)) throw new TypeError(`${text} is not a player id in decimal`);
  return text;
}

/**
 * @template T @param {T} value @param {string} name
 */
function callback(value, name) {
  if (typeof value !== "function") throw new TypeError(`${name} needs a function to call`);
  return value;
}

/** @param {Client} client @param {string} board @returns {Api.Board} */
function boardOf(client, board) {
  return Object.freeze({
    name: board,
    /** @type {Api.Board['top']} */
    top({ limit = 100, onerror } = {}, onview) {
      return client.subscribe({ board, view: "top", limit }, { onview: callback(onview, "top"), onerror });
    },
    /** @type {Api.Board['around']} */
    around(player, { radius = 5, onrankup, onerror } = {}, onview) {
      const calls = { onview: callback(onview, "around"), onrankup, onerror };
      return client.subscribe({ board, view: "around", player: playerId(player), radius }, calls);
    },
    /** @type {Api.Board['rankups']} */
    rankups(onrankup, { onerror } = {}) {
      return client.subscribe(
        { board, view: "rankups" },
        { onrankup: callback(onrankup, "rankups"), onerror },
      );
    },
  });
}

/**
 * Connects to the Rankcast server at `url` (default: where the page comes from). The line is opened with the first
 * subscription and kept up until the last has ended. `platform` is for tests.
 * @param {string | URL | null} [url] @param {Api.Options & { platform?: Platform }} [options] @returns {Api.Client}
 */
export function connect(url, options = {}) {
  const { token, transport = "auto", platform = ownPlatform() } = options;
  const { WebSocket = globalThis.WebSocket, fetch = globalThis.fetch } = options;
  const base = addresses(url, globalThis.document?.baseURI);
  if (transport === "websocket" && !WebSocket)
    throw new TypeError("there is no WebSocket here: give one in the options");
  // A browser's fetch works only when it is called as a function of the page's own.
  const linkOptions = {
    base,
    token,
    WebSocket,
    fetch: fetch.bind(globalThis),
    transport: WebSocket ? transport : "sse",
  };
  const client = new Client(linkOptions, platform);
  return Object.freeze({
    /** @param {string} name */
    board: (name) => boardOf(client, String(name)),
    /** @param {(state: Api.State) => void} listener */
    onstate: (listener) => client.onstate(callback(listener, "onstate")),
    /** @param {(refusal: Api.Refusal) => void} listener */
    onerror: (listener) => client.onerror(callback(listener, "onerror")),
    close: () => client.close(),
    get state() {
      return client.state;
    },
  });
}
