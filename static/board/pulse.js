// How the board gets on beside its rows: results a second, what waits in Kafka, the newest version.
//
// Owns: when the server is asked: as often as it says itself, and not while nobody looks. The rows are never asked
// for: they come by themselves. Neighbours: facts.js shows it.

/** @typedef {{ epoch: string | null, version: number, total: number, resultsPerSecond: number | null, lagRecords: number | null, refreshMs: number }} Pulse */

const AGAIN_MS = 5_000; // after a failure
const SECOND_MS = 1_200; // a rate needs two looks

/**
 * Calls `onpulse` with what the server tells, null where it does not answer, until the page is left.
 * @param {number} season @param {(pulse: Pulse | null) => void} onpulse
 */
export function follow(season, onpulse) {
  let timer = 0;
  let looks = 0;
  const look = async () => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") return;
    const pulse = await ask(season);
    onpulse(pulse);
    looks += 1;
    const wait = pulse === null ? AGAIN_MS : looks === 1 ? SECOND_MS : pulse.refreshMs;
    clearTimeout(timer);
    timer = window.setTimeout(look, wait * (0.9 + 0.2 * Math.random()));
  };
  document.addEventListener("visibilitychange", look);
  void look();
}

/** @param {number} season @returns {Promise<Pulse | null>} */
async function ask(season) {
  try {
    const answer = await fetch(`/seasons/${season}/leaderboard/status`);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}
