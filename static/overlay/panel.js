/**
 * The rows: as many as fit, each gliding to its place.
 *
 * Owns: the row elements, which are kept and used again, so that a day of changes makes no more of them than an hour.
 * Never does: know the connection. A row is moved by `transform` alone; CSS makes it glide.
 */

const MARK_MS = 4000; // how long a move or new points stay marked
const LEAVE_MS = 600; // a little longer than the style's fade
const GAP = 0.35; // of a row, before the chosen player below the others
const BANNER_ROWS = 1.4; // what the strip below takes

export class Panel {
  /** @param {HTMLElement} list @param {HTMLTemplateElement} template @param {import("./options.js").Options} options */
  constructor(list, template, options, number) {
    this.list = list;
    this.options = options;
    this.number = number;
    this.sample = template.content.firstElementChild;
    this.shown = new Map(); // player -> {element, row, marked}
    this.spare = [];
    this.top = null;
    this.own = null;
    this.list.style.setProperty("--columns", options.columns.map((name) => WIDTHS[name]).join(" "));
  }

  /** Show a top view, and mark who moved. */
  setTop(view) {
    this.top = view;
    this.draw();
    if (view.changes.first) return;
    for (const { player, places } of view.changes.moved) this.mark(player, places);
  }

  /** The name of a player in the view, null where it is not known. */
  nameOf(player) {
    return this.top?.rows.find((row) => row.player === player)?.name ?? null;
  }

  /** The chosen player's row, null while unranked: shown below the others where it is not among them. */
  setOwn(row) {
    this.own = row;
    if (this.top) this.draw();
  }

  /** Put every row to its place; called again when the window's size changes. */
  draw() {
    const rows = this.chosen();
    const left = new Set(this.shown.keys());
    rows.forEach((row, at) => {
      left.delete(row.player);
      this.put(row, at, this.gapBefore(rows, at));
    });
    for (const player of left) this.drop(player);
    this.list.style.setProperty("--rows", String(rows.length + (this.gapBefore(rows, rows.length - 1) ? GAP : 0)));
  }

  /** The rows that fit, the chosen player's among them. */
  chosen() {
    const fit = Math.max(1, this.room());
    const rows = this.top.rows.slice(0, Math.min(this.options.limit, fit));
    const own = this.top.rows.find((row) => row.player === this.options.player) ?? this.own; // the newer of both
    if (!own || rows.some((row) => row.player === own.player)) return rows;
    return [...rows.slice(0, Math.max(0, fit - 1)), own];
  }

  room() {
    const overlay = this.list.parentElement;
    const below = this.options.rankups ? BANNER_ROWS : 0;
    return Math.floor((overlay.clientHeight - this.list.offsetTop) / this.rowHeight() - below);
  }

  rowHeight() {
    const probe = this.sample.cloneNode(true);
    probe.style.visibility = "hidden";
    this.list.append(probe);
    const height = probe.offsetHeight;
    probe.remove();
    return height || 1;
  }

  gapBefore(rows, at) {
    return at > 0 && rows[at].rank > rows[at - 1].rank + 1;
  }

  put(row, at, gap) {
    const entry = this.shown.get(row.player) ?? this.enter(row.player);
    const { element } = entry;
    element.style.transform = `translateY(${100 * (at + (gap ? GAP : 0))}%)`;
    element.dataset.medal = row.rank <= 3 ? String(row.rank) : "";
    element.classList.toggle("own", row.player === this.options.player);
    if (entry.row === row) return;
    if (entry.row && entry.row.points !== row.points) this.flash(entry);
    this.fill(element, row);
    entry.row = row;
  }

  fill(element, row) {
    const [rank, name, points] = element.children;
    setText(rank, this.number(row.rank));
    setText(name.firstElementChild, row.name ?? row.player);
    setText(points, this.number(row.points));
  }

  enter(player) {
    const element = this.spare.pop() ?? this.build();
    const entry = { element, row: null, timer: 0 };
    element.className = "entering";
    element.querySelector(".move").textContent = "";
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
    element.classList.add("leaving");
    setTimeout(() => {
      element.remove();
      this.spare.push(element);
    }, LEAVE_MS);
  }

  mark(player, places) {
    const entry = this.shown.get(player);
    if (!entry) return;
    const move = entry.element.querySelector(".move");
    move.textContent = `${places > 0 ? "▲" : "▼"} ${this.number(Math.abs(places))}`;
    this.forAWhile(entry, places > 0 ? "up" : "down");
  }

  flash(entry) {
    this.forAWhile(entry, "scored");
  }

  forAWhile(entry, name) {
    entry.element.classList.remove("up", "down");
    entry.element.classList.add(name);
    clearTimeout(entry.timer);
    entry.timer = setTimeout(() => entry.element.classList.remove("up", "down", "scored"), MARK_MS);
  }
}

const WIDTHS = { rank: "2.6em", name: "minmax(0, 1fr)", points: "max-content" };

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
