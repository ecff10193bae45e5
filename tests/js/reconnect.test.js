// Lost lines, refused lines, lost frames: the client comes back to the board's state, exactly, and politely.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Backoff, CODES, isFinal } from "../../static/rankcast/backoff.js";
import { Chance, EPOCH, FakeBoard, serve, someRows, world } from "./harness.js";

const TOPIC = "s12/top/5";
const points = (view) => view.rows.map((row) => row.points);

/** A client that shows a top 5 and rank-ups, connected. */
async function connected(board = new FakeBoard(someRows(5))) {
  const w = world();
  const seen = { views: [], rankups: [] };
  w.client.board("s12").top({ limit: 5 }, (view) => seen.views.push(view));
  w.client.board("s12").rankups((event) => seen.rankups.push(event));
  await w.platform.advance(1);
  await accept(w, board);
  return { w, board, seen };
}

async function accept(w, board, options) {
  serve(w.socket, board, options);
  w.socket.open();
  await w.platform.advance(1);
}

/** The line is lost with `code`; the next socket is made within `within` ms. */
async function lose(w, code = 1006, within = 60_000) {
  const before = w.sockets.length;
  const from = w.platform.time;
  w.socket.end(code);
  while (w.sockets.length === before && w.platform.time - from < within) await w.platform.advance(100);
  return w.platform.time - from;
}

const rankup = (version, player, after = 1) => ({
  type: "rankup",
  topic: "s12/rankups",
  epoch: EPOCH,
  version,
  player,
  points: 9,
  before: 200,
  after,
});

test("a lost line is resumed from where the client is, and an empty diff shows nothing anew", async () => {
  const { w, board, seen } = await connected();
  w.socket.push(board.move(TOPIC, someRows(5, 900)));
  await w.platform.advance(1);
  await lose(w);
  assert.deepEqual([w.client.state.name, w.client.state.reason], ["stale", "lost"]);
  await accept(w, board);
  assert.deepEqual(w.socket.commands("subscribe")[0].have, { epoch: EPOCH, version: 2 });
  assert.deepEqual([seen.views.length, w.client.state.name], [2, "live"]);
});

test("G2: a snapshot in place of a resumption is no news where nothing was missed", async () => {
  const { w, board, seen } = await connected();
  await lose(w);
  await accept(w, board, { resumes: false });
  assert.deepEqual([seen.views.length, w.client.state.name], [1, "live"]);
});

test("G2: a line that dropped before the first frame starts over with nothing", async () => {
  const w = world();
  const views = [];
  w.client.board("s12").top({ limit: 5 }, (view) => views.push(view));
  await w.platform.advance(1);
  w.socket.open();
  await w.platform.advance(1);
  await lose(w);
  assert.equal(w.client.state.name, "connecting");
  await accept(w, new FakeBoard(someRows(5)));
  assert.equal(w.socket.commands("subscribe")[0].have, undefined);
  assert.equal(views.length, 1);
});

test("what was missed is told as one change", async () => {
  const { w, board, seen } = await connected();
  await lose(w);
  board.move(TOPIC, [["9", 2000, 0], ...board.rows.slice(0, 4)]);
  await accept(w, board);
  const { entered, left, moved, first } = seen.views[1].changes;
  assert.equal(first, false);
  assert.deepEqual(
    [entered, left].map((rows) => rows.map(({ player }) => player)),
    [["9"], ["5"]],
  );
  assert.deepEqual(
    moved,
    ["1", "2", "3", "4"].map((player) => ({ player, places: -1 })),
  );
});

test("E3: after five lost lines there is one of everything", async () => {
  const { w, board, seen } = await connected();
  const timers = w.platform.timers;
  for (let time = 0; time < 5; time++) {
    await lose(w);
    await accept(w, board);
  }
  w.socket.push(rankup(7, "3"));
  await w.platform.advance(1);
  assert.deepEqual(
    seen.rankups.map(({ player }) => player),
    ["3"],
  );
  assert.equal(w.socket.subscribed, 2);
  assert.deepEqual([...w.socket.held.keys()], [TOPIC, "s12/rankups"]);
  assert.equal(w.sockets.filter(({ readyState }) => readyState === 1).length, 1);
  assert.equal(w.platform.timers, timers);
  assert.equal(w.platform.wakers, 1);
});

