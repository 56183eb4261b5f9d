// Elements, and the few pieces that all views are made of. Text becomes text nodes, never markup.

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const SVG = "http://www.w3.org/2000/svg";

/** An element "tag#id.class" with attributes (a plain object, `on…` are listeners) and children, in any order. */
export function el(what, ...children) {
  const [, tag, id, classes] = what.match(/^(\w+)(?:#([\w-]+))?((?:\.[\w-]+)*)$/);
  const node = document.createElement(tag);
  if (id) node.id = id;
  if (classes) node.className = classes.slice(1).replaceAll(".", " ");
  if (tag === "button") node.type = "button";
  for (const child of children.flat(2)) {
    if (child === null || child === undefined || child === false) continue;
    if (child.constructor === Object) assign(node, child);
    else node.append(child);
  }
  return node;
}

/** The same in SVG; every attribute is set as it is. */
export function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function assign(node, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value") node.value = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
}

/** A choice with its label: `groups` are [title or "", [[value, words], …]]. */
export function field(title, groups, value, onchange) {
  const choices = (list) => list.map(([key, words]) => el("option", { value: key }, words));
  const parts = groups.map(([name, list]) => (name ? el("optgroup", { label: name }, choices(list)) : choices(list)));
  const select = el("select", parts.flat(), { "aria-label": title, onchange: () => onchange(select.value) });
  select.value = value;
  return el("label.field", title, select);
}

let saying = 0;
/** Says a sentence to those who do not see the page; the same sentence twice is said twice, and only the last of many. */
export function say(text, wait = 30) {
  clearTimeout(saying);
  const place = $("#said");
  place.textContent = "";
  saying = setTimeout(() => { place.textContent = text; }, wait);
}

export const named = (text) => el("bdi", text);

/** Draw anew, and leave the focus where it was: on what has the same `data-key` or the same address. */
export function keepingFocus(root, draw) {
  const active = root.contains(document.activeElement) ? document.activeElement : null;
  const [key, href] = [active?.dataset.key, active?.getAttribute("href")];
  draw();
  if (!active || document.activeElement === active) return;
  const same = key ? `[data-key="${CSS.escape(key)}"]` : href ? `[href="${CSS.escape(href)}"]` : null;
  (same && $(same, root))?.focus({ preventScroll: true });
}
