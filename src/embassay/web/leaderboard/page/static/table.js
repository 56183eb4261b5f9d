// The table: head, rows in groups, what is hidden and why. Rows are made once per choice of columns and only moved after.
import { $, el, keepingFocus, named } from "./dom.js";
import { FACT, FIRST, MOST_ROWS, columnsOf, isMoreBetter, nextSort, overSaid, rowsOf, scoreOf, sortNow, valueOf } from "./choice.js";
import { FACTS, NONE, count, fixed, percent, range, rank } from "./numbers.js";
import { fillTable } from "./rows.js";
import { axis, interval, places, sign } from "./marks.js";
import { Scale, scaleOf } from "./scale.js";

const LEAD_WIDE = 150, FEW = 10, FEW_ITEMS = 30;
export const STATES = {
  done: "n/a", failed: "✕ failed", running: "◔ running", partial: "◐ partial", "not run": "not run", undefined: "n/a", none: NONE,
};
let made = { signature: "", rows: new Map() };

/** Draw what a choice shows; `act` is called with changes of it. Returns the rows. */
export function drawTable(board, choice, act) {
  const table = $("#board");
  if (!table) return rowsOf(board, choice);
  const found = rowsOf(board, choice), score = scoreOf(board, choice), { keys } = columnsOf(board, choice);
  const context = contextOf(board, score, keys);
  const signature = JSON.stringify([board.stamp, score.key, keys, [score.key, ...keys].map((key) => Boolean(board.cells[key]))]);
  keepingFocus(table, () => {
    if (made.signature !== signature) made = { signature, rows: new Map() };
    fillTable(table, [$("caption", table), head(context, choice, act)], bodies(context, found, choice), (system) => rowOf(context, system));
  });
  table.classList.toggle("numbers", choice.numbers === "1");
  $("caption", table).textContent = `${board.title}: ${score.title}, with 95% intervals`;
  drawMore(found, choice, act);
  return found;
}

/** What all rows need: columns with their scales. */
function contextOf(board, score, keys) {
  const hasRanks = board.hasRanks(score.key);
  const most = Math.max(0, ...board.systems.filter((one) => board.ranksOf(score.key)[one.index]).map((one) => board.rankedWith(score.key, one)));
  const base = document.body.dataset.base;
  const columns = keys.filter((key) => board.byKey.has(key)).map((key) => [key, scaleOfColumn(board, board.byKey.get(key))]);
  return {
    board, score, keys, hasRanks, most, scale: scaleOfColumn(board, score), scales: new Map(columns),
    link: (system) => `${base}b/${board.id}/system?name=${encodeURIComponent(system.name)}`,
    span: 3 + keys.length + (hasRanks ? 2 : 0),
  };
}

/** The scale of a column. Chance and the like would leave the others in a corner: they do not count. */
export function scaleOfColumn(board, column) {
  const cells = board.cells[column.key] || [], contenders = cells.filter((_, i) => board.systems[i].kind !== "reference");
  const pool = (contenders.length ? contenders : cells).flatMap((cell) => cell.slice(0, 3)).filter((value) => value !== null);
  return pool.length ? scaleOf(pool, { factor: column.factor }) : new Scale(0, 1, 0.5, column.factor);
}

export function titleOf(board, key) {
  if (key === FIRST) return "First in resamples";
  return key.startsWith(FACT) ? FACTS.get(key.slice(FACT.length))[0] : board.byKey.get(key).title;
}

function head(context, choice, act) {
  const { board, score, scale, scales, hasRanks, most } = context;
  const now = sortNow(board, choice);
  const button = (key, words, tag, ...more) => {
    const sorted = now.sort === key ? (now.way === "down" ? "descending" : "ascending") : null;
    const click = () => act(nextSort(board, choice, key), `Sorted by ${words}`);
    return el(tag, { scope: "col", "aria-sort": sorted }, el("button.sort", { onclick: click, "data-key": `sort ${key}` }, words), more);
  };
  return el("thead", el("tr",
    hasRanks && button("rank", "Rank", "th.rank"), hasRanks && el("td.places", axis(["1", count(most)])),
    button("name", "System", "th.system"), button(score.key, score.title, "th.lead", lower(board, score.key)), el("td.bar", axis(scale.ends)),
    context.keys.map((key) => (scales.has(key)
      ? button(key, titleOf(board, key), "th.task", lower(board, key), axis(scales.get(key).ends))
      : button(key, titleOf(board, key), "th.fact"))),
  ));
}

