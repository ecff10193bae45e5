/**
 * The live board's page: joins the client's views with the parts that draw them.
 *
 * Owns: which board and which player are followed. Knows no protocol (rankcast.js) and draws nothing (board/).
 */

import { connect } from "./rankcast.js";
import { Announcer } from "./board/announce.js";
import { Around } from "./board/around.js";
import { seasonSwitch } from "./board/chooser.js";
import { Demo, demoState } from "./board/demo.js";
import { setHidden, setText } from "./board/dom.js";
import { Facts } from "./board/facts.js";
import { Feed, newsOf, newsOfRankUp } from "./board/feed.js";
import { find } from "./board/find.js";
import { Flags } from "./board/flags.js";
import { History } from "./board/history.js";
import { Names } from "./board/names.js";
import { Notice } from "./board/notice.js";
import { recall, remember } from "./board/own.js";
import {
  aroundParts,
  button,
  demoParts,
  factsParts,
  noticeParts,
  part,
  pinParts,
  searchParts,
} from "./board/parts.js";
import { Pin } from "./board/pin.js";
import { follow } from "./board/pulse.js";
import { Search } from "./board/search.js";
import { allSeasons, asked, keepInAddress, lengthText } from "./board/season.js";
import { standing } from "./board/standing.js";
import { Table, positionOf } from "./board/table.js";
import { themeSwitch } from "./board/theme.js";

/** @import { AroundView, Refusal, Stop, TopView } from './rankcast.js' */
/** @import { State as DemoState } from './board/demo.js' */
/** @import { Season } from './board/season.js' */

const LIMIT = 100;
const LOOK_MS = 1_000; // what tells of time is told anew so often
const RETRY_MS = 2_000;
const AGAIN_MS = 5_000;

class Page {
  #season;
  #seasons;
  #board;
  #client = connect();
  #flags = new Flags();
  #history = new History();
  #names = new Names();
  /** @type {TopView | null} */
  #top = null;
  /** @type {AroundView | null} */
  #around = null;
  /** @type {Refusal | null} */
  #refusal = null;
  #again = 0;
  #panelInSight = false;
  /** @type {string | null} */
  #player = null;
  /** @type {Demo | null} */
  #demo = null;
  /** @type {Stop} */
  #leave = () => {};
  #facts = new Facts(factsParts());
  #notice;
  #announcer = new Announcer(part("announcer"));
  #table;
  #panel;
  #feed;
  #pin;

