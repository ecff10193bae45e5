/**
 * The rows: as many as fit, each gliding to its place.
 *
 * Owns: the row elements, which are kept and used again, so that a day of changes makes no more of them than an hour.
 * Never does: know the connection. A row is moved by `transform` alone; CSS makes it glide.
 */

const MARK_MS = 4000; // how long a move stays marked
const LEAVE_MS = 600; // a little longer than the style's fade
const MOST_ELEMENTS = 2; // a row that fits: where more are on their way out, they go at once
const GAP = 0.35; // of a row, before the chosen player below the others
const BANNER_ROWS = 1.4; // what the strip below takes
const WIDTHS = { rank: "minmax(2.6em, max-content)", name: "minmax(0, 1fr)", points: "max-content" };
const SCORED = [{ transform: "scale(1.18)", color: "var(--flash)" }, {}];

export class Panel {
  /** @param {HTMLElement} list @param {HTMLTemplateElement} template @param {import("./options.js").Options} options */
  constructor(list, template, options, number) {
    this.list = list;
    this.options = options;
    this.number = number;
    this.sample = template.content.firstElementChild;
    this.shown = new Map(); // player -> {element, row, timer}
    this.spare = [];
    this.top = null;
    this.own = null;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    list.style.setProperty("--columns", options.columns.map((name) => WIDTHS[name]).join(" "));
    list.dataset.first = options.columns[0];
    this.fit = this.room();
  }

  /** Show a top view, and mark who moved. @param {import("../rankcast.js").TopView} view */
  setTop(view) {
    this.top = view;
    this.draw();
    this.markAll(view);
  }

  /** Show the chosen player, below the others where not among them. @param {import("../rankcast.js").AroundView} view */
  setOwn(view) {
    this.own = view.own;
    if (!this.top) return;
    this.draw();
    if (!this.isInTop(view.player)) this.markAll(view);
  }

  /** The name of a player who is in a view, null where it is not known. */
  nameOf(player) {
    const row = this.top?.rows.find((one) => one.player === player) ?? this.own;
    return row?.player === player ? row.name : null;
  }

  /** The window has another size: other rows fit. */
  resize() {
    this.fit = this.room();
    if (this.top) this.draw();
  }

  /** Put every row to its place. */
  draw() {
    const rows = this.chosen();
    const left = new Set(this.shown.keys());
    let at = 0;
    for (const [index, row] of rows.entries()) {
      if (index > 0 && row.rank > rows[index - 1].rank + 1) at += GAP;
      left.delete(row.player);
      this.put(row, at++);
    }
    for (const player of left) this.drop(player);
    this.list.style.setProperty("--rows", String(at));
  }

  /** The rows that fit, the chosen player's among them. */
  chosen() {
    const rows = this.top.rows.slice(0, Math.min(this.options.limit, this.fit));
    const { player } = this.options;
    const own = this.top.rows.find((row) => row.player === player) ?? this.own; // the newer of both
    if (!own || own.rank <= rows.length) return rows;
    return [...rows.slice(0, this.fit - 1), own];
  }

  isInTop(player) {
    return this.top.rows.some((row) => row.player === player);
  }

  /** How many rows there is room for, one at least. */
  room() {
    const probe = this.sample.cloneNode(true);
    this.list.append(probe);
    const height = probe.offsetHeight || 1;
    probe.remove();
    const free = (this.list.parentElement.clientHeight - this.list.offsetTop) / height;
    const taken = (this.options.rankups ? BANNER_ROWS : 0) + (this.options.player ? GAP : 0);
    return Math.max(1, Math.floor(free - taken));
  }

  put(row, at) {
    const entry = this.shown.get(row.player) ?? this.enter(row.player);
    const { element } = entry;
    element.style.transform = `translateY(${100 * at}%)`;
    element.classList.toggle("own", row.player === this.options.player);
    if (entry.row === row) return;
    if (entry.row && entry.row.points !== row.points) this.flash(element);
    this.fill(element, row);
    entry.row = row;
  }

  fill(element, row) {
    const [rank, name, points] = element.children;
    setText(rank, this.number(row.rank));
    setText(name.firstElementChild, row.name ?? row.player);
    setText(points, this.number(row.points));
    if (row.rank <= 3) element.dataset.medal = String(row.rank);
    else delete element.dataset.medal;
  }

  enter(player) {
    const element = this.spare.pop() ?? this.build();
    const entry = { element, row: null, timer: 0 };
    element.className = "entering";
    this.list.append(element);
    this.shown.set(player, entry);
    requestAnimationFrame(() => requestAnimationFrame(() => element.classList.remove("entering")));
    return entry;
  }

  build() {
    const element = this.sample.cloneNode(true);
    const cells = { rank: element.children[0], name: element.children[1], points: element.children[2] };
    for (const [name, cell] of Object.entries(cells)) {
      const place = this.options.columns.indexOf(name);
      cell.hidden = place < 0;
      cell.style.order = String(place);
    }
    return element;
  }

  drop(player) {
    const { element, timer } = this.shown.get(player);
    clearTimeout(timer);
    this.shown.delete(player);
    const putAway = () => {
      element.remove();
      this.spare.push(element);
    };
    if (this.list.childElementCount > MOST_ELEMENTS * this.fit) return putAway();
    element.classList.add("leaving");
    setTimeout(putAway, LEAVE_MS);
  }

  markAll({ changes }) {
    if (changes.first) return;
    for (const { player, places } of changes.moved) this.mark(player, places);
  }

  mark(player, places) {
    const entry = this.shown.get(player);
    if (!entry) return;
    const { classList } = entry.element;
    const move = entry.element.querySelector(".move");
    setText(move, `${places > 0 ? "▲" : "▼"} ${this.number(Math.abs(places))}`);
    classList.toggle("up", places > 0);
    classList.toggle("down", places < 0);
    clearTimeout(entry.timer);
    entry.timer = setTimeout(() => classList.remove("up", "down"), MARK_MS);
  }

  flash(element) {
    if (!this.calm.matches) element.children[2].animate(SCORED, { duration: 900, easing: "ease-out" });
  }
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
