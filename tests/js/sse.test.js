// The way over server-sent events: taken when a WebSocket cannot be opened twice in a row, left when it can again.

import assert from "node:assert/strict";
import { test } from "node:test";

import { EventParser, streamAddress } from "../../static/rankcast/sse.js";
import { FakeStreams } from "./fake-streams.js";
import { Chance, EPOCH, FakeBoard, serve, someRows, world } from "./harness.js";

const TOPIC = "s12/top/5";

/** Streams deliver through several promises: turns until `done` holds, a hundred at most. */
async function until(w, done) {
  for (let turn = 0; turn < 100 && !done(); turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    await w.platform.turn();
  }
  assert.ok(done(), "it did not come to be");
}

/** A client whose WebSockets are all refused. */
function barred(options) {
  const streams = new FakeStreams();
  const w = world({ fetch: streams.fetch, ...options }, (socket) =>
    queueMicrotask(() => (w.hang ? socket.open(null) : socket.end(1006))),
  );
  const views = [];
  const stop = w.client.board("s12").top({ limit: 5 }, (view) => views.push(view));
  return { w, streams, views, stop };
}

async function following(options) {
  const all = barred(options);
  const board = new FakeBoard(someRows(5));
  await all.w.platform.advance(10_000);
  all.streams.newest.accept().push(board.snapshot(TOPIC));
  await until(all.w, () => all.views.length === 1);
  return { ...all, board };
}

test("event streams are taken apart wherever their bytes are cut", () => {
  const text =
    ': hello\n\nevent: diff\nid: a-1\ndata: {"a":1}\n\ndata:two\r\ndata: lines\r\n\r\nretry: 5\n\ndata\n\ndata: last\n\n';
  const chance = new Chance(11);
  for (let time = 0; time < 300; time++) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < text.length;) {
      const next = at + 1 + chance.below(9);
      events.push(...parser.push(text.slice(at, next)));
      at = next;
    }
    assert.deepEqual(events, ['{"a":1}', "two\nlines", "last"]);
  }
});

test("a stream's address says the same as the command would", () => {
  const base = "https://board.example/base";
  const have = { epoch: EPOCH, version: 7 };
  const cases = [
    [{ board: "s12", view: "top", limit: 100 }, "/seasons/12/leaderboard/stream?view=top&limit=100"],
    [
      { board: "s12", view: "around", player: "-1", radius: 5, have },
      `/seasons/12/leaderboard/stream?view=around&player=-1&radius=5&have=${EPOCH}-7`,
    ],
    [
      { board: "s12:d:today", view: "rankups" },
      "/seasons/12/leaderboard/stream?view=rankups&window=d%3Atoday",
    ],
  ];
  for (const [command, rest] of cases) assert.equal(streamAddress(base, command), base + rest);
  assert.equal(streamAddress(base, { board: "nonsense", view: "top" }), null);
});

test("one refused WebSocket is tried again, after two streams are used", async () => {
  const { w, streams, views } = await following();
  assert.equal(w.sockets.length, 2);
  assert.deepEqual(
    streams.asked.map(({ query }) => query),
    [{ view: "top", limit: "5" }],
  );
  assert.deepEqual([w.client.state.name, w.client.state.transport], ["live", "sse"]);
  assert.deepEqual(
    views[0].rows.map(({ points }) => points),
    [1000, 999, 998, 997, 996],
  );
});

test("diffs over a stream are followed, proven and resumed like those of a socket", async () => {
  const { w, streams, views, board } = await following();
  streams.newest.push(board.move(TOPIC, someRows(5, 900)));
  await until(w, () => views.length === 2);
  streams.newest.push({ ...board.move(TOPIC, someRows(5, 800)), crc: 1 });
  await until(w, () => streams.asked.length === 2);
  assert.equal(streams.asked[0].aborted, true);
  assert.equal(streams.newest.query.have, undefined);
  streams.newest.accept().push(board.snapshot(TOPIC));
  await until(w, () => views.length === 3);
  assert.equal(views[2].rows[0].points, 800);
  streams.newest.end();
  await until(w, () => w.client.state.name === "stale");
});