test("E7: a diff that comes before the first snapshot is not shown, and a snapshot is asked for", async () => {
  const w = world();
  const views = [];
  const board = new FakeBoard(someRows(5));
  w.client.board("s12").top({ limit: 5 }, (view) => views.push(view));
  await w.platform.advance(1);
  const early = ({ id }) => {
    w.socket.push({ type: "ok", id, topic: TOPIC, resumed: false });
    w.socket.push(board.move(TOPIC, someRows(5, 700)));
    serve(w.socket, board);
    w.socket.held.set(TOPIC, "top");
  };
  w.socket.oncommand = early;
  w.socket.open();
  await w.platform.advance(1);
  assert.deepEqual(
    w.socket.sent.map(({ op }) => op),
    ["subscribe", "unsubscribe", "subscribe"],
  );
  assert.deepEqual(views.map(points), [someRows(5, 700).map((row) => row[1])]);
});

for (const [what, spoil] of [
  ["whose checksum does not hold", (diff) => ({ ...diff, crc: diff.crc ^ 1 })],
  ["that does not follow", (diff) => ({ ...diff, from: diff.from + 1, to: diff.to + 1 })],
  ["of another epoch", (diff) => ({ ...diff, epoch: "ffffffffffffffff" })],
  ["that lacks its rows (D11)", ({ set, ...diff }) => diff],
  ["that names a rank that is not there", (diff) => ({ ...diff, set: [["77", 1, 1, 99]] })],
]) {
  test(`a diff ${what} brings a snapshot, and nothing wrong is shown`, async () => {
    const { w, board, seen } = await connected();
    w.socket.push(spoil(board.move(TOPIC, someRows(5, 900))));
    await w.platform.advance(1);
    assert.deepEqual(
      w.socket.sent.slice(-2).map(({ op, have }) => [op, have]),
      [
        ["unsubscribe", undefined],
        ["subscribe", undefined],
      ],
    );
    assert.deepEqual(
      seen.views.map((view) => view.rows[0].points),
      [1000, 900],
    );
    const told = w.states.slice(-2).map(({ name, reason }) => [name, reason]);
    assert.deepEqual(told, [
      ["stale", "catching up"],
      ["live", ""],
    ]);
  });
}

test("D11: a frame that is no JSON is survived, and what it may have said is asked for", async () => {
  const { w, board, seen } = await connected();
  board.move(TOPIC, someRows(5, 900));
  for (const text of ['{"type":"diff","x":NaN}', "null", "[1", "7"]) w.socket.pushText(text);
  await w.platform.advance(30_000);
  assert.deepEqual(
    seen.views.map((view) => view.rows[0].points),
    [1000, 900],
  );
  assert.equal(w.client.state.name, "live");
});

test("a fault that stays is no storm of snapshots", async () => {
  const { w, board } = await connected();
  const subscribed = w.socket.subscribed;
  for (let tick = 0; tick < 600; tick++) {
    const diff = board.move(TOPIC, someRows(5, 900 + (tick % 9)));
    w.socket.push({ ...diff, crc: 1 });
    await w.platform.advance(100);
  }
  assert.ok(
    w.socket.subscribed - subscribed <= 8,
    `${w.socket.subscribed - subscribed} snapshots in a minute`,
  );
});

test("a fault while no command may be sent is mended as soon as one may", async () => {
  const { w, board, seen } = await connected();
  for (let limit = 20; limit < 40; limit++) w.client.board("s12").top({ limit }, () => {});
  await w.platform.advance(1);
  const sent = w.socket.sent.length;
  for (let tick = 0; tick < 50; tick++) {
    w.socket.push({ ...board.move(TOPIC, someRows(5, 900 + tick)), crc: 1 });
    await w.platform.advance(1);
  }
  assert.equal(w.socket.sent.length, sent);
  await w.platform.advance(2_000);
  assert.deepEqual([w.client.state.name, seen.views.at(-1).rows[0].points], ["live", 949]);
});

test("a heartbeat that names a newer version than was seen shows the gap", async () => {
  const { w, board, seen } = await connected();
  board.move(TOPIC, someRows(5, 900)); // the frame of this change was lost
  w.socket.push({ type: "heartbeat", at: 0, heads: { [TOPIC]: [EPOCH, 1], "s12/rankups": [EPOCH, 1] } });
  await w.platform.advance(1);
  assert.equal(seen.views.length, 1);
  w.socket.push({ type: "heartbeat", at: 0, heads: { [TOPIC]: [EPOCH, 2] } });
  await w.platform.advance(1);
  assert.deepEqual(
    seen.views.map((view) => view.version),
    [1, 2],
  );
});