function lower(board, key) {
  const { people, trust, parts = [], task } = board.byKey.get(key) || {}, n = (board.cells[key] || []).reduce((most, cell) => Math.max(most, cell[3]), 0);
  return [
    people && el("small", `agreement: ${trust || "unknown"}`), parts.length > 0 && el("small", `mean of ${overSaid(board, { task, parts })}`),
    task !== "overall" && fewItems(n) && el("small", fewItems(n)), isMoreBetter(board, key) ? null : el("small", "lower is better"),
  ];
}
/** What stands beside a rank that few items are behind. */
const fewItems = (n) => (n > 0 && n < FEW_ITEMS ? `n = ${n}` : "");
/** The items behind a rank: of an overall score those of all its datasets. */
function itemsOf(board, column, n) {
  if (board.protocol === "mteb") return 0;
  return column.task === "overall" && !column.parts.length ? board.data.reduce((sum, one) => sum + one.n, 0) : n;
}
/** Whether so few items stand behind a value that it is shown grey; an overall is over tasks, not items. */
const isFew = (column, n) => column.task !== "overall" && n < FEW;

/** Groups as their title rows with the systems under them; no more rows than are to be shown. */
function bodies(context, found, choice) {
  let left = choice.rows === "all" ? Infinity : MOST_ROWS;
  return found.groups.map(({ title, rows }) => {
    const shown = rows.slice(0, left);
    left -= shown.length;
    return [title && el("tr.group", el("th", { colspan: context.span, scope: "rowgroup" }, title)), shown];
  }).filter(([title, rows]) => title || rows.length);
}

function rowOf(context, system) {
  if (!made.rows.has(system.index)) made.rows.set(system.index, row(context, system));
  return made.rows.get(system.index);
}

function row(context, system) {
  const { board, score, hasRanks } = context, ranks = board.ranksOf(score.key)[system.index];
  const few = ranks && fewItems(itemsOf(board, score, board.cell(score.key, system.index)[3]));
  const name = el("a", { href: context.link(system), title: system.label === system.name ? null : system.name }, system.label);
  const about = system.kind + (system.facts.dims ? ` · ${count(system.facts.dims)} d` : "");
  return el(system.kind === "reference" ? "tr.reference" : "tr", { "data-name": system.name },
    hasRanks && el("td.rank", rank(ranks), few && el("small", few)),
    hasRanks && el("td.places", ranks && places(ranks, context.most, system.kind)),
    el(`th.system${sign(system.kind) ? `.${sign(system.kind)}` : ""}`, { scope: "row" }, name, el("small", about)), lead(context, system),
    context.keys.map((key) => cell(context, key, system)));
}

function lead({ board, score, scale }, system) {
  const [value, low, high, n, state, reason] = board.cell(score.key, system.index);
  if (value === null) {
    const why = (score.key === board.lead && system.note) || reason;
    return el("td.lead.gap", { colspan: 2 }, stateTag(board.cells[score.key] ? state : "", ""), why && " ", why && el("small", why));
  }
  return [
    el(isFew(score, n) ? "td.lead.few" : "td.lead", el("b", printed(value, score)), el("small", intervalText(low, high, score))),
    el("td.bar", interval(value, low, high, system.kind, scale, { width: LEAD_WIDE })),
  ];
}

function cell({ board, score, scales }, key, system) {
  if (!scales.has(key)) return el("td.fact", factText(board, key, system, score));
  if (!board.cells[key]) return el("td.task.grey", "…");
  const column = board.byKey.get(key), [value, low, high, n, state, reason] = board.cell(key, system.index);
  if (value === null) return el("td.task", stateTag(state, reason));
  return el(`td.task${board.isFirst(key, system.index) ? ".best" : ""}${isFew(column, n) ? ".few" : ""}`, printed(value, column),
    interval(value, low, high, system.kind, scales.get(key)), el("small.ci", intervalText(low, high, column)));
}

export const printed = (value, column) => fixed(value * column.factor, column.decimals);
export const intervalText = (low, high, column) => (low === null || high === null ? "no interval"
  : range(low * column.factor, high * column.factor, column.decimals));
export function factText(board, key, system, score) {
  const value = valueOf(board, key, system, score.key);
  if (value === null) return NONE;
  return key === FIRST ? percent(value) : FACTS.get(key.slice(FACT.length))[1](value);
}
export function stateTag(state, reason) {
  const tag = el("span", { class: `state ${(state === "done" ? "undefined" : state).replace(" ", "-")}` }, STATES[state] || "…");
  return reason ? [tag, " ", el("small", reason)] : tag;
}

function drawMore(found, choice, act) {
  const place = $("#more"), hidden = found.shown - MOST_ROWS;
  place.hidden = hidden <= 0;
  if (hidden <= 0) return;
  const all = choice.rows === "all";
  place.replaceChildren(el("button.link", { onclick: () => act({ rows: all ? null : "all" }) }, all ? `Show the first ${MOST_ROWS}` : `Show all ${count(found.shown)} systems`));
}

/** The name of a system beside its shape, for other views. */
export const nameCell = (system, href) => el(`th${sign(system.kind) ? `.${sign(system.kind)}` : ""}`, { scope: "row" }, href ? el("a", { href }, system.label) : named(system.label));
