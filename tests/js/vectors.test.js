// The law on vectors that the server's core made: what the client shows is what it has to show (`tests/vectors`).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { crc32 } from "../../static/rankcast/crc32.js";
import { AroundPicture, TopPicture } from "../../static/rankcast/picture.js";
import { Rows } from "../../static/rankcast/rows.js";
import { textOf } from "./harness.js";

const vectors = (name) =>
  JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8"));
const onWire = (rows) =>
  rows.map(({ player, points, achievedAt, name }) => [player, points, achievedAt, name]);
const ranks = (rows) => rows.map(({ rank }) => rank);

test("checksums are those of zlib, over whole texts and joined from rows", () => {
  for (const { rows, crc } of vectors("crc")) {
    const joined = new Rows();
    joined.replace(rows, {});
    assert.equal(crc32(textOf(rows)), crc);
    assert.equal(joined.crc, crc);
  }
});

test("diffs lead a top view from rows to rows, with names", () => {
  for (const { frames, after } of vectors("top")) {
    const picture = new TopPicture();
    frames.forEach((frame, step) => {
      assert.equal(picture.take(frame), null, `frame ${step}`);
      const { rows, total, version } = picture.show();
      assert.deepEqual(onWire(rows), after[step].rows);
      assert.deepEqual([total, version], [after[step].total, after[step].version]);
      assert.deepEqual(
        ranks(rows),
        ranks(rows).map((_, index) => index + 1),
      );
    });
  }
});

test("around views show rows, ranks and names, with and without rows in the frame", () => {
  for (const { player, frames, after } of vectors("around")) {
    const picture = new AroundPicture(player);
    frames.forEach((frame, step) => {
      assert.equal(picture.take(frame), null, `frame ${step}`);
      const { rows, rank, own, total } = picture.show();
      const { first } = after[step];
      assert.deepEqual(onWire(rows), after[step].rows);
      assert.deepEqual(
        ranks(rows),
        rows.map((_, index) => first + index),
      );
      assert.equal(total, after[step].total);
      assert.equal(own?.player ?? null, first === null ? null : player);
      assert.equal(rank, own && own.rank);
    });
  }
});
