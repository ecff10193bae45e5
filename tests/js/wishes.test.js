// What is wanted against what the server is asked for: the last wish wins, and costs no more than it must.

import assert from "node:assert/strict";
import { test } from "node:test";

import { connect } from "../../static/rankcast.js";
import { FakeBoard, FakePlatform, fakeSockets, serve, someRows, world } from "./harness.js";

const nothing = () => {};
const refusing =
  (socket) =>
  ({ id }) =>
    socket.push({ type: "error", id, code: "unknown_board", reason: "", retry: false });

/** A world whose socket is open and serves `board`, with what `wish` asked for. */
async function opened(wish, board = new FakeBoard(someRows(5)), options) {
  const w = world(options);
  const result = wish(w.client.board("s12"), w);
  await w.platform.advance(1);
  serve(w.socket, board);
  w.socket.open();
  await w.platform.advance(1);
  return { w, board, result };
}

test("no socket is opened before there is something to subscribe to", async () => {
  const w = world();
  await w.platform.advance(60_000);
  assert.equal(w.sockets.length, 0);
  w.client.board("s12").top({}, nothing);
  await w.platform.advance(1);
  assert.deepEqual([w.socket.url, w.socket.protocol], ["wss://board.example/ws", "rankcast.v1"]);
});

test("several views of several boards share one socket", async () => {
  const { w } = await opened((board, { client }) => {
    board.top({ limit: 10 }, nothing);
    board.around("42", { radius: 3 }, nothing);
    board.rankups(nothing);
    client.board("s13").top({ limit: 10 }, nothing);
  });
  assert.equal(w.sockets.length, 1);
  assert.deepEqual(
    w.socket.commands("subscribe").map(({ id, ...command }) => command),
    [
      { op: "subscribe", board: "s12", view: "top", limit: 10 },
      { op: "subscribe", board: "s12", view: "around", player: "42", radius: 3 },
      { op: "subscribe", board: "s12", view: "rankups" },
      { op: "subscribe", board: "s13", view: "top", limit: 10 },
    ],
  );
});

test("G7: equal views are subscribed to once, and left when the last one is", async () => {
  const seen = [[], []];
  const { w, result } = await opened((board) =>
    seen.map((views) => board.top({ limit: 5 }, (view) => views.push(view))),
  );
  assert.equal(w.socket.commands("subscribe").length, 1);
  assert.deepEqual(
    seen.map((views) => views.length),
    [1, 1],
  );
  result[0]();
  await w.platform.advance(1);
  assert.equal(w.socket.commands("unsubscribe").length, 0);
  result[1]();
  await w.platform.advance(1);
  assert.deepEqual([...w.socket.held], []);
});

test("G7: nothing is sent before the server's welcome", async () => {
  const w = world();
  w.client.board("s12").top({}, nothing);
  await w.platform.advance(1);
  serve(w.socket, new FakeBoard(someRows(5)));
  w.socket.open(null);
  await w.platform.advance(100);
  assert.deepEqual(w.socket.sent, []);
  w.socket.push({ type: "welcome", protocol: "rankcast.v1", heartbeat_ms: 15_000, limits: {} });
  await w.platform.advance(1);
  assert.equal(w.socket.subscribed, 1);
});

test("G7: left and wanted again in one turn sends nothing, and the new listener has the picture at once", async () => {
  const views = [];
  const { w, result: stop } = await opened((board) => board.top({ limit: 5 }, nothing));
  const sent = w.socket.sent.length;
  stop();
  w.client.board("s12").top({ limit: 5 }, (view) => views.push(view));
  await w.platform.advance(1);
  assert.equal(w.socket.sent.length, sent);
  assert.deepEqual([views.length, views[0].rows.length, views[0].changes.first], [1, 5, true]);
});

