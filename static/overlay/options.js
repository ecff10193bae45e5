/**
 * What an overlay's address says, and the address that says it.
 *
 * Owns: names, defaults and bounds of the parameters. Never does: touch the page. A value that is not understood
 * falls back to its default, since nobody looks at a console during a stream; `/overlay/setup` shows what is taken.
 */

export const THEMES = ["dark", "light", "clear"];
export const COLUMNS = ["rank", "name", "points"];
export const LIMIT = { least: 1, most: 100, usual: 10 };
export const SCALE = { least: 0.5, most: 4, usual: 1 };

const PLAYER = /^(0|-?[1-9]\d{0,18})$/;
const BITS = 64;
const TITLE = 80; // characters

/** @typedef {{board: string|null, limit: number, player: string|null, theme: string, scale: number,
 *   columns: string[], title: string, lang: string, rankups: boolean}} Options */

/** @param {URLSearchParams} asked @returns {Options} */
export function read(asked) {
  const columns = (asked.get("columns") ?? "").split(",").filter((name) => COLUMNS.includes(name));
  return {
    board: asked.get("board") || null,
    limit: Math.round(within(asked.get("limit"), LIMIT)),
    player: player(asked.get("player")),
    theme: THEMES.includes(asked.get("theme")) ? asked.get("theme") : THEMES[0],
    scale: within(asked.get("scale"), SCALE),
    columns: columns.length ? [...new Set(columns)] : COLUMNS,
    title: [...(asked.get("title") ?? "").trim()].slice(0, TITLE).join("").trim(),
    lang: language(asked.get("lang")),
    rankups: asked.get("rankups") !== "0",
  };
}

/** The address of the overlay with these options: what is as usual is left out. @param {Options} options */
export function address(options, origin) {
  const said = new URLSearchParams();
  if (options.board) said.set("board", options.board);
  if (options.limit !== LIMIT.usual) said.set("limit", String(options.limit));
  if (options.player) said.set("player", options.player);
  if (options.theme !== THEMES[0]) said.set("theme", options.theme);
  if (options.scale !== SCALE.usual) said.set("scale", String(options.scale));
  if (options.columns.join() !== COLUMNS.join()) said.set("columns", options.columns.join());
  if (options.title) said.set("title", options.title);
  if (options.lang !== "en") said.set("lang", options.lang);
  if (!options.rankups) said.set("rankups", "0");
  const query = String(said).replaceAll("%2C", ",").replaceAll("%3A", ":"); // for people to read
  return `${origin}/overlay${query && `?${query}`}`;
}

/** A player's id as the protocol takes it, else null. */
function player(text) {
  if (text === null || !PLAYER.test(text)) return null;
  return BigInt.asIntN(BITS, BigInt(text)) === BigInt(text) ? text : null;
}

function within(text, { least, most, usual }) {
  const number = text === null || text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(number) ? Math.min(most, Math.max(least, number)) : usual;
}

function language(text) {
  try {
    return Intl.getCanonicalLocales(text ?? "en")[0] ?? "en";
  } catch {
    return "en";
  }
}
