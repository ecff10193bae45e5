// The live board's rules that need no page: orders, marks, ranks over time, news, and what state the page is in.

import assert from "node:assert/strict";
import { test } from "node:test";

import { inWords } from "../../static/board/announce.js";
import { outline } from "../../static/board/chart.js";
import { between } from "../../static/board/demo.js";
import { newsOf, newsOfRankUp } from "../../static/board/feed.js";
import { counted, dayText, momentText, ordinal, rate, span } from "../../static/board/format.js";
import { History, KEPT_MS } from "../../static/board/history.js";
import { Marks, SHOWN_MS } from "../../static/board/marks.js";
import { Names } from "../../static/board/names.js";
import { staying } from "../../static/board/order.js";
import { asked } from "../../static/board/season.js";
import { standing } from "../../static/board/standing.js";

// -- orders

/** Numbers from a seed, the same in every run. */
function dice(seed) {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state % below;
  };
}

function shuffled(count, roll) {
  const order = Array.from({ length: count }, (_, at) => at);
  for (let at = count - 1; at > 0; at--) {
    const other = roll(at + 1);
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
}

test("rows that stay keep their order, and no more could stay", () => {
  const roll = dice(7);
  for (let round = 0; round < 200; round++) {
    const before = shuffled(1 + roll(9), roll).map((old) => (roll(5) === 0 ? -1 : old));
    const stays = staying(before);
    const kept = before.filter((_, place) => stays[place]);
    assert.deepEqual(
      kept,
      [...kept].sort((one, other) => one - other),
    );
    assert.ok(!kept.includes(-1));
    assert.equal(kept.length, longest(before));
  }
});

/** The longest rising run, by looking at all of them. */
function longest(before) {
  let best = 0;
  for (let chosen = 0; chosen < 2 ** before.length; chosen++) {
    const run = before.filter((old, place) => old >= 0 && (chosen >> place) & 1);
    if (run.every((old, place) => place === 0 || run[place - 1] < old)) best = Math.max(best, run.length);
  }
  return best;
}

test("nothing stays of an empty table", () => assert.deepEqual(staying([]), []));

// -- marks

test("places are added up for as long as a move is shown", () => {
  const marks = new Marks();
  marks.moved("1", 3, 0);
  marks.moved("1", -1, 1_000);
  assert.equal(marks.at(SHOWN_MS).get("1"), 2);
  assert.equal(marks.at(SHOWN_MS + 1).get("1"), -1);
  assert.equal(marks.at(SHOWN_MS + 1_001).has("1"), false);
});

test("who goes up and down again has no mark", () => {
  const marks = new Marks();
  marks.moved("1", 3, 0);
  marks.moved("1", -3, 1);
  assert.equal(marks.at(2).has("1"), false);
});

test("who comes in is new for as long, whatever happens next", () => {
  const marks = new Marks();
  marks.entered("1", 0);
  marks.moved("1", 5, 1);
  assert.equal(marks.at(SHOWN_MS).get("1"), null);
  assert.equal(marks.at(SHOWN_MS + 1).get("1"), 5);
});

// -- ranks over time

test("ranks are kept once a second, for some minutes", () => {
  const history = new History();
  for (let second = 0; second <= 400; second++) {
    history.noteAll([{ player: "1", rank: second }], second * 1_000);
    history.noteAll([{ player: "1", rank: 999 }], second * 1_000 + 500); // sooner than a second: of no use
  }
  const samples = history.of("1");
  assert.equal(samples.length, KEPT_MS / 1_000 + 1);
  assert.equal(samples[0].at, 400_000 - KEPT_MS);
  assert.equal(samples[samples.length - 1].rank, 400);
});

test("a player who has not been seen for long is forgotten", () => {
  const history = new History();
  history.noteAll([{ player: "1", rank: 1 }], 0);
  history.noteAll([{ player: "2", rank: 1 }], KEPT_MS + 1_001);
  assert.deepEqual(history.of("1"), []);
});

test("the better the rank, the higher the line, and the newest is at the right", () => {
  const samples = [9, 1, 5].map((rank, at) => ({ at: at * 1_000, rank }));
  const { best, worst, points } = outline(samples, 2_000, 40, 292);
  assert.deepEqual([best, worst], [1, 9]);
  assert.ok(points[1].y < points[2].y && points[2].y < points[0].y);
  assert.ok(points[0].x < points[1].x && points[1].x < points[2].x);
  assert.ok(points[2].x <= 300);
});

// -- news

const row = (player, rank, name = null) => ({ player, rank, name, points: 10, achievedAt: 0 });
const view = (rows, moved = [], more = {}) => ({
  board: "s1",
  epoch: "e",
  version: 1,
  total: rows.length,
  rows,
  changes: { first: false, entered: [], left: [], moved },
  stale: null,
  season: null,
  ...more,
});
const texts = (news) => news.map(({ name, text }) => `${name} ${text}`);

test("a new leader, a rise into the best ten and a climb are news; a step below is none", () => {
  const rows = Array.from({ length: 40 }, (_, at) => row(String(at + 1), at + 1, `P${at + 1}`));
  const moved = [
    { player: "1", places: 2 },
    { player: "2", places: -1 },
    { player: "10", places: 1 },
    { player: "20", places: 3 },
    { player: "30", places: 9 },
  ];
  assert.deepEqual(texts(newsOf(view(rows, moved))), [
    "P1 takes the lead",
    "P10 passes P11: 10th",
    "P30 climbs 9 places to 30th",
  ]);
});

test("a rank-up tells where from", () => {
  const event = { player: "7", name: "Ada", before: 131, after: 97 };
  assert.deepEqual(texts([newsOfRankUp(event), newsOfRankUp({ ...event, name: null, before: null })]), [
    "Ada comes in at 97th from 131st",
    "null is new at 97th",
  ]);
});

// -- words

test("numbers are read as people write them", () => {
  assert.deepEqual([1, 2, 3, 4, 11, 12, 13, 21, 102, 10_000_000].map(ordinal), [
    ..."1st 2nd 3rd 4th 11th 12th 13th 21st 102nd".split(" "),
    "10,000,000th",
  ]);
  assert.deepEqual([0, 0.4, 9.96, 10, 1843.2].map(rate), ["0", "0.4", "10.0", "10", "1,843"]);
  assert.deepEqual([400, 59_400, 60_000, 3_600_000, 172_800_000].map(span), [
    "0 s",
    "59 s",
    "1 min",
    "1 h",
    "2 days",
  ]);
  assert.equal(counted(1, "place", "places"), "1 place");
});

test("a moment is a day where the season counts in days, before 1970 too", () => {
  assert.equal(momentText(Date.parse("1872-11-30")), "30 Nov 1872");
  const evening = new Date(2026, 9, 12, 18, 3, 11).getTime();
  assert.equal(momentText(evening, Date.parse("2027-06-01")), "12 Oct 2026, 18:03:11");
  assert.equal(momentText(evening, Date.parse("2026-12-01")), "12 Oct, 18:03:11");
  assert.equal(dayText("1969-07-05"), "5 Jul 1969");
});

test("the player in words, with the places since the last time", () => {
  const own = row("7", 3, "Ada");
  assert.equal(
    inWords({ own, player: "7", total: 120 }, 5),
    "Ada is 3rd of 120 with 10 points, up 2 places.",
  );
  assert.equal(
    inWords({ own: { ...own, points: 1 }, player: "7", total: 1 }, null),
    "Ada is 3rd of 1 with 1 point.",
  );
  assert.equal(inWords({ own: null, player: "7", total: 0 }, null), "Player 7 is not ranked.");
});

test("names are known of whoever was seen, the last hundreds of them", () => {
  const names = new Names();
  names.learn([row("1", 1, "Ada"), row("2", 2)]);
  names.learn(Array.from({ length: 2_000 }, (_, at) => row(`x${at}`, at, "n")));
  assert.deepEqual([names.of("1"), names.of("2"), names.of("x1999")], [null, null, "n"]);
});

test("the demo's clock runs forward and jumps back", () => {
  assert.deepEqual([between(0, 100, 0), between(0, 100, 0.5), between(0, 100, 3)], [0, 50, 100]);
  assert.equal(between(100, 0, 0.1), 0);
});

// -- which board

const SEASONS = [
  { id: 1, board: "s1", name: "One", startsAt: 0, endsAt: 1_000 },
  { id: 12, board: "s12", name: "Twelve", startsAt: 0, endsAt: 1_000 },
];

test("the address names board and player; without one it is the first season's", () => {
  assert.deepEqual(asked("", SEASONS), { board: "s1", season: SEASONS[0], player: null });
  assert.deepEqual(asked("?board=s12&player=-9223372036854775808", SEASONS), {
    board: "s12",
    season: SEASONS[1],
    player: "-9223372036854775808",
  });
  assert.equal(asked("?board=s12:d:today", SEASONS).season, SEASONS[1]);
  assert.deepEqual(asked("?board=s2&player=007", SEASONS), { board: "s2", season: null, player: null });
});

// -- the page's state

const LIVE = { name: "live", reason: "", since: 0, code: null, retryAt: null, transport: "websocket" };
const state = (name, reason, more = {}) => ({ ...LIVE, name, reason, ...more });
const stands = (facts) =>
  standing({ state: LIVE, view: view([row("1", 1)]), refusal: null, season: null, now: 500, ...facts });

test("a board that is live is live", () => assert.deepEqual(stands({}).kind, "live"));

test("before the first rows it connects, and says why it takes long", () => {
  assert.deepEqual(stands({ view: null, state: state("connecting", "") }).text, "");
  const { kind, text } = stands({ view: null, state: state("connecting", "lost", { retryAt: 3_400 }) });
  assert.equal(kind, "connecting");
  assert.match(text, /does not answer \(lost\)\. Next try in 3 s/);
});

test("an unknown board is told from one that is refused", () => {
  const refusal = { board: "s9", view: "top", code: "unknown_board", reason: "no season 9", retry: false };
  assert.deepEqual(stands({ view: null, refusal }).kind, "unknown");
  assert.deepEqual(stands({ view: null, refusal: { ...refusal, code: "limit_too_big" } }).kind, "refused");
});

test("a server that is away leaves the last picture, since when is told", () => {
  const away = stands({ state: state("stale", "lost", { since: 1_000, retryAt: 8_000 }), now: 6_000 });
  assert.equal(away.kind, "away");
  assert.equal(away.word, "away 5 s");
  assert.match(away.text, /goes on by itself\. Next try in 2 s/);
});

test("a blink of the line, and a client that catches up, are not worth a word", () => {
  assert.equal(stands({ state: state("stale", "lost", { since: 0 }), now: 1_000 }).kind, "live");
  assert.equal(stands({ state: state("stale", "catching up", { since: 0 }), now: 60_000 }).kind, "live");
});

test("a picture that the server calls stale tells since when and why", () => {
  const told = view([row("1", 1)], [], { stale: { reason: "unreachable", since: 1_000 } });
  const { kind, word, text } = stands({ view: told, state: state("stale", "unreachable"), now: 31_000 });
  assert.deepEqual([kind, word], ["stale", "stale 30 s"]);
  assert.match(text, /30 s old: the server cannot reach its board store/);
});

test("a board that is being made is no stale picture", () => {
  const made = view([], [], { epoch: null, stale: { reason: "building", since: 0 } });
  assert.equal(stands({ view: made, state: state("stale", "building"), now: 5_000 }).kind, "connecting");
});

test("seasons that have not begun, have ended or are empty say so", () => {
  const season = { id: 1, board: "s1", name: "One", startsAt: 100, endsAt: 1_000 };
  assert.equal(stands({ season, now: 50 }).kind, "upcoming");
  assert.equal(stands({ season, now: 500 }).kind, "live");
  assert.equal(stands({ season, now: 1_000 }).kind, "ended");
  assert.equal(stands({ view: view([], [], { season: "closed" }) }).kind, "ended");
  assert.equal(stands({ view: view([]) }).kind, "empty");
});

test("a connection that has ended for good says what would help", () => {
  assert.match(stands({ state: state("closed", "bad token") }).text, /without a token/);
  assert.match(stands({ state: state("closed", "connection limit") }).text, /Load the page again/);
});
