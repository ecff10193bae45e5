/** The overlay for streams: the top rows over whatever lies below. `?board=s12&limit=10` */

import { connect } from "./rankcast.js";

const asked = new URLSearchParams(location.search);
const list = document.getElementById("rows");
const template = document.getElementById("row").content.firstElementChild;

async function firstBoard() {
  const { seasons } = await (await fetch("/seasons")).json();
  return seasons[0]?.board;
}

function show(view) {
  while (list.children.length > view.rows.length) list.lastElementChild.remove();
  while (list.children.length < view.rows.length) list.append(template.cloneNode(true));
  view.rows.forEach((row, at) => {
    const [rank, name, points] = list.children[at].children;
    rank.textContent = row.rank;
    name.textContent = row.name ?? row.player;
    points.textContent = row.points.toLocaleString("en");
  });
}

const board = asked.get("board") ?? (await firstBoard());
const limit = Number(asked.get("limit") ?? 10);
if (board) connect().board(board).top({ limit }, show);
