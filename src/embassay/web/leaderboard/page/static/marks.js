// Marks: value with interval, difference, range of ranks. In the table they look as the server's, which are SVG, and are
// one element each, drawn by the style sheet: there are thousands of them, and a sort lays all of them out again.
import { el, svg } from "./dom.js";

const THINNEST = 3, GAP_FROM = 16, RANK_WIDE = 96, RANK_LEAST = 8;
const SIGNS = { embedding: "e", classical: "c", reference: "r", llm: "l", human: "n", person: "n" };
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

/** The same as one element, with its places as properties: tick, start and end, offset and width of the bar. */
export function flat(value, low, high, kind, scale, width = 72) {
  const node = el(`i.iv.g${Math.min(6, scale.steps)}`);
  if (value < scale.low || value > scale.high) return node;
  if (sign(kind)) node.classList.add(sign(kind));
  const put = (name, place) => node.style.setProperty(name, place);
  const share = (percentage) => String(Math.round(percentage * 10) / 1000);
  put("--t", share(scale.at(value)));
  if (low === null || high === null) return node;
  const [start, end] = [scale.at(low), scale.at(high)], long = end - start, pixels = (long / 100) * width;
  if (pixels < THINNEST) {
    put("--x", `calc(${share((start + end) / 2)} * (100% + ${THINNEST}px) - ${THINNEST / 2}px)`);
    put("--w", `${THINNEST}px`);
    return node;
  }
  if (pixels >= GAP_FROM) node.classList.add("w");
  // A percentage places a ground by what is left beside it.
  put("--x", long >= 99.9 ? "0%" : percent((100 * start) / (100 - long)));
  put("--w", percent(long));
  put("--a", share(start));
  put("--b", share(end));
  return node;
}

/** A rounded bar over the places from `low` to `high` of `of`; a dot where that would be too short to see. */
export function places([low, high], of, kind) {
  const start = (100 * (low - 1)) / of, width = (100 * (high - low + 1)) / of, short = (width / 100) * RANK_WIDE < RANK_LEAST;
  const node = el(`i.rk${sign(kind) ? `.${sign(kind)}` : ""}`);
  node.style.marginLeft = short ? `calc(${percent(start + width / 2)} - 4px)` : percent(start);
  node.style.width = short ? "8px" : percent(width);
  return node;
}