test("G7: from A to B to A in 50 ms ends at A, with no frame of the first A or of B", async () => {
  const { w, board, result: stopA } = await opened((wanted) => wanted.top({ limit: 5 }, nothing));
  const answer = w.socket.oncommand;
  const late = []; // the server is slow: it answers everything at the end
  w.socket.oncommand = (command) => late.push(command);
  stopA();
  const stopB = w.client.board("s12").top({ limit: 3 }, () => assert.fail("B was shown"));
  await w.platform.advance(20);
  stopB();
  const views = [];
  w.client.board("s12").top({ limit: 5 }, (view) => views.push(view));
  await w.platform.advance(30);
  const shown = views.length; // the picture that was there: the first A is not left for longer than its answer takes
  w.socket.push({ ...board.move("s12/top/5", someRows(5, 500)), type: "diff" });
  await w.platform.advance(1);
  assert.equal(views.length, shown, "a frame of the topic that is being left was shown");
  while (late.length) {
    answer(late.shift());
    await w.platform.advance(1);
  }
  assert.deepEqual([...w.socket.held.keys()], ["s12/top/5"]);
  assert.deepEqual(
    views.at(-1).rows.map(({ points }) => points),
    someRows(5, 500).map(([, points]) => points),
  );
});

test("a listener that was taken away is not called any more, not even in the same turn", async () => {
  const seen = [];
  const { w, board } = await opened((wanted) => {
    const stops = [0, 1].map((which) =>
      wanted.top({ limit: 5 }, () => {
        seen.push(which);
        stops[1 - which]();
      }),
    );
  });
  w.socket.push(board.move("s12/top/5", someRows(5, 900)));
  await w.platform.advance(1);
  assert.deepEqual(seen, [0, 0]);
});

test("taking a listener away twice is taking it away once", async () => {
  const { w, result: stop } = await opened((board) => {
    board.top({ limit: 5 }, nothing);
    return board.top({ limit: 5 }, nothing);
  });
  stop();
  stop();
  await w.platform.advance(1);
  assert.equal(w.socket.held.size, 1);
});

test("many views are asked for more slowly than the server allows commands", async () => {
  const { w } = await opened((board) => {
    for (let limit = 1; limit <= 40; limit++) board.top({ limit }, nothing);
  });
  assert.equal(w.socket.subscribed, 15);
  await w.platform.advance(998);
  assert.equal(w.socket.subscribed, 15);
  await w.platform.advance(2_000);
  assert.equal(w.socket.subscribed, 40);
});

test("a refused view tells its listener and the client, and is asked for again with the next line only", async () => {
  const refusals = [];
  const w = world();
  w.client.onerror((refusal) => refusals.push(["client", refusal.code]));
  w.client.board("s99").top({ onerror: (refusal) => refusals.push(["view", refusal]) }, nothing);
  w.client.board("s12").top({}, nothing);
  const refuse = (socket) => {
    serve(socket, new FakeBoard(someRows(5)));
    const answer = socket.oncommand;
    socket.oncommand = (command) =>
      command.board === "s99"
        ? socket.push({
            type: "error",
            id: command.id,
            code: "unknown_board",
            reason: "no s99",
            retry: false,
          })
        : answer(command);
  };
  await w.platform.advance(1);
  refuse(w.socket);
  w.socket.open();
  await w.platform.advance(20_000);
  assert.deepEqual(refusals, [
    ["view", { board: "s99", view: "top", code: "unknown_board", reason: "no s99", retry: false }],
    ["client", "unknown_board"],
  ]);
  assert.equal(w.client.state.name, "live");
  w.socket.end(1006);
  await w.platform.advance(5_000);
  refuse(w.socket);
  w.socket.open();
  await w.platform.advance(1);
  assert.equal(w.socket.commands("subscribe").filter(({ board }) => board === "s99").length, 1);
});

test("a line with nothing but refused views is let go, before the server has to close it for good", async () => {
  const { w } = await opened((board) => board.top({}, nothing), new FakeBoard([]), {});
  w.socket.end(1006);
  await w.platform.advance(5_000);
  w.socket.oncommand = refusing(w.socket);
  w.socket.open();
  await w.platform.advance(6_000);
  assert.equal(w.socket.closedWith, 1000);
});

test("a refused view is asked for anew when it is wanted anew", async () => {
  const w = world();
  const stop = w.client.board("s12").top({}, nothing);
  await w.platform.advance(1);
  w.socket.oncommand = refusing(w.socket);
  w.socket.open();
  await w.platform.advance(30_000);
  stop();
  w.client.board("s12").top({}, nothing);
  await w.platform.advance(1);
  serve(w.socket, new FakeBoard(someRows(3)));
  w.socket.open();
  await w.platform.advance(1);
  assert.deepEqual([w.sockets.length, w.client.state.name], [2, "live"]);
});