  /** @param {string} board @param {Season | null} season @param {Season[]} seasons @param {Notice} notice */
  constructor(board, season, seasons, notice) {
    this.#notice = notice;
    this.#season = season;
    this.#seasons = seasons;
    this.#board = this.#client.board(board);
    const flagOf = this.#flags.of;
    const onchoose = (/** @type {string} */ player) =>
      this.choose(player === this.#player ? null : player, null);
    this.#table = new Table(part("rows"), { flagOf, onchoose });
    this.#feed = new Feed(part("feed"), { flagOf, onchoose: (player) => this.choose(player, null) });
    this.#panel = new Around(aroundParts(), { flagOf, onchoose: (player) => this.choose(player, null) });
    this.#pin = new Pin(pinParts(), {
      onshow: () => this.#reveal(),
      onleave: () => this.choose(null, null),
    });
    button("leave").addEventListener("click", () => this.choose(null, null));
    new Search(searchParts(), {
      flagOf,
      find: (query, signal) => find(query, season, signal),
      onchoose: (player, name) => this.choose(player, name),
    });
  }

  /** Follows the board from now on. */
  start() {
    this.#client.onstate(() => this.#showState());
    const onerror = (/** @type {Refusal} */ refusal) => this.#refused(refusal);
    this.#board.top({ limit: LIMIT, onerror }, (view) => this.#showTop(view));
    this.#board.rankups((event) => {
      this.#feed.add([newsOfRankUp({ ...event, name: event.name ?? this.#names.of(event.player) })]);
    });
    if (this.#season) follow(this.#season.id, (pulse) => this.#facts.pulse(pulse));
    addEventListener("scroll", () => this.#showPin(), { passive: true });
    const observer = new IntersectionObserver((seen) => {
      this.#panelInSight = seen[seen.length - 1].isIntersecting;
      this.#showPin();
    });
    observer.observe(part("around"));
    setInterval(() => this.#look(), LOOK_MS);
  }

  /** @param {DemoState} state */
  async playDemo(state) {
    this.#demo = new Demo(demoParts(), state, this.#flags.of);
    if (!(await this.#flags.load())) return;
    part("page").classList.add("with-flags");
    this.#table.refreshFlags();
    this.#panel.refreshFlags();
  }

  /**
   * Follows another player, or nobody.
   * @param {string | null} player @param {string | null} name where it is known already
   */
  choose(player, name) {
    this.#leave();
    this.#player = player;
    this.#around = null;
    remember(this.#board.name, player);
    keepInAddress(player);
    this.#table.choose(player);
    this.#announcer.take(null);
    const known = name ?? this.#names.of(player ?? "");
    const radius = matchMedia("(max-width: 60rem)").matches ? 2 : 5;
    this.#panel.open(player, known, this.#flags.of(player ?? ""), 2 * radius + 1);
    setHidden(part("invitation"), player !== null);
    this.#showPin();
    if (player === null) return;
    this.#showTrend();
    this.#leave = this.#board.around(player, { radius }, (view) => this.#showAround(view));
  }

  // -- what comes

  /** @param {TopView} view */
  #showTop(view) {
    const before = this.#top;
    const other = before !== null && view.epoch !== before.epoch;
    if (other && view.total < before.total) {
      this.#history.clear(); // it begins anew
      this.#feed.clear();
    }
    this.#top = view;
    this.#refusal = null;
    this.#table.show(view.rows, view.changes.first || other, positionOf(view));
    this.#history.noteAll(view.rows, Date.now());
    this.#names.learn(view.rows);
    this.#feed.name(this.#names.of);
    this.#facts.view(view);
    this.#demo?.seen(view.rows);
    this.#feed.add(other ? [] : newsOf(view));
    this.#showState();
    this.#showPin();
  }

  /** @param {AroundView} view */
  #showAround(view) {
    this.#around = view;
    this.#names.learn(view.rows);
    if (view.own) this.#history.note(view.player, view.own.rank, Date.now());
    this.#panel.show(view, this.#flags.of(view.player));
    this.#announcer.take(view);
    this.#showTrend();
    this.#showPin();
  }

  /** @param {Refusal} refusal */
  #refused(refusal) {
    this.#refusal = refusal;
    this.#showState();
    clearTimeout(this.#again);
    if (this.#season === null) this.#again = window.setTimeout(() => this.#lookForSeason(refusal), AGAIN_MS);
  }

  /**
   * A board that was not there may be made: then this page shows it.
   * @param {Refusal} refusal
   */
  async #lookForSeason(refusal) {
    const found = await allSeasons().catch(() => null);
    if (found && asked(location.search, found.seasons).season) location.reload();
    else this.#refused(refusal);
  }

  // -- what is shown

  #look() {
    this.#showState();
    this.#showTrend();
  }

  #showState() {
    const facts = {
      state: this.#client.state,
      view: this.#top,
      refusal: this.#refusal,
      season: this.#season,
    };
    const now = standing({ ...facts, now: Date.now() });
    this.#facts.standing(now);
    this.#notice.show(now, (this.#top?.rows.length ?? 0) > 0, this.#seasons);
  }

  #showTrend() {
    if (this.#player !== null) this.#panel.trend(this.#history.of(this.#player), Date.now());
  }

  #showPin() {
    const needed = this.#player !== null && !this.#panelInSight && !this.#table.isInSight(this.#player);
    this.#pin.show(this.#around, needed, this.#flags.of(this.#player ?? ""));
  }

  #reveal() {
    if (this.#player === null) return;
    if (this.#top?.rows.some((row) => row.player === this.#player)) this.#table.reveal(this.#player);
    else part("around").scrollIntoView({ block: "start" });
  }
}

/**
 * Reads the seasons, again and again while the server does not answer or has none.
 * @param {Notice} notice
 */
async function patientSeasons(notice) {
  for (;;) {
    try {
      const found = await allSeasons();
      if (found.seasons.length) return found;
      notice.fail("There is no season yet", "This page shows the first one as soon as it is created.");
    } catch {
      notice.fail("Connecting", "The server does not answer yet. This page goes on by itself.");
    }
    reveal();
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Shows the page: before that it would only be seen to fall into place. */
function reveal() {
  part("page").classList.add("ready");
}

async function start() {
  themeSwitch(button("theme"));
  const notice = new Notice(noticeParts());
  const { seasons, demo: demoBoard } = await patientSeasons(notice);
  const { board, season, player } = asked(location.search, seasons);
  setText(part("season"), season?.name ?? board);
  setText(part("dates"), season ? lengthText(season) : "");
  document.title = `${season?.name ?? board} · Rankcast`;
  seasonSwitch(seasons, board);
  const page = new Page(board, season, seasons, notice);
  const demo = board === demoBoard ? await demoState() : null;
  setHidden(part("about"), demo === null);
  setHidden(part("dates"), demo !== null || season === null);
  part("page").classList.toggle("with-demo", demo !== null);
  if (demo) void page.playDemo(demo);
  reveal();
  page.start();
  const own = player ?? recall(board);
  if (own !== null) page.choose(own, null);
}

start().catch((error) => {
  reveal();
  new Notice(noticeParts()).fail(
    "The board cannot be shown",
    error instanceof Error ? error.message : String(error),
  );
});
