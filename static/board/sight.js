// What part of the page is in sight, known without asking the document: while it is being written to, each question
// about its layout would have it laid out anew.
//
// Owns: the scroll position and the screen's height, as of the last event. Neighbours: table.js asks.

export const sight = { top: scrollY, height: innerHeight };

addEventListener("scroll", () => (sight.top = scrollY), { passive: true });
addEventListener("resize", () => {
  sight.top = scrollY;
  sight.height = innerHeight;
});
