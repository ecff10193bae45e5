// The page's elements: found by id, made, and changed only where something changed.
//
// Owns: that text goes in as text. Neighbours: all modules that draw.

/**
 * The element of this id; the page has it.
 * @template {HTMLElement} T @param {string} id @param {new () => T} kind @returns {T}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return found;
}

/**
 * @param {Node} node @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * @param {HTMLElement} element @param {string} name @param {string} value
 */
export function setData(element, name, value) {
  if (element.dataset[name] !== value) element.dataset[name] = value;
}

/**
 * @param {HTMLElement} element @param {boolean} hidden
 */
export function setHidden(element, hidden) {
  if (element.hidden !== hidden) element.hidden = hidden;
}

/**
 * @template {keyof HTMLElementTagNameMap} K @param {K} tag @param {string} [className] @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, className = "", ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

/**
 * @template {keyof SVGElementTagNameMap} K @param {K} tag @param {Record<string, string | number>} attributes
 * @returns {SVGElementTagNameMap[K]}
 */
export function draw(tag, attributes = {}) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}
