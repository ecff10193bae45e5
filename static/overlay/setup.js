/**
 * The page that builds an overlay's address: a form, a live preview, a button that copies.
 *
 * What is typed becomes the address by `options.js`, which the overlay reads it with: they cannot disagree.
 */

import { address, read } from "./options.js";
import { LANGUAGES } from "./words.js";

const PREVIEW_MS = 300; // a preview that reloads at every key would flicker
const form = document.getElementById("form");
const shown = document.getElementById("address");
const preview = document.getElementById("preview");
const scene = document.getElementById("scene");
const copied = document.getElementById("copied");
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
  for (const name of ["board", "title", "limit", "scale", "lang"]) form.elements[name].value = options[name] ?? "";
  form.elements.player.value = options.player ?? "";
  form.elements.theme.value = options.theme;
  for (const box of form.elements.columns) box.checked = options.columns.includes(box.value);
  form.elements.rankups.checked = options.rankups;
}

function update() {
  const options = typed();
  const player = form.elements.player;
  player.setCustomValidity(player.value.trim() && !options.player ? "A whole number, such as 42 or -7" : "");
  player.setAttribute("aria-invalid", String(!player.validity.valid));
  shown.value = address(options, location.origin);
  copied.textContent = "";
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (preview.src !== shown.value) preview.src = shown.value;
  }, PREVIEW_MS);
}

function fit() {
  preview.style.transform = `scale(${scene.clientWidth / WIDTH})`;
}

async function copy() {
  try {
    await navigator.clipboard.writeText(shown.value);
  } catch {
    shown.select(); // without a secure origin there is no clipboard to write to
    document.execCommand("copy");
  }
  copied.textContent = "Copied.";
}

async function boards() {
  try {
    const { seasons } = await (await fetch("/seasons")).json();
    return seasons;
  } catch {
    return [];
  }
}

function choice(value, text) {
  const option = document.createElement("option");
  option.value = value;
  option.textContent = text;
  return option;
}

const names = new Intl.DisplayNames(["en"], { type: "language" });
form.elements.lang.replaceChildren(...LANGUAGES.map((lang) => choice(lang, names.of(lang))));
const seasons = await boards();
form.elements.board.replaceChildren(...seasons.map((season) => choice(season.board, `${season.name} (${season.board})`)));

const start = read(new URLSearchParams(location.search));
fill({ ...start, board: start.board ?? seasons[0]?.board });
form.addEventListener("input", update);
form.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("copy").addEventListener("click", copy);
addEventListener("resize", fit);
fit();
update();
