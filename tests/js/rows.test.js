// The law `apply(rows, diff) == rows'` on random diffs, against the law written down plainly; and what it costs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Rows } from "../../static/rankcast/rows.js";
import { crcOf, Chance } from "./harness.js";

const chance = new Chance(20260419);

/** The law as the protocol words it. */
function applied(rows, gone, set) {
  const out = new Set([...gone, ...set.map(([player]) => player)]);
  const left = rows.filter(([player]) => !out.has(player));
  for (const [player, points, at, rank] of set) left.splice(rank - 1, 0, [player, points, at]);
  return left;
}

/** A random diff of `rows`: some go, some change, some come, some only move. */
function randomDiff(rows, nextPlayer) {
  const gone = rows.filter(() => chance.below(8) === 0).map(([player]) => player);
  const kept = rows.filter(([player]) => !gone.includes(player));
  const moving = kept.filter(() => chance.below(5) === 0).map(([player]) => player);
  const coming = Array.from({ length: chance.below(4) }, () => String(nextPlayer()));
  const size = kept.length + coming.length;
  const ranks = chance.pick(size, moving.length + coming.length).map((place) => place + 1);
  const set = [...moving, ...coming].map((player, index) => [
    player,
    chance.below(50),
    chance.below(9),
    ranks[index],
  ]);
  return { gone, set };
}

const plain = (rows) => rows.list().map(({ player, points, achievedAt }) => [player, points, achievedAt]);

test("random diffs give the rows and the checksum that the law gives", () => {
  for (let board = 0; board < 60; board++) {
    let player = 0;
    let expected = Array.from({ length: chance.below(40) }, (_, index) => [
      String(++player),
      100 - index,
      index,
    ]);
    const rows = new Rows();
    rows.replace(expected, {});
    for (let step = 0; step < 40; step++) {
      const { gone, set } = randomDiff(expected, () => ++player);
      expected = applied(expected, gone, set);
      assert.ok(rows.change(gone, set, {}));
      assert.deepEqual(plain(rows), expected);
      assert.equal(rows.crc, crcOf(expected));
    }
  }
});

test("a row that did not change is the same object in the next list", () => {
  const rows = new Rows();
  rows.replace(
    [
      ["a", 5, 0],
      ["b", 4, 0],
      ["c", 3, 0],
      ["d", 2, 0],
    ],
    {},
  );
  const before = rows.list();
  rows.change([], [["c", 9, 0, 2]], {});
  const after = rows.list();
  assert.equal(after[0], before[0]);
  assert.equal(after[3], before[3]);
  assert.notEqual(after[2], before[1]);
});

test("rows between two changes that keep their places are not touched", () => {
  const many = Array.from({ length: 1000 }, (_, index) => [String(index), 1000 - index, 0]);
  const rows = new Rows();
  rows.replace(many, {});
  const before = rows.list();
  rows.change(
    [],
    [
      ["0", 2000, 1, 1],
      ["999", 1, 1, 1000],
    ],
    {},
  );
  const changed = rows.list().filter((row, index) => row !== before[index]);
  assert.deepEqual(
    changed.map(({ player }) => player),
    ["0", "999"],
  );
});

test("a diff that is not one of these rows is refused", () => {
  const diffs = [
    [["nobody"], []],
    [[], [["x", 1, 1, 9]]],
    [[], [["x", 1, 1, 0]]],
    [[], [["x", 1, 1, 1.5]]],
    [[], [["x", 1, 1, null]]],
    [
      [],
      [
        ["x", 1, 1, 1],
        ["y", 1, 1, 1],
      ],
    ],
    [["a", "a"], []],
  ];
  for (const [gone, set] of diffs) {
    const rows = new Rows();
    rows.replace(
      [
        ["a", 5, 0],
        ["b", 4, 0],
      ],
      {},
    );
    assert.equal(rows.change(gone, set, {}), false, JSON.stringify([gone, set]));
  }
});

test("names stay with players who stay, and go with those who go", () => {
  const rows = new Rows();
  rows.replace(
    [
      ["a", 5, 0],
      ["b", 4, 0],
    ],
    { a: "Ada", b: "Bob" },
  );
  rows.change(["b"], [["a", 6, 0, 1]], {});
  assert.equal(rows.list()[0].name, "Ada");
  rows.change([], [["b", 4, 0, 2]], {});
  assert.equal(rows.list()[1].name, null);
  rows.change([], [], { b: "Bea" });
  assert.equal(rows.list()[1].name, "Bea");
});

test("E1: ids that JavaScript's numbers cannot hold stay two players", () => {
  const rows = new Rows();
  const ids = ["9007199254740993", "9007199254740992", "9223372036854775807", "-9223372036854775808", "-1"];
  rows.replace(
    ids.map((player) => [player, 7, 0]),
    {},
  );
  rows.change(["9007199254740992"], [], {});
  assert.deepEqual(
    rows.list().map(({ player }) => player),
    ids.filter((id) => id !== "9007199254740992"),
  );
});
