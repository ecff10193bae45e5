// The demo's clock and buttons: the match day, a match of it, pause, speeds, and once more from the beginning.
//
// Owns: asking the server where its demo is. The clock runs to the newest day that is known to have been played: by
// the server's word, or by a row of the board, which comes sooner. Neighbours: board.js starts it, and tells the rows.

import { make, setData, setHidden, setText } from "./dom.js";
import { grouped } from "./format.js";

/** @typedef {{ playerId: number | string, name: string, goals: number }} Team */
/**
 * @typedef {{ phase: "starting" | "playing" | "paused" | "finished" | "restarting", board: string, speed: number,
 *   speeds: number[], controls: boolean, day: string | null, firstDay: string | null, lastDay: string | null,
 *   matchDay: number, matchDays: number, results: number, of: number,
 *   match: { home: Team, away: Team } | null }} State
 */

const EVERY_MS = 500;
const CLOCK_MS = 80;
const RUN_MS = 300; // the clock's way to a newer day
const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);
const WORDS = {
  starting: "Kick-off in a moment",
  playing: "",
  paused: "Paused",
  finished: "Full time",
  restarting: "Back to the first match",
};

/** Where the demo is, null where none is played. @returns {Promise<State | null>} */
export async function demoState() {
  try {
    const answer = await fetch("/demo");
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

/**
 * What the clock shows on its way between two moments, all in Unix milliseconds; back it goes at once. Pure.
 * @param {number} from @param {number} to @param {number} share 0 to 1
 */
export const between = (from, to, share) => (to > from ? from + (to - from) * Math.min(1, share) : to);

export class Demo {
  #parts;
  #flagOf;
  #state;
  #from = NaN;
  #to = NaN;
  #setAt = 0;
  #timer = 0;

  /**
   * @param {{ panel: HTMLElement, year: HTMLElement, day: HTMLElement, phase: HTMLElement, match: HTMLElement,
   *   done: HTMLElement, first: HTMLElement, last: HTMLElement, buttons: HTMLElement, pause: HTMLButtonElement,
   *   speeds: HTMLElement, restart: HTMLButtonElement }} parts
   * @param {State} state @param {(player: string) => string} flagOf
   */
  constructor(parts, state, flagOf) {
    this.#parts = parts;
    this.#flagOf = flagOf;
    this.#state = state;
    parts.pause.addEventListener("click", () => this.#order({ paused: this.#state.phase !== "paused" }));
    parts.restart.addEventListener("click", () => this.#order({ restart: true }));
    parts.speeds.append(...state.speeds.map((speed) => this.#speedButton(speed)));
    setHidden(parts.buttons, !state.controls);
    setHidden(parts.panel, false);
    this.#take(state);
    setInterval(() => this.#showClock(), CLOCK_MS);
    document.addEventListener("visibilitychange", () => this.#look());
    this.#later();
  }

  /** @param {number} speed */
  #speedButton(speed) {
    const button = make("button", "speed", `${speed}×`);
    button.type = "button";
    button.dataset.speed = String(speed);
    button.setAttribute("aria-label", `${speed} times`);
    button.addEventListener("click", () => this.#order({ speed, paused: false }));
    return button;
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#look(), EVERY_MS);
  }

  async #look() {
    clearTimeout(this.#timer);
    if (document.visibilityState === "hidden") return;
    const state = await demoState();
    if (state) this.#take(state);
    this.#later();
  }

  /** @param {{ paused?: boolean, speed?: number, restart?: boolean }} order */
  async #order(order) {
    try {
      const answer = await fetch("/demo", { method: "POST", body: JSON.stringify(order) });
      if (answer.ok) this.#take(await answer.json());
    } catch {
      // the clock stands still until the server is back, and says so beside the board
    }
  }

  /** @param {State} state */
  #take(state) {
    const back = state.matchDay < this.#state.matchDay;
    this.#state = state;
    const day = Date.parse(state.day ?? state.firstDay ?? "");
    if (back || !(day < this.#to)) this.#runTo(day);
    const { panel, phase, done, first, last, pause, speeds, restart } = this.#parts;
    setData(panel, "phase", state.phase);
    setText(phase, WORDS[state.phase] || `match day ${grouped(state.matchDay)}`);
    setText(first, state.firstDay?.slice(0, 4) ?? "");
    setText(last, state.lastDay?.slice(0, 4) ?? "");
    done.style.transform = `scaleX(${state.matchDays ? (state.matchDay / state.matchDays).toFixed(4) : 0})`;
    const paused = state.phase === "paused";
    pause.setAttribute("aria-pressed", String(paused));
    pause.setAttribute("aria-label", paused ? "Go on" : "Pause");
    pause.disabled = state.phase === "finished" || state.phase === "restarting";
    restart.disabled = state.phase === "restarting" || state.phase === "starting";
    setText(restart, state.phase === "finished" ? "Play it again" : "Restart");
    for (const button of speeds.children) {
      const chosen = button instanceof HTMLElement && Number(button.dataset.speed) === state.speed;
      button.setAttribute("aria-pressed", String(chosen));
    }
    this.#showMatch(state);
    this.#showClock();
  }

  /** @param {State} state */
  #showMatch({ match }) {
    if (!match) return setText(this.#parts.match, "");
    const { home, away } = match;
    const score = make("b", "", `${home.goals} – ${away.goals}`);
    this.#parts.match.replaceChildren(...this.#team(home), score, ...this.#team(away).reverse());
  }

  /** @param {Team} team */
  #team({ playerId, name }) {
    const flag = make("span", "flag", this.#flagOf(String(playerId)));
    flag.setAttribute("aria-hidden", "true");
    return [flag, make("bdi", "", name)];
  }

  /**
   * A day that is on the board has been played, whatever the server said last.
   * @param {readonly { achievedAt: number }[]} rows
   */
  seen(rows) {
    const newest = rows.reduce((latest, { achievedAt }) => Math.max(latest, achievedAt), -Infinity);
    if (this.#state.phase === "playing" && newest > this.#to) this.#runTo(newest);
  }

  /** @param {number} day */
  #runTo(day) {
    this.#from = day > this.#to ? this.#shown() : day;
    this.#to = day;
    this.#setAt = performance.now();
  }

  #shown() {
    return between(this.#from, this.#to, (performance.now() - this.#setAt) / RUN_MS);
  }

  #showClock() {
    const shown = this.#shown();
    if (Number.isNaN(shown)) return;
    const [year, month, date] = new Date(shown).toISOString().slice(0, 10).split("-");
    setText(this.#parts.year, year);
    setText(this.#parts.day, `${Number(date)} ${MONTHS[Number(month) - 1]}`);
  }
}
