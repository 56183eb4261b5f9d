// Marks as `embassay.document.marks` draws them on the server: one empty element whose classes name places in halves of a
// percent, for the style sheet. There are thousands of them, and a sort lays all of them out again.
import { el } from "./dom.js";

const GAP_FROM = 16;
const SIGNS = { embedding: "e", classical: "c", hybrid: "m", run: "f", reference: "r", llm: "l", human: "n", person: "n" };

/** The class that draws the shape of a kind. */
export const sign = (kind) => SIGNS[kind] || "";
export const shape = (kind) => el("i", { class: sign(kind) });
export const axis = (labels) => el("i.ax", { "aria-hidden": "true" }, labels.join(" "));

const mark = (...classes) => el("u", { class: classes.filter(Boolean).join(" ") });

/** A class for a place; what lies between two goes to the even one, as on the server. */
function place(name, percent) {
  const twice = 2 * Math.min(100, Math.max(0, percent)), up = Math.round(twice);
  return name + (up - twice === 0.5 && up % 2 ? up - 1 : up);
}

/** Bar over the 95% interval, tick at the estimate; the grid alone where the value lies outside of the scale. `zero` draws the line of no difference. */
export function interval(value, low, high, kind, scale, { width = 72, zero = false } = {}) {
  const grid = `g${scale.steps}`;
  if (value < scale.low || value > scale.high) return mark("iv", grid);
  const classes = ["iv", grid, zero && "zero", sign(kind)];
  if (low !== null && high !== null) {
    const [start, end] = [scale.at(low), scale.at(high)];
    classes.push(place("x", (start + end) / 2), place("w", end - start), ((end - start) / 100) * width >= GAP_FROM && "v");
  }
  const node = mark(...classes, place("t", scale.at(value)));
  if (zero) node.style.setProperty("--r", `${scale.at(0)}%`);
  return node;
}

/** A rounded bar over the places from `low` to `high` of `of`. */
export function places([low, high], of, kind) {
  const [start, end] = [(100 * (low - 1)) / of, (100 * high) / of];
  return mark("iv", "rk", sign(kind), place("x", (start + end) / 2), place("w", end - start));
}
