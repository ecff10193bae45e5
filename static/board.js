/** The live board's page: chooses the board, shows what the client hands over. Knows no protocol. */

import { connect } from "./rankcast.js";

const DAY_MS = 86_400_000;
const element = (id) => document.getElementById(id);

/** The board of the address (`?board=s12`), else that of the first season. */
async function chosenSeason() {
  const wanted = new URLSearchParams(location.search).get("board");
  const answer = await fetch("/seasons");
  if (!answer.ok) throw new Error(`the seasons cannot be read (${answer.status})`);
  const { seasons } = await answer.json();
  const found = wanted ? seasons.find((season) => season.board === wanted) : seasons[0];
  return found ?? { board: wanted, name: wanted };
}

/** A time in Unix milliseconds as text, in UTC; the day alone where the season counts in days. */
function timeText(ms) {
  const iso = new Date(ms).toISOString();
  return ms % DAY_MS === 0 ? iso.slice(0, 10) : `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function showRow(tr, row) {
  const [rank, name, points, when] = tr.children;
  setText(rank, String(row.rank));
  setText(name.firstElementChild, row.name ?? row.player);
  name.title = row.name ? `${row.name} (${row.player})` : row.player;
  setText(points, row.points.toLocaleString("en"));
  setText(when, timeText(row.achievedAt));
}

function show(view) {
  const body = element("rows");
  const template = element("row").content.firstElementChild;
  while (body.children.length > view.rows.length) body.lastElementChild.remove();
  while (body.children.length < view.rows.length) body.append(template.cloneNode(true));
  view.rows.forEach((row, at) => showRow(body.children[at], row));
  setText(element("total"), view.total.toLocaleString("en"));
  setText(element("version"), String(view.version));
  say(view.rows.length ? "" : "Nobody is ranked yet.");
}

function say(text) {
  const message = element("message");
  message.textContent = text;
  message.hidden = !text;
}

function showState({ name, reason }) {
  const state = element("state");
  state.dataset.state = name;
  state.textContent = reason ? `${name}: ${reason}` : name;
}

async function start() {
  const season = await chosenSeason();
  if (!season.board) return say("There is no season yet: rankcast season create FILE.json makes one.");
  element("season").textContent = season.name;
  document.title = `${season.name} · Rankcast`;
  const live = connect();
  live.onstate(showState);
  live.board(season.board).top({ limit: 100, onerror: (refusal) => say(refusal.reason) }, show);
}

start().catch((error) => say(`The board cannot be shown: ${error.message}`));
