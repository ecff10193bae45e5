// Rankcast's client: a leaderboard that moves by itself, in browsers and in Node 20 and later.
//
//   import { connect } from './rankcast.js';
//   const client = connect('wss://board.example');
//   const stop = client.board('s12').top({ limit: 100 }, (view) => render(view.rows, view.changes));
//
// Owns: the names that a page uses. All else is in rankcast/; rankcast.d.ts explains every field.

import { Client } from './rankcast/client.js';
import { ownPlatform } from './rankcast/platform.js';

/** The addresses of a server: http(s) and ws(s), without a trailing slash; `/ws` at the end is no part of them. */
export function addresses(url, page) {
  const base = new URL(url ?? '/', page);
  const path = base.pathname.replace(/\/(ws)?$/, '');
  const secure = base.protocol === 'https:' || base.protocol === 'wss:';
  if (!secure && base.protocol !== 'http:' && base.protocol !== 'ws:') throw new TypeError(`${base.href} is no http, https, ws or wss address`);
  return { http: `http${secure ? 's' : ''}://${base.host}${path}`, ws: `ws${secure ? 's' : ''}://${base.host}${path}` };
}

const DECIMAL = /^(0|-?[1-9]\d*)$/;

/** A player id as text. Numbers that JavaScript cannot hold exactly are refused: they are another player already. */
function playerId(player) {
  if (typeof player === 'number' && !Number.isSafeInteger(player)) throw new TypeError(`the player id ${player} has lost digits: give it as a string`);
  const text = String(player);
  if (!DECIMAL.test(text)) throw new TypeError(`${text} is not a player id in decimal`);
  return text;
}

function callback(value, name) {
  if (typeof value !== 'function') throw new TypeError(`${name} needs a function`);
  return value;
}

function boardOf(client, board) {
  return Object.freeze({
    name: board,
    top({ limit = 100, onerror } = {}, onview) {
      return client.subscribe({ board, view: 'top', limit }, { onview: callback(onview, 'top'), onerror });
    },
    around(player, { radius = 5, onrankup, onerror } = {}, onview) {
      const spec = { board, view: 'around', player: playerId(player), radius };
      return client.subscribe(spec, { onview: callback(onview, 'around'), onrankup, onerror });
    },
    rankups(onrankup, { onerror } = {}) {
      return client.subscribe({ board, view: 'rankups' }, { onrankup: callback(onrankup, 'rankups'), onerror });
    },
  });
}

/**
 * Connects to the Rankcast server at `url` (default: where the page comes from). The line is opened with the first
 * subscription and kept up from then on.
 */
export function connect(url, { token, WebSocket, fetch, transport = 'auto', platform = ownPlatform() } = {}) {
  const page = typeof document === 'object' ? document.baseURI : undefined;
  const WebSocketClass = WebSocket ?? globalThis.WebSocket;
  const ownFetch = fetch ?? ((...args) => globalThis.fetch(...args));
  const options = {
    base: addresses(url, page),
    token,
    WebSocket: WebSocketClass,
    fetch: ownFetch,
    transport: WebSocketClass ? transport : 'sse',
  };
  const client = new Client(options, platform);
  return Object.freeze({
    board: (name) => boardOf(client, String(name)),
    onstate: (listener) => client.onstate(callback(listener, 'onstate')),
    onerror: (listener) => client.onerror(callback(listener, 'onerror')),
    close: () => client.close(),
    get state() {
      return client.state;
    },
  });
}
