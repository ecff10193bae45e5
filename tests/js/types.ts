// The public types, used as a page written in TypeScript uses them. Checked by `npm run types`, never run.

import WsSocket from "ws";

import { connect } from "../../static/rankcast.js";
import type { AroundView, RankUp, Refusal, Row, State, Stop, TopView } from "../../static/rankcast.js";

const client = connect("wss://board.example", {
  token: async () => "token",
  WebSocket: WsSocket,
  transport: "auto",
});
connect();
connect(new URL("https://board.example/base/"), { WebSocket: globalThis.WebSocket, token: () => null });

const board = client.board("s12");

const stop: Stop = board.top({ limit: 100 }, (view: TopView) => {
  const names: (string | null)[] = view.rows.map((row: Row) => row.name);
  const ids: string[] = view.changes.entered.map(({ player }) => player);
  const places: number = view.changes.moved.reduce(
    (sum, move) => sum + move.places,
    names.length + ids.length,
  );
  console.log(view.total + places, view.stale?.since ?? 0, view.season?.length, view.epoch?.length);
  // @ts-expect-error rows are frozen
  view.rows.push(view.rows[0]);
  // @ts-expect-error and so is each of them
  view.rows[0].points = 1;
});

board.around(
  "9223372036854775807",
  { radius: 5, onrankup: (event: RankUp) => event.after },
  (view: AroundView) => {
    const rank: number | null = view.rank;
    console.log(rank, view.own?.name);
  },
);
board.around(9223372036854775807n, {}, () => {});
board.rankups(({ before, after, name }) => console.log(before ?? 0, after, name), { onerror: () => {} });

// @ts-expect-error a view needs somebody who looks at it
board.top({ limit: 10 });
// @ts-expect-error there is no such view
board.bottom({}, () => {});
// @ts-expect-error there is no such transport
connect("", { transport: "pigeons" });

client.onerror((refusal: Refusal) => console.log(refusal.code, refusal.retry));
const quiet: Stop = client.onstate((state: State) => {
  if (state.name === "closed") console.log(state.code, state.reason, state.retryAt);
  // @ts-expect-error there is no such state
  if (state.name === "open") console.log("never");
});
stop();
quiet();
client.close();