test("a heartbeat that does not name a topic shows that the server does not hold it", async () => {
  const { w, seen, board } = await connected();
  w.socket.held.clear();
  board.move(TOPIC, someRows(5, 900));
  w.socket.push({ type: "heartbeat", at: 0, heads: {} });
  await w.platform.advance(1);
  assert.deepEqual([...w.socket.held.keys()], [TOPIC]);
  assert.equal(seen.views.length, 2);
});

test("G3: only numbered diffs move the cursor, whatever comes between them", async () => {
  const { w, board } = await connected();
  const notes = [
    { type: "heartbeat", at: 5, heads: { [TOPIC]: [EPOCH, 1] } },
    rankup(50, "9"),
    { type: "stale", board: "s12", reason: "redis", since: 1 },
    { type: "fresh", board: "s12" },
    { type: "season", topic: TOPIC, board: "s12", reason: "closed" },
    { type: "something of a later version", topic: TOPIC, epoch: EPOCH, version: 99, from: 1, to: 99 },
  ];
  for (const frame of notes) w.socket.push(frame);
  await lose(w);
  await accept(w, board);
  assert.deepEqual(w.socket.commands("subscribe")[0].have, { epoch: EPOCH, version: 1 });
});

test("G3: rank-ups and diffs that are told again after a reconnect are told once", async () => {
  const { w, board, seen } = await connected();
  const diffs = [900, 910, 920].map((from) => board.move(TOPIC, someRows(5, from)));
  const told = [rankup(2, "3"), rankup(3, "4"), rankup(3, "2")];
  for (const frame of [...diffs, ...told]) w.socket.push(frame);
  await w.platform.advance(1);
  for (let time = 0; time < 2; time++) {
    await lose(w);
    await accept(w, board);
    for (const frame of [...diffs, ...told]) w.socket.push(frame);
    await w.platform.advance(1);
  }
  w.socket.push(rankup(4, "3"));
  await w.platform.advance(1);
  assert.deepEqual(
    seen.rankups.map(({ version, player }) => `${version}/${player}`),
    ["2/3", "3/4", "3/2", "4/3"],
  );
  assert.equal(seen.views.length, 2);
  assert.equal(w.socket.subscribed, 2, "a repeated diff was taken for a gap");
});

test("a replaced board follows into its new epoch", async () => {
  const { w, board, seen } = await connected();
  board.epoch = "ffffffffffffffff";
  board.rows = someRows(3, 50);
  w.socket.push({ type: "season", topic: TOPIC, board: "s12", reason: "replaced" });
  w.socket.push(board.snapshot(TOPIC));
  await w.platform.advance(1);
  const { epoch, season, rows, changes } = seen.views[1];
  assert.deepEqual([epoch, season, rows.length], ["ffffffffffffffff", "replaced", 3]);
  assert.deepEqual(
    changes.left.map(({ player }) => player),
    ["4", "5"],
  );
});

test("a board that is still being made is followed without a place to go on from", async () => {
  const { w, board, seen } = await connected(Object.assign(new FakeBoard([]), { epoch: null, version: 0 }));
  assert.deepEqual([seen.views[0].epoch, seen.views[0].rows, w.client.state.name], [null, [], "live"]);
  w.socket.push({ type: "heartbeat", at: 0, heads: { [TOPIC]: [null, 0] } });
  await lose(w);
  await accept(w, board);
  assert.equal(w.socket.commands("subscribe")[0].have, undefined);
});

test("a stale board is shown as it was, with since when, until it is fresh", async () => {
  const { w, seen } = await connected();
  w.socket.push({ type: "stale", board: "s12", reason: "redis is away", since: 123 });
  await w.platform.advance(1);
  const { name, reason, since } = w.client.state;
  assert.deepEqual([name, reason, since], ["stale", "redis is away", 123]);
  assert.deepEqual(seen.views[1].stale, { reason: "redis is away", since: 123 });
  assert.equal(seen.views[1].rows, seen.views[0].rows);
  w.socket.push({ type: "fresh", board: "s12" });
  await w.platform.advance(1);
  assert.deepEqual([w.client.state.name, seen.views[2].stale], ["live", null]);
});

