/** Rank-ups, one after another in a strip of their own below the rows. At most three wait: the newest are kept. */

const SHOW_MS = 3500;
const PAUSE_MS = 350;
const MOST_WAITING = 3;

export class Banner {
  /** @param {(player: string) => string|null} nameOf asked when a rank-up is shown: names may come after it */
  constructor(element, words, number, nameOf) {
    this.nameOf = nameOf;
    this.element = element;
    this.words = words;
    this.number = number;
    this.name = document.createElement("bdi");
    this.waiting = [];
    this.event = null; // the one that is shown
  }

  /** @param {import("../rankcast.js").RankUp} event */
  add(event) {
    this.waiting.push(event);
    if (this.waiting.length > MOST_WAITING) this.waiting.shift();
    if (!this.event) this.next();
  }

  /** Names may come after what they belong to: look again. */
  refresh() {
    const { event } = this;
    if (event) this.name.textContent = event.name ?? this.nameOf(event.player) ?? event.player;
  }

  next() {
    const event = (this.event = this.waiting.shift() ?? null);
    if (!event) return;
    this.refresh();
    const rank = document.createElement("b");
    rank.textContent = `#${this.number(event.after)}`;
    const said = event.before === null ? this.words.enters : this.words.climbs;
    this.element.replaceChildren(this.name, ` ${said} `, rank);
    this.element.classList.add("shown");
    setTimeout(() => {
      this.element.classList.remove("shown");
      setTimeout(() => this.next(), PAUSE_MS);
    }, SHOW_MS);
  }
}
