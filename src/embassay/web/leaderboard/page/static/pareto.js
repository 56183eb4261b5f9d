// Score against price, time or size: a plot, and the same as a table.
import { $, el, field, keepingFocus, named, svg } from "./dom.js";
import { rowsOf, scoreOf, isAsked, isMoreBetter } from "./choice.js";
import { FACTS } from "./numbers.js";
import { frontierOf } from "./frontier.js";
import { sign } from "./marks.js";
import { scaleOf } from "./scale.js";
import { rowsSaid } from "./shown.js";
import { intervalText, nameCell, printed } from "./table.js";

const AXES = ["usd_per_thousand_queries", "usd_per_million_tokens", "p95_ms", "texts_per_second", "seconds", "dims", "parameters", "weights_mb", "index_mb"];
const DEARER = { usd_per_thousand_queries: "more expensive", usd_per_million_tokens: "more expensive", p95_ms: "slower", texts_per_second: "slower", seconds: "slower" };
const LINE = 17, MOVES = [0, -1, 1, -2, 2, -3, 3, 4, 5], MOST_NAMES = 14;

export function drawPareto(board, choice, act) {
  const box = $("#pareto > div"), axes = AXES.filter((fact) => board.systems.filter((one) => one.facts[fact] !== null).length > 1);
  if (!axes.length) {
    box.replaceChildren(el("p.lede", "The score cannot be plotted: fewer than two systems have a known price, time or size."));
    return;
  }
  const fact = axes.includes(choice.x) ? choice.x : axes[0], score = scoreOf(board, choice), found = rowsOf(board, choice);
  const points = pointsOf(board, score, fact, found);
  const lines = frontierOf(points, { better: isMoreBetter(board, score.key) ? 1 : -1, cheaper: FACTS.get(fact)[2] ? -1 : 1 });
  keepingFocus(box, () => {
    box.replaceChildren(
      el("p.lede", sentence(lines, score, fact)),
      fields(board, choice, axes, fact, score, act), el("p.shown", rowsSaid(board, choice, found, act)),
      el("div.frame", plotBox()), el("p.how", how(fact, found, points)), el("p.how.sideways", "The list scrolls sideways."), table(board, lines, score, fact),
    );
  });
  fillPlot($(".plot", box), lines, score, fact);
}

function fields(board, choice, axes, fact, score, act) {
  const scores = board.columns.filter((column) => column === score || (column.overview && isAsked(board, choice, column))).map((column) => [column.key, column.title]);
  const labelled = (key, node) => { $("select", node).dataset.key = key; return node; };
  return el("div.fields",
    labelled("y", field("Score", [["", scores]], score.key, (value) => act({ score: value }))),
    labelled("x", field("Against", [["", axes.map((key) => [key, FACTS.get(key)[0]])]], fact, (value) => act({ x: value }))));
}

/** All systems shown that have both numbers; references are none. */
function pointsOf(board, score, fact, found) {
  return found.groups.flatMap((group) => group.rows).filter((system) => system.kind !== "reference").map((system) => {
    const [y, low, high] = board.cell(score.key, system.index);
    return { system, x: system.facts[fact], y, low, high };
  }).filter(({ x, y }) => x !== null && y !== null);
}

function sentence(lines, score, fact) {
  const on = lines.filter((line) => line.place).map((line) => line.system.label);
  if (!lines.length) return "No system shown has both values.";
  return [
    `${on.length} of ${lines.length} ${lines.length === 1 ? "system is" : "systems are"} on the frontier: no other system is better than ${on.length === 1 ? "it" : "any of them"} on ${score.title} without being ${DEARER[fact] || "larger"}.`,
  ];
}

function how(fact, found, points) {
  const without = found.groups.flatMap((group) => group.rows).filter((system) => system.kind !== "reference").length - points.length;
  return [
    "Filled and numbered: on the frontier, by point estimates. Grey ring: another system is at least as good on both. Vertical line: 95% interval of the score. ",
    without > 0 && `${without} ${without === 1 ? "system has" : "systems have"} no ${FACTS.get(fact)[0].toLowerCase()} or no score and ${without === 1 ? "is" : "are"} not shown.`,
  ];
}

const plotBox = () => el("div.plot", { role: "img", "aria-label": "Plot of the table below" });

/** Zero lies on no scale of logarithms: there the axis is linear. */
function axisOf(values) {
  const low = Math.min(...values), high = Math.max(...values);
  if (low <= 0 || high / low < 20) {
    const scale = scaleOf(values, { within: [0, Infinity], most: 5 });
    return { at: (value) => scale.at(value), ticks: scale.ticks };
  }
  const [first, last] = [Math.floor(Math.log10(low) * 2) / 2 - 0.05, Math.ceil(Math.log10(high) * 2) / 2 + 0.05];
  const steps = [];
  for (let power = Math.floor(first); power <= last; power++) for (const part of [1, 3]) steps.push(part * 10 ** power);
  const at = (value) => (100 * (Math.log10(value) - first)) / (last - first);
  const ticks = steps.filter((tick) => at(tick) >= 0 && at(tick) <= 100);
  return { at, ticks: ticks.length > 6 ? ticks.filter((tick) => /^1(0*)$|^0\.0*1$|e/.test(String(tick))) : ticks, log: true };
}

