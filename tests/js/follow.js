// Follows a board and prints a line of JSON for everything that the client hands over: `node follow.js URL BOARD PLAYER`.
//
// For tests against a real server; ends when its standard input does. Node 20 has no WebSocket of its own, so that
// of the package `ws` is given; with TRANSPORT=none there is no WebSocket at all. TOKEN is the viewer's, if needed.

import { WebSocket as WsSocket } from "ws";

import { connect } from "../../static/rankcast.js";

const [url, name, player] = process.argv.slice(2);
const barred = process.env.TRANSPORT === "none";
if (barred) delete globalThis.WebSocket;
const say = (kind, value) => process.stdout.write(`${JSON.stringify({ kind, ...value })}\n`);

const token = process.env.TOKEN;
const client = connect(url, barred ? { token } : { token, WebSocket: WsSocket });
const board = client.board(name);
client.onstate((state) => say("state", state));
client.onerror((refusal) => say("refusal", refusal));
board.top({ limit: 100 }, (view) => say("top", view));
board.around(player, { radius: 2, onrankup: (event) => say("own", event) }, (view) => say("around", view));
board.rankups((event) => say("rankup", event));

process.stdin.on("end", () => client.close()).resume();
