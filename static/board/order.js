// Which rows can stay where they are when an order changes. Pure.
//
// Owns: the least number of moves between two orders. Neighbours: table.js moves the others.

/**
 * The longest run of rows that keep their order: for each new place whether its row can stay in the document.
 * `before` holds the old place of the row at each new place, -1 where it is new.
 * @param {readonly number[]} before @returns {boolean[]}
 */
export function staying(before) {
  /** @type {number[]} places whose rows end the best run of each length */
  const ends = [];
  /** @type {number[]} */
  const previous = new Array(before.length).fill(-1);
  before.forEach((old, place) => {
    if (old < 0) return;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (before[ends[middle]] < old) low = middle + 1;
      else high = middle;
    }
    if (low > 0) previous[place] = ends[low - 1];
    ends[low] = place;
  });
  const stays = new Array(before.length).fill(false);
  for (let place = ends.length ? ends[ends.length - 1] : -1; place >= 0; place = previous[place]) {
    stays[place] = true;
  }
  return stays;
}