function fillPlot(plot, lines, score, fact) {
  if (!lines.length) return;
  const say = FACTS.get(fact)[1], x = axisOf(lines.map((line) => line.x));
  const y = scaleOf(lines.flatMap((line) => [line.y, line.low, line.high]).filter((one) => one !== null), { factor: score.factor });
  const across = (line) => x.at(line.x), down = (value) => 100 - y.at(value);
  const drawing = svg("svg", { "aria-hidden": "true" });
  for (const tick of y.ticks) drawing.append(svg("line", { class: "grid", x1: 0, x2: "100%", y1: `${down(tick)}%`, y2: `${down(tick)}%` }));
  drawing.append(stairs(lines, across, down));
  for (const line of [...lines].sort((p, q) => Boolean(p.place) - Boolean(q.place))) drawing.append(...point(line, across(line), down));
  const place = (node, left, top) => { node.style.left = `${left}%`; if (top !== null) node.style.top = `${top}%`; return node; };
  const texts = [
    ...y.ticks.map((tick) => place(el("span.tick.y", y.label(tick)), null, down(tick))),
    ...x.ticks.map((tick) => place(el("span.tick.x", say(tick)), x.at(tick), null)),
    el("span.title.y", score.title), el("span.title.x", FACTS.get(fact)[0] + (x.log ? ", logarithmic" : "")),
  ];
  for (const node of texts) if (node.style.left === "null%") node.style.left = "";
  plot.append(drawing, ...texts, ...labels(plot, lines, across, down));
}

function stairs(lines, across, down) {
  const on = lines.filter((line) => line.place);
  const path = on.map((line, i) => (i ? `H${across(line)}V${down(line.y)}` : `M${across(line)} ${down(line.y)}`)).join("");
  return svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", x: 0, y: 0, width: "100%", height: "100%" }, svg("path", { class: "step", d: path }));
}

function point(line, left, down) {
  const x = `${left}%`, y = `${down(line.y)}%`, on = line.place ? "on" : "off", parts = [];
  if (line.low !== null) parts.push(svg("line", { class: `span ${on}`, x1: x, x2: x, y1: `${down(line.low)}%`, y2: `${down(line.high)}%` }));
  if (line.place && line.system.kind === "classical") {
    return [...parts, svg("svg", { x, y }, svg("rect", { class: "on c", x: -6, y: -6, width: 12, height: 12 }))];
  }
  return [...parts, svg("circle", { class: `${on} ${sign(line.system.kind)}`, cx: x, cy: y, r: line.place ? 6 : 5 })];
}

/** Names beside the points of the frontier (of all where they are few), moved up or down where one is in the way. */
function labels(plot, lines, across, down) {
  const height = plot.clientHeight || 400, taken = [];
  const wanted = lines.length <= MOST_NAMES ? lines : lines.filter((line) => line.place);
  return [...wanted].sort((p, q) => Boolean(q.place) - Boolean(p.place)).map((line) => {
    const left = across(line), back = left > 55, lift = line.place ? 12 : 0;
    const at = (down(line.y) / 100) * height - lift;
    const isFree = (top) => top > 4 && top < height + 4 && taken.every((one) => Math.abs(one.top - top) >= LINE || Math.abs(one.left - left) > 45);
    const move = MOVES.find((step) => isFree(at + step * LINE));
    if (move === undefined && !line.place) return null;
    const top = at + (move || 0) * LINE;
    taken.push({ top, left });
    const node = el(back ? "span.name.left" : "span.name", line.place ? el("b", `${line.place} `) : null, named(line.system.label));
    node.style.top = `${top}px`;
    node.style.left = `calc(${left}% ${back ? "-" : "+"} 11px)`;
    return node;
  }).filter(Boolean);
}

function table(board, lines, score, fact) {
  const say = FACTS.get(fact)[1], sorted = [...lines].sort((p, q) => Boolean(q.place) - Boolean(p.place) || (p.place || 0) - (q.place || 0));
  const base = document.body.dataset.base;
  return el("div.frame", { tabindex: 0, role: "region", "aria-label": "Frontier as a table" }, el("table.plain.points.wide", el("caption.sr", `${score.title} against ${FACTS.get(fact)[0].toLowerCase()}`),
    el("thead", el("tr", ["System", "On the frontier", FACTS.get(fact)[0], score.title, "95%"].map((words, i) => el(i > 1 ? "th.num" : "th", { scope: "col" }, words)))),
    el("tbody", sorted.map((line) => el("tr",
      nameCell(line.system, `${base}b/${board.id}/system?name=${encodeURIComponent(line.system.name)}`), el("td", status(board, line, score)),
      el("td.num", say(line.x)), el("td.num", printed(line.y, score)), el("td.num", intervalText(line.low, line.high, score)))))));
}

function status(board, line, score) {
  if (line.place) return el("span.state.good", `${line.place} · frontier`);
  const alike = board.alike[score.key]?.[line.system.index], unsure = alike?.includes(line.by.system.index);
  return ["dominated by ", named(line.by.system.label), unsure ? ", whose score cannot be told apart" : ""];
}