test("heartbeats of one stream say nothing of the others", async () => {
  const { w, streams, board } = await following();
  w.client.board("s12").around("42", {}, () => {});
  await w.platform.advance(1);
  const around = streams.newest.accept();
  around.push({
    type: "around",
    topic: "s12/around/42/5",
    epoch: EPOCH,
    version: 1,
    total: 5,
    rank: null,
    rows: [],
    names: {},
  });
  await until(w, () => w.client.state.name === "live");
  for (const stream of streams.asked)
    stream.push({
      type: "heartbeat",
      at: 0,
      heads: { [stream === around ? "s12/around/42/5" : TOPIC]: [EPOCH, 1] },
    });
  await w.platform.advance(100);
  assert.equal(streams.asked.length, 2);
  streams.asked[0].push({ type: "heartbeat", at: 0, heads: { [TOPIC]: [EPOCH, board.version + 1] } });
  await until(w, () => streams.asked.length === 3);
  assert.equal(streams.newest.query.view, "top");
});

test("D13: a hidden tab lets its streams go, and resumes them when it is shown", async () => {
  const { w, streams, views, board } = await following();
  await w.platform.hide();
  assert.deepEqual([streams.open.length, w.client.state.name, w.client.state.reason], [0, "stale", "hidden"]);
  await w.platform.advance(3_600_000);
  assert.equal(streams.asked.length, 1);
  await w.platform.unhide();
  await w.platform.advance(1);
  assert.equal(streams.newest.query.have, `${EPOCH}-1`);
  streams.newest.accept().push(board.move(TOPIC, someRows(5, 900)));
  await until(w, () => views.length === 2);
  assert.equal(w.client.state.name, "live");
});

test("D13: a tab that is hidden from the start asks for no stream", async () => {
  const { w, streams } = barred();
  await w.platform.hide();
  await w.platform.advance(60_000);
  assert.deepEqual(
    [streams.asked.length, w.client.state.name, w.client.state.reason],
    [0, "connecting", "hidden"],
  );
  assert.equal(w.sockets.length, 2);
});

test("a silent stream is replaced", async () => {
  const { w, streams } = await following();
  await w.platform.advance(60_000);
  assert.ok(streams.asked[0].aborted);
  assert.ok(w.states.some(({ reason }) => reason === "silent"));
});

test("a stream on which nothing comes leaves the picture as old as it was", async () => {
  const { w, streams, board } = await following();
  streams.newest.end();
  await until(w, () => w.client.state.name === "stale");
  const { since } = w.client.state;
  while (streams.asked.length < 2) await w.platform.advance(500);
  const { name, reason, transport } = w.client.state;
  assert.deepEqual([name, reason, transport], ["stale", "lost", "sse"]);
  assert.equal(w.client.state.since, since);

  streams.newest.accept().push(board.snapshot(TOPIC));
  await until(w, () => w.client.state.name === "live");
});

test("a server that is away altogether is tried by both ways in turn", async () => {
  const { w, streams } = barred();
  for (let second = 0; second < 120; second++) {
    await w.platform.advance(1_000);
    for (const stream of streams.open) stream.fail();
  }
  assert.ok(streams.asked.length >= 3, `${streams.asked.length} streams`);
  assert.ok(w.sockets.length >= streams.asked.length, `${w.sockets.length} sockets`);
  assert.ok(w.sockets.length < 20);
});

test("a WebSocket that can be opened again takes over, and loses nothing", async () => {
  const streams = new FakeStreams();
  const board = new FakeBoard(someRows(5));
  let barrier = true;
  const w = world({ fetch: streams.fetch }, (socket) => queueMicrotask(() => barrier && socket.end(1006)));
  const views = [];
  w.client.board("s12").top({ limit: 5 }, (view) => views.push(view));
  await w.platform.advance(10_000);
  streams.newest.accept().push(board.snapshot(TOPIC));
  await until(w, () => views.length === 1);
  for (let quarter = 0; quarter < 8; quarter++) {
    await w.platform.advance(15_000);
    streams.newest.text(": still here\n\n");
    await until(w, () => true);
  }
  assert.ok(w.sockets.length >= 3, "it was tried while the stream went on");
  assert.deepEqual([w.client.state.name, w.client.state.transport], ["live", "sse"]);
  barrier = false;
  const tries = w.sockets.length;
  for (let time = 0; time < 120 && w.sockets.length === tries; time++) {
    await w.platform.advance(5_000);
    streams.newest.text(": still here\n\n");
    await until(w, () => true);
  }
  board.move(TOPIC, someRows(5, 900));
  serve(w.socket, board);
  w.socket.open();
  await w.platform.advance(1);
  assert.deepEqual(
    [w.client.state.name, w.client.state.transport, streams.open.length],
    ["live", "websocket", 0],
  );
  assert.deepEqual(w.socket.commands("subscribe")[0].have, { epoch: EPOCH, version: 1 });
  assert.deepEqual(
    views.map((view) => view.rows[0].points),
    [1000, 900],
  );
  const sockets = w.sockets.length;
  w.socket.end(1006);
  await w.platform.advance(5_000);
  assert.equal(w.sockets.length, sockets + 1, "the loss of the line that took over was not noticed");
});

