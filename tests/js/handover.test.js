// Views: frozen, at most one a frame of the screen, however many frames of the server came; nothing twice.

import assert from "node:assert/strict";
import { test } from "node:test";

import { compare } from "../../static/rankcast/picture.js";
import { Chance, EPOCH, FakeBoard, serve, someRows, world } from "./harness.js";

const TOPIC = "s12/top/5";

async function connected(listener, board = new FakeBoard(someRows(5))) {
  const w = world();
  const views = [];
  w.client.board("s12").top({ limit: 5 }, (view) => {
    views.push(view);
    listener?.(view);
  });
  await w.platform.advance(1);
  serve(w.socket, board);
  w.socket.open();
  await w.platform.advance(1);
  return { w, board, views };
}

const rankup = (version, player, more) => ({
  type: "rankup",
  topic: "s12/rankups",
  epoch: EPOCH,
  version,
  player,
  points: 9,
  before: 200,
  after: 7,
  ...more,
});

test("a thousand frames a second are sixty views at most", async () => {
  const { w, board, views } = await connected();
  w.platform.drawing = false;
  for (let ms = 0; ms < 1_000; ms++) {
    w.socket.push(board.move(TOPIC, someRows(5, 1_000 + (ms % 7))));
    await w.platform.advance(1);
    w.platform.drawing = ms % 17 === 16;
    await w.platform.turn();
    w.platform.drawing = false;
  }
  assert.ok(views.length <= 60, `${views.length} views`);
  assert.ok(views.length >= 50, `${views.length} views`);
});

test("E6: 5,000 diffs while hidden are one view of the newest board, and toasts that grew old are dropped", async () => {
  const { w, board, views } = await connected();
  const toasts = [];
  w.client.board("s12").rankups((event) => toasts.push(event.player));
  await w.platform.advance(1);
  await w.platform.hide();
  for (let diff = 1; diff <= 5_000; diff++) {
    w.socket.push(board.move(TOPIC, someRows(5, 1_000 + diff)));
    w.socket.push(rankup(board.version, String(diff)));
    await w.platform.advance(2);
  }
  assert.equal(views.length, 1);
  assert.equal(w.client.state.name, "live");
  await w.platform.advance(9_990);
  await w.platform.unhide();
  assert.deepEqual([views.length, views[1].version, views[1].rows[0].points], [2, 5_001, 6_000]);
  assert.deepEqual(toasts, ["4996", "4997", "4998", "4999", "5000"], "those of the last ten seconds");
});

test("rank-ups that nobody looks at do not pile up", async () => {
  const { w } = await connected();
  const toasts = [];
  w.client.board("s12").rankups((event) => toasts.push(event.player));
  await w.platform.advance(1);
  w.platform.drawing = false;
  for (let version = 1; version <= 500; version++) w.socket.push(rankup(version, String(version)));
  w.platform.drawing = true;
  await w.platform.turn();
  assert.deepEqual([toasts.length, toasts[0], toasts[19]], [20, "481", "500"]);
});

test("views are frozen in depth", async () => {
  const { w, board, views } = await connected();
  w.socket.push(board.move(TOPIC, [...someRows(5).slice(1), ["9", 1, 1]]));
  w.socket.push({ type: "stale", board: "s12", reason: "x", since: 1 });
  await w.platform.advance(1);
  const view = views[1];
  const parts = [view, view.rows, view.rows[0], view.changes, view.stale];
  parts.push(
    view.changes.entered,
    view.changes.left,
    view.changes.left[0],
    view.changes.moved,
    view.changes.moved[0],
  );
  assert.ok(parts.every((part) => typeof part === "object" && Object.isFrozen(part)));
  assert.ok(Object.isFrozen(w.client.state));
});

test("a view tells who entered, left, and moved by how many places, since the view before", async () => {
  const { w, board, views } = await connected();
  const [one, two, three, four] = board.rows;
  w.socket.push(board.move(TOPIC, [one, three, two, four, ["8", 500, 0]]));
  w.socket.push(board.move(TOPIC, [four, one, three, two, ["9", 500, 0]]));
  await w.platform.advance(1);
  const { entered, left, moved } = views[1].changes;
  assert.deepEqual(
    entered.map(({ player, rank }) => [player, rank]),
    [["9", 5]],
  );
  assert.deepEqual(
    left.map(({ player, rank }) => [player, rank]),
    [["5", 5]],
  );
  assert.deepEqual(moved, [
    { player: "4", places: 3 },
    { player: "1", places: -1 },
    { player: "2", places: -2 },
  ]);
});