test("a bye is followed to the letter: not before retry_after, not after the jitter", async () => {
  for (const [chance, wait] of [
    [0, 2_000],
    [0.5, 5_000],
    [1, 8_000],
  ]) {
    const { w } = await connected();
    w.platform.chance = chance;
    w.socket.push({ type: "bye", code: 3001, retry_after_ms: 2_000, jitter_ms: 6_000 });
    await w.platform.turn();
    assert.deepEqual(
      [w.client.state.name, w.client.state.reason, w.socket.closedWith],
      ["stale", "shutdown", 1000],
    );
    assert.equal(w.client.state.retryAt, w.platform.time + wait);
    await w.platform.wake("online"); // not even then: the server said when
    await w.platform.advance(wait - 1);
    assert.equal(w.sockets.length, 1);
    await w.platform.advance(1);
    assert.equal(w.sockets.length, 2);
  }
});

test("final close codes end the client, all others bring it back", async () => {
  for (const code of [1000, 1001, 1006, 1011, 1012, 1013, 3000, 3001, 3008, 3012, 3013, 3499, 4000, 4499]) {
    const { w } = await connected();
    await lose(w, code);
    assert.deepEqual([code, w.sockets.length], [code, 2]);
  }
  for (const code of [3500, 3501, 3502, 3504, 3505, 3507, 3999, 4500, 4999]) {
    const { w } = await connected();
    w.socket.end(code, "because");
    await w.platform.advance(3_600_000);
    assert.deepEqual([code, w.sockets.length, w.platform.timers], [code, 1, 0]);
    const { name, code: told } = w.client.state;
    assert.deepEqual([name, told], ["closed", code]);
  }
});

test("a bye with a final code is final", async () => {
  const { w } = await connected();
  w.socket.push({ type: "bye", code: 3507, retry_after_ms: 0, jitter_ms: 0 });
  await w.platform.advance(60_000);
  assert.deepEqual(
    [w.client.state.name, w.client.state.reason, w.sockets.length],
    ["closed", "permission denied", 1],
  );
});

test("E2: 500 clients that lose their line at once come back spread out", () => {
  const chance = new Chance(7);
  const waits = Array.from({ length: 500 }, () => {
    const backoff = new Backoff(() => chance.below(1_000_000) / 1_000_000);
    backoff.ended(3_600_000);
    return backoff.delay(1006);
  });
  const busiest = Array.from(
    { length: 10 },
    (_, tenth) => waits.filter((wait) => Math.floor(wait / 100) === tenth).length,
  );
  assert.ok(Math.max(...busiest) < 80, `in tenths of a second: ${busiest}`);
  assert.ok(Math.max(...waits) <= 1_000);
});

test("E2: waits grow to a cap, and start longer where the server says that it is too much", () => {
  const backoff = new Backoff(() => 1);
  const waits = Array.from({ length: 12 }, () => {
    backoff.ended(0);
    return backoff.delay(1006);
  });
  assert.deepEqual(waits.slice(0, 4), [2_000, 4_000, 8_000, 16_000]);
  assert.equal(Math.max(...waits), 30_000);
  for (const code of [1013, 3013]) {
    const calm = new Backoff(() => 0);
    calm.ended(3_600_000);
    assert.ok(calm.delay(code) >= 5_000);
    assert.ok(calm.delay(1012) < 1_000);
  }
});

test("E2: a connection that lasted a second does not reset the back-off, one that lasted does", async () => {
  const { w, board } = await connected();
  w.platform.chance = 1;
  await w.platform.advance(20_000);
  const waits = [await lose(w)];
  for (let time = 0; time < 4; time++) {
    await accept(w, board);
    await w.platform.advance(1_000);
    waits.push(await lose(w));
  }
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000]);
  await accept(w, board);
  await w.platform.advance(12_000);
  assert.equal(await lose(w), 1_000);
});

test("every code of the protocol has its word, and is final by its range alone", () => {
  const final = Object.keys(CODES).map(Number).filter(isFinal);
  assert.deepEqual(final, [3500, 3501, 3502, 3504, 3505, 3507]);
  assert.deepEqual([1000, 2999, 3499, 4000, 4499, 5000].filter(isFinal), []);
});

test("a constructor that throws is a line that could not be opened", async () => {
  class Forbidden {
    constructor() {
      throw new Error("not from this page");
    }
  }
  const w = world({ WebSocket: Forbidden, transport: "websocket" });
  w.client.board("s12").top({}, () => {});
  await w.platform.advance(100);
  const { name, reason, retryAt } = w.client.state;
  assert.equal(name, "connecting");
  assert.match(reason, /not from this page/);
  assert.ok(retryAt > w.platform.time);
});
