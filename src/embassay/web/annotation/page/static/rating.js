// Two texts and a scale.
import { dataText, el } from "./dom.js";
import { option, pick } from "./options.js";

const SPAN = 21;
const ROOM = 54;

/** The levels of a scale, from low to high. */
export function levels({ low, high, step }) {
  const steps = Math.round((high - low) / step);
  return Array.from({ length: steps + 1 }, (_, i) => Number((low + i * step).toFixed(6)));
}

export function rating(task, payload, { choose, locked }) {
  const scale = { low: 0, high: 5, step: 1, anchors: {}, ...task.scale };
  const all = levels(scale);
  const whole = all.filter(Number.isInteger);
  const halves = whole.length < all.length && all.length <= SPAN;
  const anchor = (value) => scale.anchors[String(value)] || "";
  const options = (halves || all.length <= SPAN ? all : whole).map((value) => option({
    value, key: Number.isInteger(value) && value >= 0 && value < 10 ? String(value) : "", number: String(value),
    note: anchor(value), locked, kind: Number.isInteger(value) ? "level" : "level half", choose,
  }));
  const group = el("div.options.levels", { role: "radiogroup", "aria-labelledby": "question" }, options);
  group.dataset.halves = halves;
  group.style.setProperty("--n", whole.length);
  const words = el("p.chosen", { "aria-hidden": "true" });
  const show = (value) => {
    pick(group, value);
    const said = value === null ? "" : `${value}${between(value, anchor) ? " · " + between(value, anchor) : ""}`;
    const ends = [scale.low, scale.high].map(anchor);
    const room = value === null || said.length + ends.join("").length <= ROOM;
    words.replaceChildren(el("span", room ? ends[0] : ""), el("b", said), el("span", room ? ends[1] : ""));
  };
  const move = (by) => (_, __, value) => {
    const at = value === null ? (by > 0 ? -1 : all.length) : all.indexOf(value);
    return choose(all[Math.min(Math.max(at + by, 0), all.length - 1)], { moved: true });
  };
  return {
    stage: [pair(task, payload)],
    dock: [group, words],
    show,
    acts: {
      digit: (press) => (all.includes(Number(press)) ? choose(Number(press)) : false),
      less: move(-1),
      more: move(1),
    },
    missing: (value) => (value === null ? "Choose a level first." : ""),
    says: (value) => [String(value), between(value, anchor)].filter(Boolean).join(", "),
    hint: [String(Math.max(whole[0], 0)), String(Math.min(whole.at(-1), 9))],
  };
}

function between(value, anchor) {
  if (Number.isInteger(value)) return anchor(value);
  return `between ${Math.floor(value)} and ${Math.ceil(value)}`;
}

function pair(task, { text1, text2, query, passage }) {
  const one = (title, text) => el("section.text", el("h2", title), dataText(text, task.lang, "div.data.box"));
  if (passage !== undefined) return el("div.passage", one("Question", query), one("Passage", passage));
  return el("div.pair", one("Text 1", text1), one("Text 2", text2));
}
