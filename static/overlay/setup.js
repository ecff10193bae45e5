/**
 * The page that builds an overlay's address: a form, a live preview, a button that copies.
 *
 * What is typed becomes the address by `options.js`, which the overlay reads it with: they cannot disagree.
 */

import { themeSwitch } from "../board/theme.js";
import { address, read } from "./options.js";
import { LANGUAGES } from "./words.js";

const PREVIEW_MS = 300; // a preview that reloads at every key would flicker
const form = document.getElementById("form");
const shown = document.getElementById("address");
const preview = document.getElementById("preview");
const scene = document.getElementById("scene");
const copied = document.getElementById("copied");
const none = document.getElementById("none");
const WIDTH = 1920;

let timer = 0;

function typed() {
  const said = new URLSearchParams();
  const fields = new FormData(form);
  for (const name of ["board", "title", "limit", "scale", "player", "theme", "lang"]) {
    const value = String(fields.get(name) ?? "").trim();
    if (value) said.set(name, value);
  }
  said.set("columns", fields.getAll("columns").join());
  if (!fields.get("rankups")) said.set("rankups", "0");
  return read(said);
}

function fill(options) {
  for (const name of ["board", "title", "limit", "scale", "lang"])
    form.elements[name].value = options[name] ?? "";
  form.elements.player.value = options.player ?? "";
  form.elements.theme.value = options.theme;
  for (const box of form.elements.columns) box.checked = options.columns.includes(box.value);
  form.elements.rankups.checked = options.rankups;
}

function update() {
  const options = typed();
  const player = form.elements.player;
  player.setCustomValidity(player.value.trim() && !options.player ? "A whole number, such as 42 or -7" : "");
  shown.value = address(options, location.origin);
  copied.textContent = "";
  clearTimeout(timer);
  timer = setTimeout(() => show(shown.value), PREVIEW_MS);
}

/** Replaces the preview, so that the browser's way back leads out of this page and not through all that was typed. */
function show(url) {
  const place = preview.contentWindow.location;
  if (place.href !== url) place.replace(url);
}

function fit() {
  preview.style.transform = `scale(${scene.clientWidth / WIDTH})`;
}

async function copy() {
  try {
    await navigator.clipboard.writeText(shown.value);
    copied.textContent = "Copied.";
  } catch {
    shown.select(); // without a secure origin there is no clipboard to write to
    copied.textContent = document.execCommand("copy") ? "Copied." : "Copy the marked address by hand.";
  }
}

async function boards() {
  try {
    const { seasons } = await (await fetch("/seasons")).json();
    if (!seasons.length) none.textContent = "There is no season yet.";
    return seasons;
  } catch {
    none.textContent = "The server is away: load this page again later.";
    return [];
  }
}

function choice(value, text) {
  const option = document.createElement("option");
  option.value = value;
  option.textContent = text;
  return option;
}

themeSwitch(document.getElementById("theme"));
const names = new Intl.DisplayNames(["en"], { type: "language" });
form.elements.lang.replaceChildren(...LANGUAGES.map((lang) => choice(lang, names.of(lang))));
const seasons = await boards();
form.elements.board.replaceChildren(
  ...seasons.map((season) => choice(season.board, `${season.name} (${season.board})`)),
);

const start = read(new URLSearchParams(location.search));
fill({ ...start, board: start.board ?? seasons[0]?.board });
form.addEventListener("input", update);
form.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("copy").addEventListener("click", copy);
addEventListener("resize", fit);
fit();
update();
