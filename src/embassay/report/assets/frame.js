"use strict";
// The page itself: views, address, theme, panes, and the small pieces other scripts use.
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const SVG = "http://www.w3.org/2000/svg";
const DATA = JSON.parse($("#data").textContent);

/** An element "tag.class#id:scope" with properties (which may be left out) and children; texts become text nodes, never
 *  markup. */
function el(what, ...children) {
  const [, tag, ...rest] = what.match(/^(\w+)((?:\.[\w-]+)*)(?:#([\w-]+))?(?::(\w+))?/);
  const node = document.createElement(tag), [classes, id, scope] = rest;
  const props = (children[0] || "").constructor === Object ? children.shift() : {};
  if (classes) node.className = classes.slice(1).replaceAll(".", " ");
  if (id) node.id = id;
  if (scope) node.scope = scope;
  if (tag === "button") node.type = tag;
  for (const [key, value] of Object.entries(props)) {
    if (key in node && key !== "list") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}
function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
const say = (text) => { $("#said").textContent = text; };
const fixed = (value, digits = 3) => {
  const text = Math.abs(value).toFixed(digits);
  return (value < 0 && Number(text) !== 0 ? "−" : "") + text;
};
const signed = (value, digits = 3) => (value > 0 && Number(value.toFixed(digits)) !== 0 ? "+" : "") + fixed(value, digits);
const range = (low, high, digits = 3) => {
  const ends = [fixed(low, digits), fixed(high, digits)];
  return ends.join(ends.join("").includes("−") ? " to " : "–");
};
const shape = (kind) => el("i", { className: kind });
function field(title, options, value, onchange) {
  const select = el("select", { ariaLabel: title, onchange: () => onchange(select.value) });
  for (const [key, text] of options) select.append(el("option", { value: key, selected: String(key) === String(value) }, text));
  return el("label.field", title, select);
}
async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    const box = el("textarea", { value: text });
    document.body.append(box);
    box.select();
    say(document.execCommand("copy") ? `${what} copied` : `Copying is not allowed here`);
    box.remove();
  }
}

// The address: #place?key=value. `place` is any id; the view that holds it is shown.
const views = $$(".view");
const address = () => {
  const [place, query] = decodeURI(location.hash.slice(1)).split("?");
  return { place: place || views[0].id, params: new URLSearchParams(query || "") };
};
function remember(changes) {
  const { place, params } = address();
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") params.delete(key);
    else params.set(key, value);
  }
  const query = params.toString();
  history.replaceState(null, "", "#" + place + (query ? "?" + query : ""));
}
const listeners = [];
/** Call `listen(params)` each time the view is shown or its address changes. */
const onView = (id, listen) => listeners.push([id, listen]);
function show() {
  const { place, params } = address();
  const target = document.getElementById(place) || views[0];
  const view = target.closest(".view") || views[0];
  for (const one of views) {
    if (one === view) one.removeAttribute("hidden");
    else one.setAttribute("hidden", "until-found");
  }
  const below = $$(".top .sub").find((nav) => $$("a", nav).some((link) => link.hash === "#" + view.id));
  for (const nav of $$(".top .sub")) nav.hidden = nav !== below;
  for (const link of $$(".top nav a")) {
    const group = link.dataset.group, here = group ? below && below.ariaLabel === group : link.hash === "#" + view.id;
    if (here) {
      link.setAttribute("aria-current", group ? "true" : "page");
      link.parentNode.scrollLeft = link.offsetLeft - link.parentNode.offsetLeft - 24;
    } else link.removeAttribute("aria-current");
  }
  document.title = `${$("h1", view).textContent} · ${DATA.run}`;
  for (const [id, listen] of listeners) if (id === view.id) listen(params);
  const pane = target.closest(".pane[hidden]");
  if (pane) pane.dispatchEvent(new Event("beforematch"));
  if (target !== view) target.scrollIntoView();
  else if (!params.size) scrollTo(0, 0);
}

function themeField() {
  const saved = () => { try { return localStorage.getItem("embassay-theme") || ""; } catch { return ""; } };
  const apply = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    try { localStorage.setItem("embassay-theme", theme); } catch { /* a file may have no storage */ }
  };
  const label = field("Theme", [["", "System"], ["light", "Light"], ["dark", "Dark"]], saved(), apply);
  $("select", label).id = "theme";
  apply(saved());
  $("#method h1").after(el("div.fields", label));
}

/** Several tables of one kind: one at a time, with a field to choose; what is chosen in one is shown in all. */
function choosePanes(box) {
  const panes = $$(":scope > .pane", box);
  if (panes.length < 2) return;
  const choose = (name) => {
    if (!panes.some((pane) => pane.dataset.name === name)) return;
    for (const pane of panes) {
      if (pane.dataset.name === name) pane.removeAttribute("hidden");
      else pane.setAttribute("hidden", "until-found");
    }
    $("select", label).value = name;
  };
  const chooseAll = (name) => choosers.filter(([of]) => of === box.dataset.label).forEach(([, one]) => one(name));
  const names = panes.map((pane) => pane.dataset.name);
  const label = field(box.dataset.label, names.map((name) => [name, name]), names[0], chooseAll);
  panes.forEach((pane) => {
    pane.addEventListener("beforematch", () => choose(pane.dataset.name));
  });
  box.prepend(el("div.fields", label));
  choosers.push([box.dataset.label, choose]);
  choose(names[0]);
}
const choosers = [];

/** Tables and tabs that go on sideways fade where they do. */
function fades(box) {
  const mark = () => {
    box.classList.toggle("goes-on", box.scrollWidth - box.clientWidth - box.scrollLeft > 2);
    box.classList.toggle("goes-back", box.scrollLeft > 2);
  };
  box.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(box);
}

document.documentElement.classList.add("js");
themeField();
$$(".panes").forEach(choosePanes);
$$(".frame, .top nav").forEach(fades);
views.forEach((view) => view.addEventListener("beforematch", () => { location.hash = view.id; }));
addEventListener("hashchange", show);
document.addEventListener("DOMContentLoaded", show);
// Commands are copied with a click.
for (const code of $$("p > code")) {
  if (/^embassay \w+ .{12}/.test(code.textContent)) code.after(" ", el("button.link", { onclick: () => copy(code.textContent, "Command") }, "Copy"));
}
