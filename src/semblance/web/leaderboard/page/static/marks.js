// Marks as SVG, as the server draws them: value with interval, difference, range of ranks.
import { el, svg } from "./dom.js";

const THINNEST = 3, GAP_FROM = 16, RANK_WIDE = 96, RANK_LEAST = 8;
const SIGNS = { embedding: "e", classical: "c", reference: "r", llm: "l", human: "n" };
const percent = (value) => `${Math.round(value * 10) / 10}%`;
const drawing = (classes, ...parts) => svg("svg", { class: classes.trim(), "aria-hidden": "true" }, ...parts);

/** The class that draws the shape of a kind. */
export const sign = (kind) => SIGNS[kind] || "";
export const shape = (kind) => el("i", { class: sign(kind) });
export const axis = (labels) => el("i.ax", { "aria-hidden": "true" }, labels.join(" "));

function bar(value, low, high, scale, width) {
  const tick = svg("rect", { x: percent(scale.at(value)) });
  if (low === null || high === null) return ["", [tick]];
  const [start, end] = [scale.at(low), scale.at(high)], pixels = ((end - start) / 100) * width;
  if (pixels < THINNEST) return [" m", [svg("rect", { x: percent((start + end) / 2) }), tick]];
  return [pixels >= GAP_FROM ? " w" : "", [svg("rect", { x: percent(start), width: percent(end - start) }), tick]];
}

/** Bar over the 95% interval, tick at the estimate; nothing where the value lies outside of the scale. `zero` draws the line of no difference. */
export function interval(value, low, high, kind, scale, { width = 72, zero = false } = {}) {
  if (value < scale.low || value > scale.high) return drawing(`iv g${Math.min(6, scale.steps)}`);
  const [style, parts] = bar(value, low, high, scale, width);
  if (zero) parts.unshift(svg("line", { class: "z", x1: percent(scale.at(0)), x2: percent(scale.at(0)), y2: "100%" }));
  return drawing(`iv g${Math.min(6, scale.steps)} ${sign(kind)}${style}`, ...parts);
}

/** A rounded bar over the places from `low` to `high` of `of`; a dot where that would be too short to see. */
export function places([low, high], of, kind) {
  const start = (100 * (low - 1)) / of, width = (100 * (high - low + 1)) / of;
  const mark = (width / 100) * RANK_WIDE < RANK_LEAST
    ? svg("circle", { cx: percent(start + width / 2), cy: 8, r: 4 })
    : svg("rect", { x: percent(start), width: percent(width) });
  return drawing(`rk ${sign(kind)}`, mark);
}
