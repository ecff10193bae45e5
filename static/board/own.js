// The player that a viewer has chosen on a board, remembered from visit to visit.
//
// Owns: one entry a board in the browser's storage, which may be closed to the page: then it lasts as long as the page.

/** @param {string} board */
const key = (board) => `rankcast.own.${board}`;

/** @param {string} board @returns {string | null} */
export function recall(board) {
  try {
    return localStorage.getItem(key(board));
  } catch {
    return null;
  }
}

/** @param {string} board @param {string | null} player */
export function remember(board, player) {
  try {
    if (player === null) localStorage.removeItem(key(board));
    else localStorage.setItem(key(board), player);
  } catch {
    // the page works all the same
  }
}
