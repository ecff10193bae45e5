// What the client takes from where it runs: the clock, timers, chance, frames of the screen, waking up.
//
// Owns: the differences between a browser and Node. Everything else is the same in both.
// Neighbours: ../rankcast.js makes one unless a test gives its own.

/** @import { Platform } from './types.js' */

/**
 * The platform of this process: a page, a worker or Node.
 * @returns {Platform}
 */
export function ownPlatform() {
  const page = typeof document === "object" ? document : null;
  return {
    // Date.now, not performance.now: the latter stands still while the machine sleeps.
    now: () => Date.now(),
    random: () => Math.random(),
    later: (run, ms) => setTimeout(run, ms),
    cancel: (timer) => clearTimeout(/** @type {number} */ (timer)),
    frame: (run) =>
      typeof requestAnimationFrame === "function" ? requestAnimationFrame(run) : setTimeout(run, 0),
    hidden: () => page !== null && page.visibilityState === "hidden",
    onwake: (run) => listen(page, run),
    /** An error of the caller's code: it must not end ours, and must not be lost. */
    report: (error) => {
      if (typeof reportError === "function") reportError(error);
      else
        queueMicrotask(() => {
          throw error;
        });
    },
  };
}

/** @param {Document | null} page @param {(cause: string) => void} run */
function listen(page, run) {
  /** @type {[EventTarget, string][]} */
  const places = [];
  if (page) places.push([page, "visibilitychange"], [page, "resume"]);
  if (page && typeof window === "object") places.push([window, "pageshow"]);
  if (typeof globalThis.addEventListener === "function") places.push([globalThis, "online"]);
  const heard = (/** @type {Event} */ event) => run(event.type);
  for (const [place, type] of places) place.addEventListener(type, heard);
  return () => {
    for (const [place, type] of places) place.removeEventListener(type, heard);
  };
}
