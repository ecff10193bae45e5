/** Rank-ups, one after another in a strip of their own below the rows. At most three wait: the newest are kept. */

const SHOW_MS = 3500;
const PAUSE_MS = 350;
const MOST_WAITING = 3;

export class Banner {
  /** @param {(player: string) => string|null} nameOf asked when a rank-up is shown: names may come after it */
  constructor(element, words, number, nameOf) {
    this.element = element;
    this.words = words;
    this.number = number;
    this.nameOf = nameOf;
    this.name = document.createElement("bdi");
    this.said = document.createElement("span");
    this.rank = document.createElement("b");
    element.append(this.name, this.said, this.rank);
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
    this.said.textContent = event.before === null ? this.words.enters : this.words.climbs;
    this.rank.textContent = `#${this.number(event.after)}`;
    this.element.classList.add("shown");
    setTimeout(() => this.hide(), SHOW_MS);
  }

  hide() {
    this.element.classList.remove("shown");
    setTimeout(() => this.next(), PAUSE_MS);
  }
}
