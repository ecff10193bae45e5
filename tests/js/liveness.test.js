// Dead lines: judged by the clock and the last frame, whatever the page's timers do.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Watch } from "../../static/rankcast/watch.js";
import { FakeBoard, serve, someRows, world } from "./harness.js";

const TOPIC = "s12/top/5";

async function connected() {
  const w = world();
  const board = new FakeBoard(someRows(5));
  const views = [];
  w.client.board("s12").top({ limit: 5 }, (view) => views.push(view));
  await w.platform.advance(1);
  serve(w.socket, board);
  w.socket.open();
  await w.platform.advance(1);
  return { w, board, views };
}

const names = (w) => w.states.map(({ name, reason }) => [name, reason].join(" ").trim());
const beat = (w, board) =>
  w.socket.push({ type: "heartbeat", at: 0, heads: { [TOPIC]: [board.epoch, board.version] } });

test("E4: after ten minutes of sleep a dead line is shown as stale and replaced, and the board is right again", async () => {
  const { w, board, views } = await connected();
  const dead = w.socket;
  dead.deaf = true;
  w.platform.sleep(600_000);
  board.move(TOPIC, someRows(5, 900));
  await w.platform.wake("visibilitychange");
  assert.deepEqual([w.client.state.name, w.client.state.reason], ["stale", "silent"]);
  assert.ok(w.client.state.since < w.platform.time - 599_000, "since when the picture may be old");
  await w.platform.advance(7_000);
  assert.equal(w.sockets.length, 2);
  assert.equal(dead.closedWith, 1000);
  serve(w.socket, board);
  w.socket.open();
  await w.platform.advance(1);
  assert.deepEqual([w.client.state.name, views.at(-1).rows[0].points], ["live", 900]);
});

test("E4: a line that survived the sleep is asked once, and kept", async () => {
  const { w } = await connected();
  w.platform.sleep(600_000);
  await w.platform.wake("online");
  await w.platform.advance(10_000);
  assert.equal(w.socket.commands("ping").length, 1);
  assert.deepEqual([w.sockets.length, w.client.state.name], [1, "live"]);
});

test("E4: a machine that wakes without any event is noticed by the next timer", async () => {
  const { w } = await connected();
  w.socket.deaf = true;
  w.platform.sleep(3_600_000);
  await w.platform.advance(7_000);
  assert.equal(w.sockets.length, 2);
});

test("a line that dies while the page is looked at is replaced within half a minute", async () => {
  const { w } = await connected();
  w.socket.deaf = true;
  await w.platform.advance(22_000);
  assert.equal(w.client.state.name, "live");
  await w.platform.advance(2_000);
  assert.deepEqual([w.client.state.name, w.client.state.reason], ["stale", "silent"]);
  await w.platform.advance(6_000);
  assert.equal(w.sockets.length, 2);
});

test("a quiet board whose heartbeats come is live for hours", async () => {
  const { w, board } = await connected();
  for (let minute = 0; minute < 4 * 180; minute++) {
    await w.platform.advance(15_000);
    beat(w, board);
  }
  assert.deepEqual(names(w), ["connecting", "connecting subscribing", "live"]);
  assert.equal(w.socket.commands("ping").length, 0);
});

test("E5: timers stretched to a minute make no false alarm while frames come", async () => {
  const { w, board } = await connected();
  w.platform.stretch = 60_000;
  await w.platform.hide();
  for (let quarter = 0; quarter < 40; quarter++) {
    await w.platform.advance(15_000);
    beat(w, board);
  }
  assert.deepEqual(names(w), ["connecting", "connecting subscribing", "live"]);
  assert.deepEqual([w.sockets.length, w.socket.commands("ping").length], [1, 0]);
});

test("E5: a line that dies under stretched timers is replaced all the same", async () => {
  const { w } = await connected();
  w.platform.stretch = 60_000;
  await w.platform.hide();
  w.socket.deaf = true;
  await w.platform.advance(240_000);
  assert.ok(w.sockets.length >= 2);
});

test("when the network is back, the line is asked at once, and replaced if it does not answer", async () => {
  const { w } = await connected();
  await w.platform.wake("online");
  assert.equal(w.socket.commands("ping").length, 1);
  await w.platform.advance(6_000);
  assert.equal(w.sockets.length, 1);
  w.socket.deaf = true;
  await w.platform.wake("online");
  await w.platform.advance(6_000);
  assert.equal(w.sockets.length, 2);
});

test("waking up brings a reconnect forward, but does not press", async () => {
  const { w } = await connected();
  w.platform.chance = 1;
  await w.platform.advance(5_000);
  w.socket.end(1012);
  await w.platform.wake("visibilitychange");
  assert.equal(w.sockets.length, 2, "the last try was long ago");
  for (let time = 0; time < 5; time++) {
    w.socket.end(1006);
    await w.platform.wake("visibilitychange");
  }
  assert.equal(w.sockets.length, 2, "the last try was this moment");
  await w.platform.advance(1_000);
  await w.platform.wake("online");
  assert.equal(w.sockets.length, 3);
});

test("a socket that never opens is given up after ten seconds, by the clock", async () => {
  const w = world();
  w.client.board("s12").top({}, () => {});
  await w.platform.advance(1);
  await w.platform.advance(9_000);
  assert.equal(w.client.state.reason, "");
  await w.platform.advance(1_000);
  assert.deepEqual([w.client.state.name, w.client.state.reason], ["connecting", "no answer"]);
  await w.platform.advance(2_000);
  assert.equal(w.sockets.length, 2);
  w.platform.sleep(60_000);
  await w.platform.wake("resume");
  assert.equal(w.client.state.reason, "no answer");
});

test("a socket that opens and says nothing was not opened", async () => {
  const w = world();
  w.client.board("s12").top({}, () => {});
  await w.platform.advance(1);
  w.socket.open(null);
  await w.platform.advance(13_000);
  assert.equal(w.sockets.length, 2);
});

test("a clock that is set back does no harm", async () => {
  const { w, board } = await connected();
  w.platform.time -= 86_400_000;
  await w.platform.wake("visibilitychange");
  for (let quarter = 0; quarter < 8; quarter++) {
    await w.platform.advance(15_000);
    beat(w, board);
  }
  assert.deepEqual([w.sockets.length, w.client.state.name], [1, "live"]);
});

test("silence is never judged by one look: a ping is sent and waited for", () => {
  const watch = new Watch();
  assert.deepEqual(watch.look(1_000, 1_000, 15_000, false), { dead: false, ping: false, next: 23_000 });
  assert.deepEqual(watch.look(3_600_000, 1_000, 15_000, false), { dead: false, ping: true, next: 5_000 });
  assert.equal(watch.look(3_604_999, 1_000, 15_000, false).dead, false);
  assert.equal(watch.look(3_605_000, 1_000, 15_000, false).dead, true);
});
