/**
 * The overlay for streams: the best rows over whatever lies below, and rank-ups under them.
 *
 * Joins the address (`options.js`), the client, the rows (`panel.js`) and the strip (`banner.js`). Nobody sits in
 * front of it: the client reconnects by itself, the last picture stays, a dot tells the streamer, not the audience,
 * that it may lag, and what only asking again can help is asked for again.
 */

import { connect } from "../rankcast.js";
import { Banner } from "./banner.js";
import { read } from "./options.js";
import { Panel } from "./panel.js";
import { speak } from "./words.js";

const QUIET_MS = 5000; // a line that comes back sooner is not worth a dot
const RETRY_MS = 5000; // without any season there is no board to ask for
const ASK_AGAIN_MS = 15_000; // a board that is not there may be made meanwhile; by then the client has let its line go
const RELOAD_MS = 60_000; // a server that wants no more of this page may have a newer one by then
const RANKUPS_TO = 100; // the protocol tells of rises into the best 100

const options = read(new URLSearchParams(location.search));
const { words, direction, number } = speak(options.lang);
const overlay = document.getElementById("overlay");
const title = document.getElementById("title");
const message = document.getElementById("message");

document.getElementById("unsupported").remove();
document.documentElement.lang = options.lang;
overlay.dir = direction;
overlay.dataset.theme = options.theme;
overlay.style.setProperty("--scale", String(options.scale));
overlay.classList.toggle("quiet", !options.rankups);
overlay.classList.toggle("titled", options.title !== "");
title.textContent = options.title;
title.hidden = !options.title;

const panel = new Panel(document.getElementById("rows"), document.getElementById("row"), options, number);
const banner = new Banner(document.getElementById("banner"), words, number, (player) => panel.nameOf(player));
const client = connect();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function say(text) {
  message.textContent = text;
  message.hidden = !text;
}

/** The board of the address, or the first one there is. */
async function chosenBoard() {
  if (options.board) return options.board;
  for (;;) {
    try {
      const { seasons } = await (await fetch("/seasons")).json();
      if (seasons.length) return seasons[0].board;
      say(words.waiting);
    } catch {
      // the server is away; it will be asked again
    }
    await pause(RETRY_MS);
  }
}

function onview(view) {
  say(view.total === 0 ? words.waiting : "");
  overlay.classList.toggle("lagging", view.stale !== null);
  panel.setTop(view);
  overlay.dataset.position = `${view.epoch}-${view.version}`; // as REST's ETag has it
  banner.refresh();
}

let askTimer = 0;

/** The rows are refused: say why, and ask again, since nobody else will. */
function onrefused(board, stop, { code, reason, retry }) {
  say(code === "unknown_board" ? `${words.unknown} ${board.name}` : reason);
  if (retry) return; // the client does it by itself
  clearTimeout(askTimer);
  askTimer = setTimeout(() => {
    stop();
    follow(board);
  }, ASK_AGAIN_MS);
}

function follow(board) {
  // With rank-ups the view goes as far down as they do: their names come with it.
  const limit = options.rankups ? Math.max(options.limit, RANKUPS_TO) : options.limit;
  const stops = [];
  const stop = () => stops.forEach((one) => one());
  stops.push(board.top({ limit, onerror: (refusal) => onrefused(board, stop, refusal) }, onview));
  const tell = (event) => banner.add(event);
  if (options.player) {
    const around = { radius: 0, onrankup: options.rankups ? tell : undefined };
    stops.push(board.around(options.player, around, (view) => panel.setOwn(view)));
  }
  if (options.rankups) stops.push(board.rankups((event) => event.player !== options.player && tell(event)));
}

/** The client has given up for good: load the page anew, once the server has one. */
async function startAgain(reason) {
  say(reason);
  for (;;) {
    await pause(RELOAD_MS);
    const answer = await fetch(location.href, { cache: "no-store" }).catch(() => null);
    if (answer?.ok) return location.reload();
  }
}

let dotTimer = 0;
client.onstate(({ name, reason }) => {
  if (name === "closed") startAgain(reason);
  if (name === "live") {
    clearTimeout(dotTimer);
    dotTimer = 0;
    overlay.classList.remove("away");
  } else {
    dotTimer ||= setTimeout(() => overlay.classList.add("away"), QUIET_MS);
  }
});
addEventListener("resize", () => panel.resize());
follow(client.board(await chosenBoard()));
