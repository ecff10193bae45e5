// What an overlay's address says: `read(address(o))` is `o` again, and nothing that is typed breaks a stream.

import assert from "node:assert/strict";
import { test } from "node:test";

import { COLUMNS, LIMIT, SCALE, THEMES, address, read } from "../../static/overlay/options.js";

const ORIGIN = "https://board.example";
const USUAL = read(new URLSearchParams());
const back = (options) => read(new URL(address(options, ORIGIN)).searchParams);

const BOARDS = [null, "s1", "s2147483647", "s12:d:today", "s12:w:2026-W42", "ß & 100%?#/"];
const PLAYERS = [null, "0", "42", "-1", "9223372036854775807", "-9223372036854775808"];
const LIMITS = [LIMIT.least, 5, LIMIT.usual, LIMIT.most];
const SCALES = [SCALE.least, 0.75, SCALE.usual, 1.1, SCALE.most];
const TITLES = ["", "Top 10, live", "a+b=c & d%2C", "<b>🏆 é مرحبا</b>", "x".repeat(80), "0"];
const LANGS = ["en", "de", "pt-BR", "zh-Hant", "ar"];
const SETS = [COLUMNS, ["name"], ["points", "name"], ["points", "rank", "name"]];

/** Every value of every option at least once beside others, by steps that share no divisor. */
function* many() {
  for (let at = 0; at < 2_520; at++) {
    const pick = (values, step) => values[Math.floor(at / step) % values.length];
    yield {
      board: pick(BOARDS, 1),
      limit: pick(LIMITS, 2),
      player: pick(PLAYERS, 5),
      theme: pick(THEMES, 1),
      scale: pick(SCALES, 3),
      columns: pick(SETS, 7),
      title: pick(TITLES, 11),
      lang: pick(LANGS, 1),
      rankups: pick([true, false], 13),
    };
  }
}

test("options that became an address are read back as they were", () => {
  for (const options of many()) assert.deepEqual(back(options), options);
});

test("what is as usual is left out of the address", () => {
  assert.equal(address(USUAL, ORIGIN), `${ORIGIN}/overlay`);
  const some = { ...USUAL, board: "s12:d:today", columns: ["name", "points"] };
  assert.equal(address(some, ORIGIN), `${ORIGIN}/overlay?board=s12:d:today&columns=name,points`);
});

const UNREADABLE = [
  ["limit", "many", LIMIT.usual],
  ["limit", "", LIMIT.usual],
  ["limit", "-3", LIMIT.least],
  ["limit", "1e9", LIMIT.most],
  ["limit", "7.4", 7],
  ["scale", "Infinity", SCALE.usual],
  ["scale", "0", SCALE.least],
  ["scale", "99", SCALE.most],
  ["player", "ada", null],
  ["player", "007", null],
  ["player", "-0", null],
  ["player", "1.5", null],
  ["player", "9223372036854775808", null],
  ["player", "-9223372036854775809", null],
  ["theme", "neon", THEMES[0]],
  ["columns", "points,points,shoes", ["points"]],
  ["columns", "", COLUMNS],
  ["lang", "klingon!", "en"],
  ["lang", "", "en"],
  ["lang", "DE-at", "de-AT"],
  ["title", "  spaced  ", "spaced"],
  ["title", `${"🏆".repeat(79)} tail`, "🏆".repeat(79)],
  ["rankups", "1", true],
  ["rankups", "0", false],
];

for (const [name, text, taken] of UNREADABLE) {
  test(`${name}=${text.slice(0, 24)} is taken as ${JSON.stringify(taken).slice(0, 24)}, and stays so`, () => {
    const options = read(new URLSearchParams([[name, text]]));
    assert.deepEqual(options, { ...USUAL, [name]: taken });
    assert.deepEqual(back(options), options);
  });
}