test("a view that was refused for now is asked for again after growing pauses", async () => {
  const w = world();
  w.client.board("s12").top({}, nothing);
  await w.platform.advance(1);
  w.socket.oncommand = ({ id }) =>
    w.socket.push({ type: "error", id, code: "not_ready", reason: "", retry: true });
  w.socket.open();
  const asked = [];
  for (let second = 0; second < 60; second++) {
    const before = w.socket.commands("subscribe").length;
    await w.platform.advance(1_000);
    if (w.socket.commands("subscribe").length > before) asked.push(second);
    assert.ok(w.socket.commands("subscribe").length - before <= 2);
    w.socket.push({ type: "heartbeat", at: 0, heads: {} });
  }
  assert.ok(asked.length >= 4 && asked.length <= 8, `asked at ${asked}`);
});

test("the socket is let go some seconds after the last view, and made anew for the next", async () => {
  const { w, result: stop } = await opened((board) => board.top({ limit: 5 }, nothing));
  stop();
  await w.platform.advance(4_000);
  assert.equal(w.socket.closedWith, undefined);
  await w.platform.advance(2_000);
  assert.equal(w.socket.closedWith, 1000);
  assert.equal(w.platform.timers, 0);
  w.client.board("s12").top({ limit: 5 }, nothing);
  await w.platform.advance(1);
  assert.equal(w.sockets.length, 2);
});

test("a closed client leaves no timer, no listener and no socket, and calls nobody", async () => {
  const seen = [];
  const { w, board } = await opened((wanted) => wanted.top({ limit: 5 }, (view) => seen.push(view)));
  const states = w.states.length;
  w.socket.push(board.move("s12/top/5", someRows(5, 900)));
  w.client.close();
  await w.platform.advance(60_000);
  assert.deepEqual([seen.length, w.platform.timers, w.platform.wakers], [1, 0, 0]);
  assert.equal(w.socket.closedWith, 1000);
  assert.deepEqual([w.client.state.name, w.states.length], ["closed", states + 1]);
  w.client.close();
});

test("what cannot be asked for is refused where it is asked", () => {
  const { client } = world();
  const board = client.board("s12");
  assert.throws(() => board.around(2 ** 53, {}, nothing), /lost digits/);
  assert.throws(() => board.around("007", {}, nothing), /decimal/);
  assert.throws(() => board.around("-0", {}, nothing), /decimal/);
  assert.throws(() => board.top({}), /function/);
  assert.throws(() => world().client.onstate(), /function/);
  assert.throws(() => connect(), /address/);
  assert.throws(() => connect("ftp://board.example"), /no http/);
});

test("E1: ids go out as text, whatever they were given as", async () => {
  const { w } = await opened((board) => {
    board.around("9223372036854775807", {}, nothing);
    board.around(9007199254740993n, {}, nothing);
    board.around(-1, {}, nothing);
  });
  assert.deepEqual(
    w.socket.commands("subscribe").map(({ player }) => player),
    ["9223372036854775807", "9007199254740993", "-1"],
  );
});

test("a server is found by its root or its socket, under any path, by any of the four schemes", async () => {
  const cases = [
    ["https://board.example", "wss://board.example/ws"],
    ["http://board.example:8000/", "ws://board.example:8000/ws"],
    ["ws://board.example/ws", "ws://board.example/ws"],
    ["wss://board.example/games/rankcast/", "wss://board.example/games/rankcast/ws"],
    [new URL("https://board.example/rankcast/ws"), "wss://board.example/rankcast/ws"],
  ];
  for (const [url, socket] of cases) {
    const platform = new FakePlatform();
    const { FakeSocket, sockets } = fakeSockets();
    connect(url, { platform, WebSocket: FakeSocket }).board("s12").top({}, nothing);
    await platform.advance(1);
    assert.equal(sockets[0].url, socket);
  }
});

test("a listener that closes the client ends the telling", async () => {
  const seen = [];
  const { w } = await opened((board, { client }) => {
    board.top({}, nothing);
    client.onstate(({ name }) => name === "live" && client.close());
    client.onstate(({ name }) => seen.push(name));
  });
  assert.deepEqual(seen, ["connecting", "connecting", "closed"]);
  assert.equal(w.socket.closedWith, 1000);
});
