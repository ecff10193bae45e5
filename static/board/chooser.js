// The choice between boards, where the server has more than one season.
//
// Owns: the list in the head of the page. Neighbours: season.js knows the seasons.

import { byId, make, setHidden } from "./dom.js";

/** @import { Season } from './season.js' */

/** @param {readonly Season[]} seasons @param {string} board the one that is shown */
export function seasonSwitch(seasons, board) {
  const select = byId("seasons", HTMLSelectElement);
  select.append(
    ...seasons.map((season) => {
      const option = make("option", "", season.name);
      option.value = season.board;
      option.selected = season.board === board;
      return option;
    }),
  );
  if (!seasons.some((season) => season.board === board)) select.selectedIndex = -1;
  select.addEventListener("change", () => location.assign(`?board=${encodeURIComponent(select.value)}`));
  setHidden(byId("season-choice", HTMLElement), seasons.length < 2);
}
