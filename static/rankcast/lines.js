// A line of either kind: a WebSocket, or server-sent events.
//
// Owns: which class stands for which way; where there is no WebSocket at all, it is events.
// Neighbours: socket.js and sse.js are the lines; link.js holds one at a time.

import { SocketLine } from "./socket.js";
import { EventLine } from "./sse.js";

/** @import { Line, LineHandlers, LinkOptions } from './types.js' */

/**
 * Opens a line to the server.
 * @param {LinkOptions} options @param {boolean} events whether by server-sent events
 * @param {() => number} now @param {LineHandlers} on @returns {Line}
 */
export function lineTo({ base, WebSocket, fetch }, events, now, on) {
  if (events || !WebSocket) return new EventLine(base.http, fetch, now, on);
  return new SocketLine(`${base.ws}/ws`, WebSocket, now, on);
}
