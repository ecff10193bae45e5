// Flags before the names of the demo's teams, where this device can draw them.
//
// Owns: the map from the server, and the look whether a flag is drawn as one: some systems have no such signs and
// would show two letters. Neighbours: whoever shows a name asks `of`.

const SAMPLE = "\u{1F1E7}\u{1F1F7}"; // of Brazil: green and yellow

/** Whether the device draws flags in colour. */
function drawsFlags() {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  if (!context) return false;
  context.font = "24px sans-serif";
  context.textBaseline = "top";
  context.fillText(SAMPLE, 0, 0);
  const { data } = context.getImageData(0, 0, 24, 24);
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] > 128 && Math.abs(data[at] - data[at + 1]) > 24) return true; // not grey
  }
  return false;
}

export class Flags {
  /** @type {{ [player: string]: string }} */
  #flags = {};

  /** Reads the flags; true where there are any to show. */
  async load() {
    if (!drawsFlags()) return false;
    try {
      const answer = await fetch("/demo/flags");
      this.#flags = answer.ok ? await answer.json() : {};
    } catch {
      this.#flags = {}; // names alone do, too
    }
    return Object.keys(this.#flags).length > 0;
  }

  /** The player's flag, empty where there is none. @type {(player: string) => string} */
  of = (player) => this.#flags[player] ?? "";
}
