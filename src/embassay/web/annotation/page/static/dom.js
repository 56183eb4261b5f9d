// Elements, and the few pieces that all views are made of. Text becomes text nodes, never markup.

export const $ = (selector, root = document) => root.querySelector(selector);
const NARROW = 38, WIDE = 100;
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** An element "tag#id.class" with properties (a plain object) and children, in any order. */
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

function assign(node, properties) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value") node.value = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
}

/** Whether the lines of a text end where its file was narrow, and not where its author ended them. */
export function isWrapped(text) {
  const lines = text.trim().split("\n");
  const full = lines.slice(0, -1).filter((line) => line.trim().length >= NARROW);
  return lines.length > 1 && full.length >= 0.6 * (lines.length - 1) && lines.every((line) => line.length <= WIDE);
}

/** A text under judgement: in its own language and direction, a paragraph for each of its own. */
export function dataText(text, lang, what = "div.data") {
  const parts = String(text ?? "").split(/\n\s*\n/).filter((part) => part.trim());
  return el(what, { lang: languageTag(lang), dir: "auto" }, parts.map((part) => el("p", { dir: "auto" }, isWrapped(part) ? part.replaceAll("\n", " ") : part)));
}

/** A name that may be of another direction than the sentence around it. */
export const named = (text) => el("bdi", text);
export const cap = (text) => el("kbd", { "aria-hidden": "true" }, text);

/** "ara" as pages spell it: "ar"; nothing for what is no language, such as "mixed". */
export function languageTag(lang) {
  try {
    return /^[a-z]{2,3}\b/i.test(lang) ? Intl.getCanonicalLocales(lang)[0] : null;
  } catch {
    return null;
  }
}

/** A button of the page's own; `key` is the cap that stands on it. After a click focus leaves it: Enter goes on. */
export function action(text, onclick, { key = "", primary = false, disabled = false, name = "" } = {}) {
  const press = (event) => {
    if (event.detail > 0) event.currentTarget.blur();
    if (event.currentTarget.getAttribute("aria-disabled") !== "true") onclick(event);
  };
  return el(
    primary ? "button.primary" : "button", { onclick: press, "aria-disabled": disabled ? "true" : null, "aria-label": name || null },
    text, key && cap(key),
  );
}

/** Do `then` on Enter in a field, and nothing else: the focus may be on a button by the time the key is dealt with. */
export function onEnter(field, then) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!event.repeat) then();
  });
}

/** Says a sentence to those who do not see the page; the same sentence twice is said twice. */
export function say(text) {
  const place = $("#said");
  place.textContent = "";
  setTimeout(() => { place.textContent = text; }, 30);
}

export const count = (n, word, words = word + "s") => `${n.toLocaleString("en")} ${n === 1 ? word : words}`;
