/**
 * The overlay for streams: the best rows over whatever lies below, and rank-ups under them.
 *
 * Joins the address (`options.js`), the client, the rows (`panel.js`) and the strip (`banner.js`). The client
 * reconnects by itself; the last picture stays, and a dot tells the streamer, not the audience, that it may lag.
 */

import { connect } from "../rankcast.js";
import { Banner } from "./banner.js";
import { read } from "./options.js";
import { Panel } from "./panel.js";
import { speak } from "./words.js";

const QUIET_MS = 5000; // a line that comes back sooner is not worth a dot
const RETRY_MS = 3000;
const RANKUPS_TO = 100; // the protocol tells of rises into the best 100

const options = read(new URLSearchParams(location.search));
const { words, direction, number } = speak(options.lang);
const overlay = document.getElementById("overlay");
const message = document.getElementById("message");

document.getElementById("unsupported").remove();
document.documentElement.lang = options.lang;
overlay.dir = direction;
overlay.dataset.theme = options.theme;
overlay.style.setProperty("--scale", String(options.scale));
overlay.classList.toggle("quiet", !options.rankups);
if (options.title) {
  const title = document.getElementById("title");
  title.textContent = options.title;
  title.hidden = false;
}

const panel = new Panel(document.getElementById("rows"), document.getElementById("row"), options, number);
const banner = new Banner(document.getElementById("banner"), words, number, (player) => panel.nameOf(player));
const client = connect();

function say(text) {
  message.textContent = text;
  message.hidden = !text;
}

function onview(view) {
  say(view.total === 0 ? words.waiting : "");
  overlay.classList.toggle("lagging", view.stale !== null);
  panel.setTop(view);
  banner.refresh();
}

/** The board of the address, or the first one there is. */
async function chosenBoard() {
  for (;;) {
    try {
      const { seasons } = await (await fetch("/seasons")).json();
      if (seasons.length) return seasons[0].board;
    } catch {
      // the server is away; it will be asked again
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

let dotTimer = 0;
client.onstate((state) => {
  clearTimeout(dotTimer);
  if (state.name === "live") overlay.classList.remove("away");
  else dotTimer = setTimeout(() => overlay.classList.add("away"), QUIET_MS);
});
client.onerror((refusal) => {
  if (refusal.view === "top") say(refusal.code === "unknown_board" ? `${words.unknown} ${refusal.board}` : refusal.reason);
});
addEventListener("resize", () => panel.top && panel.draw());

const board = client.board(options.board ?? (await chosenBoard()));
// With rank-ups the view goes as far down as they do: their names come with it.
board.top({ limit: options.rankups ? Math.max(options.limit, RANKUPS_TO) : options.limit }, onview);
const onrankup = options.rankups ? (event) => banner.add(event) : () => {};
if (options.player) board.around(options.player, { radius: 0, onrankup }, (view) => panel.setOwn(view.own));
if (options.rankups) board.rankups((event) => event.player !== options.player && banner.add(event));