test("changes lead from the rows before to the rows after, for random rows", () => {
  const chance = new Chance(3);
  const random = () =>
    chance
      .pick(12, chance.below(12))
      .sort(() => chance.below(3) - 1)
      .map((player, index) => ({ player, rank: index + 1 }));
  for (let time = 0; time < 200; time++) {
    const [before, after] = [random(), random()];
    const { entered, left, moved } = compare(before, after);
    const rank = new Map(before.map((row) => [row.player, row.rank]));
    for (const { player } of left) rank.delete(player);
    for (const { player, places } of moved) rank.set(player, rank.get(player) - places);
    for (const row of entered) rank.set(row.player, row.rank);
    assert.deepEqual([...rank].sort(), after.map((row) => [row.player, row.rank]).sort());
    assert.ok(moved.every(({ places }) => places !== 0));
  }
});

test("an error of a page's function is reported and keeps nothing from the others", async () => {
  const { w, board, views } = await connected(() => {
    throw new Error("a bug of the page");
  });
  const others = [];
  w.client.board("s12").top({ limit: 5 }, (view) => others.push(view));
  w.client.onstate(() => {
    throw new Error("another");
  });
  w.socket.push(board.move(TOPIC, someRows(5, 900)));
  await w.platform.advance(1);
  assert.deepEqual([views.length, others.length], [2, 1]);
  assert.deepEqual(
    w.platform.errors.map(({ message }) => message),
    ["a bug of the page", "another", "a bug of the page"],
  );
});

test("a change of the total alone is a view whose rows are the very same", async () => {
  const { w, board, views } = await connected();
  w.socket.push({ ...board.move(TOPIC, board.rows), total: 77 });
  await w.platform.advance(1);
  assert.equal(views[1].total, 77);
  assert.equal(views[1].rows, views[0].rows);
});

test("an around view follows its player out of the ranking and back", async () => {
  const w = world();
  const views = [];
  w.client.board("s12").around("42", { radius: 1 }, (view) => views.push(view));
  await w.platform.advance(1);
  serve(w.socket, new FakeBoard());
  w.socket.open();
  await w.platform.advance(1);
  const topic = "s12/around/42/1";
  const rows = [
    ["7", 9, 0],
    ["42", 8, 0],
    ["6", 7, 0],
  ];
  const frames = [
    { version: 1, total: 3, rank: 1, rows, names: { 42: "Ada" } },
    { version: 2, total: 4, rank: 2, names: {} },
    { version: 3, total: 3, rank: null, rows: [], names: {} },
    { version: 4, total: 4, rank: 900, rows, names: { 42: "Ada", 7: "Bob", 6: "Eve" } },
  ];
  for (const frame of frames) {
    w.socket.push({ type: "around", topic, epoch: EPOCH, ...frame });
    await w.platform.advance(1);
  }
  assert.deepEqual(
    views.map(({ rank, own, rows: { length } }) => [rank, own?.name, length]),
    [
      [2, "Ada", 3],
      [3, "Ada", 3],
      [null, undefined, 0],
      [901, "Ada", 3],
    ],
  );
  assert.deepEqual(
    views[1].changes.moved.map(({ places }) => places),
    [-1, -1, -1],
  );
});

test("a player's own rank-ups come with the view around the player", async () => {
  const w = world();
  const events = [];
  w.client.board("s12").around("42", { onrankup: (event) => events.push(event) }, () => {});
  await w.platform.advance(1);
  serve(w.socket, new FakeBoard());
  w.socket.open();
  await w.platform.advance(1);
  const topic = "s12/around/42/5";
  w.socket.push({
    type: "around",
    topic,
    epoch: EPOCH,
    version: 8,
    total: 1,
    rank: 1,
    rows: [["42", 9, 0]],
    names: { 42: "Ada" },
  });
  w.socket.push(rankup(8, "42", { topic, before: null, after: 1 }));
  await w.platform.advance(1);
  assert.deepEqual(events, [
    {
      id: `${EPOCH}-8-42`,
      board: "s12",
      epoch: EPOCH,
      version: 8,
      player: "42",
      name: "Ada",
      points: 9,
      before: null,
      after: 1,
    },
  ]);
  assert.ok(Object.isFrozen(events[0]));
});

test("a rank-up names its player where any view of the board was told the name", async () => {
  const { w, board } = await connected();
  const events = [];
  w.client.board("s12").rankups((event) => events.push(event));
  await w.platform.advance(1);
  w.socket.push({
    ...board.move(TOPIC, [["9", 2_000, 0], ...board.rows.slice(0, 4)]),
    names: { 9: "Grace" },
  });
  w.socket.push(rankup(2, "9"));
  w.socket.push(rankup(2, "77"));
  await w.platform.advance(1);
  assert.deepEqual(
    events.map(({ name }) => name),
    ["Grace", null],
  );
});
