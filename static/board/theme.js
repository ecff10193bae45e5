// Dark or light: as the system says, or as the viewer does.
//
// Owns: the switch. early.js has set the remembered choice before the page was painted.

import { setData } from "./dom.js";

const KEY = "rankcast.theme";
const WORDS = { dark: "Use the light colours", light: "Use the dark colours" };

/** @param {HTMLButtonElement} button */
export function themeSwitch(button) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const now = () =>
    root.dataset.theme === "light" || (!root.dataset.theme && !dark.matches) ? "light" : "dark";
  const tell = () => {
    button.setAttribute("aria-label", WORDS[now()]);
    button.title = WORDS[now()];
  };
  button.addEventListener("click", () => {
    setData(root, "theme", now() === "dark" ? "light" : "dark");
    try {
      localStorage.setItem(KEY, root.dataset.theme ?? "");
    } catch {
      // it lasts as long as the page
    }
    tell();
  });
  dark.addEventListener("change", tell);
  tell();
}
