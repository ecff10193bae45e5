// Numbers, ranks and times as people read them. Pure.
//
// Neighbours: all modules that show something.

const DAY_MS = 86_400_000;
const GROUPED = new Intl.NumberFormat("en");
const ORDINALS = new Intl.PluralRules("en", { type: "ordinal" });
/** @type {{ [rule: string]: string }} */
const ENDINGS = { one: "st", two: "nd", few: "rd", other: "th" };
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** @param {number} value */
export const grouped = (value) => GROUPED.format(value);

/** @param {number} rank */
export const ordinal = (rank) => `${grouped(rank)}${ENDINGS[ORDINALS.select(rank)]}`;

/** @param {number} count @param {string} one @param {string} many */
export const counted = (count, one, many) => `${grouped(count)} ${count === 1 ? one : many}`;

/**
 * A rate: whole above 10, with one digit below.
 * @param {number} perSecond
 */
export const rate = (perSecond) =>
  perSecond >= 10 || perSecond === 0 ? grouped(Math.round(perSecond)) : perSecond.toFixed(1);

/**
 * What a player is called: the name, else the id.
 * @param {{ name: string | null, player: string }} row
 */
export const called = ({ name, player }) => name ?? `Player ${player}`;

/**
 * A day as people write it; `day` is YYYY-MM-DD.
 * @param {string} day
 */
export function dayText(day) {
  const [year, month, date] = day.split("-");
  return `${Number(date)} ${MONTHS[Number(month) - 1]} ${year}`;
}

/**
 * The day of a moment in Unix milliseconds, as UTC has it.
 * @param {number} ms
 */
export const dayOf = (ms) => dayText(new Date(ms).toISOString().slice(0, -14));

/**
 * A moment in Unix milliseconds as clocks here have it, the year where it is not this one; the day alone, the same
 * everywhere, where the season counts in days.
 * @param {number} ms @param {number} [now]
 */
export function momentText(ms, now = Date.now()) {
  if (ms % DAY_MS === 0) return dayOf(ms);
  const at = new Date(ms);
  const year = at.getFullYear() === new Date(now).getFullYear() ? "" : ` ${at.getFullYear()}`;
  return `${at.getDate()} ${MONTHS[at.getMonth()]}${year}, ${at.toTimeString().slice(0, 8)}`;
}

/**
 * The time of the day here.
 * @param {number} ms
 */
export const clockText = (ms) => new Date(ms).toLocaleTimeString("en-GB");

/**
 * How long something lasts.
 * @param {number} ms
 */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