test("a WebSocket that opens and stays silent does not take over", async () => {
  const { w, streams } = await following();
  w.hang = true;
  const sockets = [];
  for (let quarter = 0; quarter < 20; quarter++) {
    await w.platform.advance(15_000);
    streams.newest.text(": still here\n\n");
    await until(w, () => true);
    if (!sockets.includes(w.socket)) sockets.push(w.socket);
  }
  assert.deepEqual([w.client.state.name, w.client.state.transport], ["live", "sse"]);
  assert.ok(sockets.length >= 2);
});

test("a stream that the server refuses is a refusal of this view, with the code word", async () => {
  const { w, streams } = await following();
  const refusals = [];
  const onerror = (refusal) => refusals.push(refusal);
  w.client.board("s99").top({ onerror }, () => {});
  await w.platform.advance(1);
  streams.newest.refuse(404, {
    type: "/problems/unknown_season",
    title: "There is no such season",
    detail: "no season 99",
  });
  await until(w, () => refusals.length === 1);
  assert.deepEqual(refusals[0], {
    board: "s99",
    view: "top",
    code: "unknown_season",
    reason: "no season 99",
    retry: false,
  });
  w.client.board("nonsense").top({ onerror }, () => {});
  await w.platform.advance(1);
  assert.equal(refusals[1].code, "unknown_board");
  assert.equal(w.client.state.name, "live");
});

for (const [status, problem, name, reason] of [
  [401, { type: "/problems/bad_token", title: "The token is not valid" }, "closed", "bad token"],
  [403, { type: "/problems/permission_denied", title: "No" }, "closed", "permission denied"],
  [503, { type: "/problems/too_many_connections", title: "Full" }, "connecting", "try again later"],
  [500, null, "connecting", "HTTP 500"],
]) {
  test(`HTTP ${status} on a stream ends in the state ${name}`, async () => {
    const { w, streams } = barred({ transport: "sse" });
    await w.platform.advance(1);
    streams.newest.refuse(status, problem);
    await until(w, () => w.client.state.code !== null);
    assert.deepEqual([w.client.state.name, w.client.state.reason], [name, reason]);
    await w.platform.advance(30_000);
    assert.equal(streams.asked.length > 1, name !== "closed");
  });
}

test("a bye over a stream is followed", async () => {
  const { w, streams } = await following();
  streams.newest.push({ type: "bye", code: 3001, retry_after_ms: 3_000, jitter_ms: 0 });
  await until(w, () => w.client.state.reason === "shutdown");
  assert.equal(w.client.state.retryAt, w.platform.time + 3_000);
});

test("without any WebSocket, streams are used at once", async () => {
  const streams = new FakeStreams();
  const had = globalThis.WebSocket;
  delete globalThis.WebSocket;
  try {
    const w = world({ fetch: streams.fetch, WebSocket: undefined });
    w.client.board("s12").top({}, () => {});
    await w.platform.advance(1);
    assert.deepEqual([streams.asked.length, w.client.state.transport], [1, "sse"]);
    assert.throws(() => world({ WebSocket: undefined, transport: "websocket" }), /no WebSocket/);
  } finally {
    if (had) globalThis.WebSocket = had;
  }
});

test("where only WebSockets are wanted, no stream is asked for", async () => {
  const { w, streams } = barred({ transport: "websocket" });
  await w.platform.advance(120_000);
  assert.equal(streams.asked.length, 0);
  assert.ok(w.sockets.length > 3);
});

test("leaving a view ends its stream", async () => {
  const { w, streams, stop } = await following();
  stop();
  await w.platform.advance(1);
  assert.equal(streams.open.length, 0);
  assert.equal(w.client.state.transport, "sse");
});
