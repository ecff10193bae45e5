// Rows that glide to their places: each starts where it is seen now, and ends where it stands.
//
// Owns: where rows are, in rows from the top (a row's own height is 100 %, so no pixel is ever measured), the
// running animations, and when there are none: by the viewer's wish for less motion, or while nobody looks. Only
// transform and opacity change; the document's layout stays as it is.
// Neighbours: table.js and feed.js say who goes where.

const GLIDE_MS = 480;
const ENTER_MS = 360;
const FLASH_MS = 900;
const EASING = "cubic-bezier(0.22, 0.8, 0.3, 1)";

/** @typedef {{ animation: Animation, from: number }} Running */

/** @param {number} place */
const at = (place) => `translateY(${(place * 100).toFixed(2)}%)`;

export class Glide {
  #calm = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {Map<HTMLElement, number>} */
  #places = new Map();
  /** @type {Map<HTMLElement, Running>} */
  #running = new Map();

  /** Whether rows may move at all. */
  get allowed() {
    return !this.#calm.matches && document.visibilityState === "visible";
  }

  /**
   * Where the row is seen now.
   * @param {HTMLElement} row
   */
  seenAt(row) {
    const place = this.#places.get(row) ?? 0;
    const running = this.#running.get(row);
    if (!running) return place;
    const progress = running.animation.effect?.getComputedTiming().progress ?? 1;
    return running.from + (place - running.from) * progress;
  }

  /**
   * Puts the row to its place, without a way there.
   * @param {HTMLElement} row @param {number} place
   */
  put(row, place) {
    this.#stop(row);
    this.#set(row, place);
  }

  /**
   * Lets the row glide to its place from where it is seen.
   * @param {HTMLElement} row @param {number} place
   */
  move(row, place) {
    const from = this.seenAt(row);
    this.put(row, place);
    if (Math.abs(from - place) < 0.02) return;
    this.#run(row, from, [{ transform: at(from) }, { transform: at(place) }], GLIDE_MS);
  }

  /**
   * Lets a new row come in at its place, from a bit beside it.
   * @param {HTMLElement} row @param {number} place @param {number} from
   */
  enter(row, place, from) {
    this.put(row, place);
    const frames = [
      { transform: at(from), opacity: 0 },
      { transform: at(place), opacity: 1 },
    ];
    this.#run(row, from, frames, ENTER_MS);
  }

  /**
   * Lets a mark light up and fade.
   * @param {HTMLElement} mark
   */
  flash(mark) {
    if (this.#running.has(mark)) return;
    this.#run(mark, 0, [{ opacity: 1 }, { opacity: 0 }], FLASH_MS);
  }

  /**
   * Forgets a row that leaves.
   * @param {HTMLElement} row
   */
  drop(row) {
    this.#stop(row);
    this.#places.delete(row);
  }

  /** @param {HTMLElement} row @param {number} place */
  #set(row, place) {
    if (this.#places.get(row) === place) return;
    this.#places.set(row, place);
    row.style.transform = at(place);
  }

  /** @param {HTMLElement} row */
  #stop(row) {
    this.#running.get(row)?.animation.cancel();
    this.#running.delete(row);
  }

  /** @param {HTMLElement} row @param {number} from @param {Keyframe[]} frames @param {number} duration */
  #run(row, from, frames, duration) {
    const animation = row.animate(frames, { duration, easing: EASING });
    const running = { animation, from };
    this.#running.set(row, running);
    animation.onfinish = () => {
      if (this.#running.get(row) === running) this.#running.delete(row);
    };
  }
}
