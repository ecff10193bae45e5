// Tokens: given first thing, asked for when needed, renewed before they expire, never in an address.

import assert from "node:assert/strict";
import { test } from "node:test";

import { lifeOf } from "../../static/rankcast/token.js";
import { FakeStreams } from "./fake-streams.js";
import { FakeBoard, serve, someRows, world } from "./harness.js";

const encoded = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const jwt = (claims) => `${encoded({ alg: "HS256" })}.${encoded(claims)}.signature`;

/** A client whose tokens come from `token`, with its first line made. */
async function started(token, options) {
  const w = world({ token, ...options });
  w.client.board("s12").top({ limit: 5 }, () => {});
  await w.platform.advance(1);
  return w;
}

async function accept(w) {
  serve(w.socket, new FakeBoard(someRows(5)));
  w.socket.open();
  await w.platform.advance(1);
}

const tokens = (w) => w.socket.commands("auth").map(({ token }) => token);

/** Gives t1, t2, … and counts. */
function source() {
  const give = async () => `t${++give.count}`;
  give.count = 0;
  return give;
}

test("a token is the first thing that is said, and stands in no address", async () => {
  const w = await started("secret");
  await accept(w);
  assert.deepEqual(
    w.socket.sent.map(({ op }) => op),
    ["auth", "subscribe"],
  );
  assert.deepEqual(tokens(w), ["secret"]);
  assert.ok(!w.socket.url.includes("secret"));
});

test("a callback is asked once, and not again for a mere reconnect", async () => {
  const give = source();
  const w = await started(give);
  await accept(w);
  w.socket.end(1006);
  await w.platform.advance(3_000);
  await accept(w);
  assert.deepEqual([give.count, tokens(w)], [1, ["t1"]]);
});

test("a line that was closed for an expired token comes back with a fresh one", async () => {
  const give = source();
  const w = await started(give);
  await accept(w);
  w.socket.end(3005, "expired");
  await w.platform.advance(3_000);
  await accept(w);
  assert.deepEqual([give.count, tokens(w), w.client.state.name], [2, ["t2"], "live"]);
});

test("a token that is refused as expired when it is given costs one fresh one, not two", async () => {
  const give = source();
  const w = await started(give);
  w.socket.oncommand = ({ id }) => {
    w.socket.push({ type: "error", id, code: "token_expired", reason: "", retry: true });
    w.socket.end(3005);
  };
  w.socket.open();
  await w.platform.advance(3_000);
  await accept(w);
  assert.deepEqual([give.count, tokens(w), w.client.state.name], [2, ["t2"], "live"]);
});

test("a fixed token that expired ends the client: another try would say the same", async () => {
  const w = await started("secret");
  await accept(w);
  w.socket.end(3005);
  await w.platform.advance(600_000);
  assert.deepEqual(
    [w.sockets.length, w.client.state.name, w.client.state.reason],
    [1, "closed", "token expired"],
  );
});

test("a token that is called expired on the line is renewed on the line, and the view asked for again", async () => {
  const give = source();
  const w = await started(give);
  const board = new FakeBoard(someRows(5));
  serve(w.socket, board);
  const answer = w.socket.oncommand;
  w.socket.oncommand = (command) => {
    if (command.op === "subscribe" && tokens(w).length < 2) {
      w.socket.push({ type: "error", id: command.id, code: "token_expired", reason: "", retry: true });
    } else answer(command);
  };
  w.socket.open();
  await w.platform.advance(5_000);
  assert.deepEqual([tokens(w), w.sockets.length, w.client.state.name], [["t1", "t2"], 1, "live"]);
});

test("a JSON web token is renewed before it expires, on the same line", async () => {
  let given = 0;
  const w = await started(() => jwt({ sub: String(++given), iat: 1_000, exp: 1_000 + 600 }));
  await accept(w);
  for (let quarter = 0; quarter < 36; quarter++) {
    await w.platform.advance(15_000);
    w.socket.push({ type: "heartbeat", at: 0, heads: { "s12/top/5": ["00112233445566aa", 1] } });
  }
  assert.deepEqual([given, w.sockets.length], [1, 1]);
  await w.platform.advance(35_000);
  assert.deepEqual([given, tokens(w).length, w.sockets.length], [2, 2, 1]);
});

test("a callback that fails is tried again with the back-off; one that gives nothing ends the client", async () => {
  let fails = 2;
  const w = await started(async () => {
    if (fails-- > 0) throw new Error("login is away");
    return "t";
  });
  assert.match(w.client.state.reason, /login is away/);
  await w.platform.advance(10_000);
  await accept(w);
  assert.equal(w.client.state.name, "live");
  const other = await started(async () => null);
  assert.deepEqual(
    [other.client.state.name, other.client.state.reason, other.sockets.length],
    ["closed", "no token", 0],
  );
});

test("a callback that never answers is given up like a line that does not open", async () => {
  const w = await started(() => new Promise(() => {}));
  await w.platform.advance(10_000);
  assert.equal(w.client.state.reason, "no answer");
});

test("a client that was closed while it waited for a token opens nothing", async () => {
  let give;
  const w = await started(
    () =>
      new Promise((resolve) => {
        give = resolve;
      }),
  );
  w.client.close();
  give("t");
  await w.platform.advance(10_000);
  assert.deepEqual([w.sockets.length, w.platform.timers], [0, 0]);
});

test("streams carry the token in a header", async () => {
  const streams = new FakeStreams();
  await started("secret", { fetch: streams.fetch, transport: "sse" });
  assert.equal(streams.newest.headers.authorization, "Bearer secret");
  assert.ok(!streams.newest.address.href.includes("secret"));
});

test("the life of a token is read where it is told", () => {
  assert.equal(lifeOf(jwt({ iat: 100, exp: 160 }), 5_000_000), 60_000);
  assert.equal(lifeOf(jwt({ exp: 160 }), 100_000), 60_000);
  for (const text of ["opaque", jwt({}), "a.b.c", ""]) assert.equal(lifeOf(text, 0), null);
});
