// The fields over the table: find, score, task, language, kind, significance, columns, downloads, copies.
import { $, $$, el, field, keepingFocus } from "./dom.js";
import { FACT, FIRST, agreedOf, columnsOf, isAsked, limitsOf, poolOf, scoreOf } from "./choice.js";
import { FACTS } from "./numbers.js";
import { shape } from "./marks.js";
import { titleOf } from "./table.js";

const FROM = "from ", MOST_CHECKS = 100;
let built = "";

/** Make the fields for this board; where they are there already, only set them. `copy` makes texts for the clipboard. */
export function drawTools(board, choice, act, copy) {
  const box = $("#bar"), signature = JSON.stringify([board.stamp, scoreOf(board, choice).key, choice.task, choice.lang, choice.agree, board.hasRanks(scoreOf(board, choice).key)]);
  if (signature !== built) {
    const open = $$("details[open]", box).map((one) => one.dataset.key);
    keepingFocus(box, () => box.replaceChildren(...fields(board, choice, act, copy)));
    for (const key of open) $(`[data-key="${key}"]`, box).open = true;
    built = signature;
  }
  sync(board, choice, box);
}

function fields(board, choice, act, copy) {
  const score = scoreOf(board, choice), tasks = tasksOf(board), langs = langsOf(board);
  const kinds = [...new Set(board.systems.map((system) => system.kind))];
  const ranked = board.systems.filter((system) => board.ranksOf(score.key)[system.index]);
  const labelled = (key, node) => { $("select, input", node).dataset.key = key; return node; };
  const folded = (node) => { if (node) node.classList.add("folded"); return node; };
  return [
    $("label:has([data-key=find])") || labelled("find", el("label.field", "Find a system", el("input", { type: "search", "aria-label": "Find a system", oninput: (event) => act({ find: event.target.value }) }))),
    labelled("score", field("Score", scoreGroups(board, choice), "", (value) => act({ score: value === (agreedOf(board, choice)?.key || board.lead) && !choice.task ? null : value }))),
    el("button.fold", { "data-key": "fold", "aria-expanded": "false", onclick: unfold }, "Filters"),
    folded(tasks.length > 1 && labelled("task", field("Task", [["", [["", "All tasks"], ...tasks]]], "", (value) => act({ task: value, score: null, sort: null, way: null, col: null, cols: null })))),
    folded(langs.length > 1 && labelled("lang", field("Language", [["", [["", "All languages"], ...langs]]], "", (value) => act({ lang: value, col: null, cols: null })))),
    folded(ranked.length > 1 && labelled("sure", field("Show", [
      ["", [["", "All systems"], ["first", `Systems that may be first on ${score.title}`]]],
      ["Cannot be told apart from", ranked.map((system) => [FROM + system.name, system.label])],
    ], "", (value) => act(value.startsWith(FROM) ? { may: null, from: value.slice(FROM.length) } : { may: value, from: null })))),
    folded(limits(board, act)),
    folded(tool("columns", "Columns", columnChecks(board, choice, act))),
    el("div.end", tool("downloads", "Download", downloads(board)), tool("copies", "Copy", copies(copy))),
    el("div.second.folded",
      kinds.length > 1 && el("fieldset.chips", el("legend", "Kinds"), kinds.map((kind) => chip(kind, choice, act))),
      board.columns.some((column) => column.trust) && agreement(act)),
  ].filter(Boolean);
}

/** Only the datasets on which people agree well. */
const agreement = (act) => el("label.check.switch",
  el("input", { type: "checkbox", role: "switch", "data-key": "agree", onchange: (event) => act({ agree: event.target.checked ? "high" : null, score: null, sort: null, way: null, col: null, cols: null }) }),
  "High agreement only");

/** On a phone most fields fold away behind one button. */
function unfold(event) {
  const open = $("#bar").classList.toggle("open");
  event.currentTarget.setAttribute("aria-expanded", String(open));
}

function chip(kind, choice, act) {
  const toggle = (event) => act({ kind: switched(hidden(), kind, event.currentTarget.getAttribute("aria-pressed") === "true") });
  const hidden = () => $$(".chips [aria-pressed=false]").map((one) => one.dataset.kind);
  return el("button", { "aria-pressed": "true", "data-kind": kind, "data-key": `kind ${kind}`, onclick: toggle }, shape(kind), kind);
}
const switched = (list, one, on) => (on ? [...list, one] : list.filter((other) => other !== one));

function tool(key, words, parts) {
  const node = el("details.tool", { "data-key": key }, el("summary", { "data-key": `open ${key}` }, words), el("div", parts));
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !node.open) return;
    node.open = false;
    $("summary", node).focus();
  });
  return node;
}
addEventListener("click", (event) => {
  for (const node of $$("details:is(.tool, .menu)[open]")) if (!node.contains(event.target)) node.open = false;
});

/** What a system may cost, weigh and take at most, or must do at least; and its licence. None where nothing is known. */
function limits(board, act) {
  const asked = board.systems.filter((system) => system.kind !== "reference");
  const facts = [...FACTS].filter(([fact]) => asked.some((system) => system.facts[fact] !== null));
  const licences = [...new Set(asked.map((system) => system.facts.licence))].filter(Boolean).sort();
  if (!facts.length && !licences.length) return null;
  const changed = () => act({
    most: $$("#bar [name=limit]").filter((one) => one.value !== "" && isFinite(one.value)).map((one) => `${one.dataset.fact}:${Number(one.value) * FACTS.get(one.dataset.fact)[4]}`),
    licence: $$("#bar [name=licence]:checked").map((one) => one.value),
  });
  const bound = ([fact, [title, , more, unit]]) => el("label.limit", `${title}, at ${more ? "least" : "most"}`,
    el("span", el("input", { type: "number", min: 0, step: "any", name: "limit", "data-fact": fact, "data-key": `limit ${fact}`, oninput: changed }), unit && ` ${unit}`));
  const licence = (name) => el("label.check", el("input", { type: "checkbox", name: "licence", value: name, "data-key": `licence ${name}`, onchange: changed }), name);
  return tool("limits", "Limits", [
    facts.map(bound), licences.length > 0 && [el("p", "Licence"), licences.map(licence)],
    el("label.check", el("input", { type: "checkbox", name: "unstated", "data-key": "unstated too", onchange: (event) => act({ unstated: event.target.checked ? "1" : null }) }), "Include systems that do not state these"),
    el("button.link", { onclick: () => act({ most: null, licence: null, unstated: null }), "data-key": "limits off" }, "Clear limits"),
  ].flat(2).filter(Boolean));
}

function columnChecks(board, choice, act) {
  const pool = poolOf(board, choice).slice(0, MOST_CHECKS).map((column) => column.key);
  const facts = [...FACTS.keys()].filter((fact) => board.systems.some((system) => system.facts[fact] !== null)).map((fact) => FACT + fact);
  const check = (key) => el("label.check", el("input", { type: "checkbox", name: "col", value: key, "data-key": `col ${key}`, onchange: changed }), titleOf(board, key));
  const changed = () => {
    const kept = $$("#bar [name=col]:checked").map((one) => one.value);
    act({ col: kept.length ? kept : ["none"], cols: null });
  };
  const numbers = (event) => act({ numbers: event.target.checked ? "1" : null });
  return [
    pool.length > 0 && [el("p", "Scores"), pool.map(check)],
    el("p", "About systems"), check(FIRST), facts.map(check),
    el("p", "Format"), el("label.check", el("input", { type: "checkbox", name: "numbers", "data-key": "numbers", onchange: numbers }), "Intervals as numbers"),
    el("button.link", { onclick: () => act({ col: null, cols: null, numbers: null }), "data-key": "columns back" }, "Reset columns"),
  ].flat(2).filter(Boolean);
}

function downloads(board) {
  const base = `${document.body.dataset.base}api/boards/${board.id}/download.`;
  const link = (end, words) => el("a", { href: base + end, download: `${board.id}.${end}` }, words);
  return [el("p", "The whole board, in full precision"), link("csv", "CSV"), link("tex", "LaTeX"), link("json", "JSON")];
}

function copies(copy) {
  return [["table", "This table, with intervals"], ["link", "A link to this view"]].map(([what, words]) => el("button.link", { onclick: () => copy(what) }, words));
}

function sync(board, choice, box) {
  const set = (key, value) => {
    const node = $(`[data-key="${key}"]`, box);
    if (node && node.value !== value && !(key === "find" && node === document.activeElement)) node.value = value;
  };
  set("find", choice.find || "");
  set("score", scoreOf(board, choice).key);
  set("task", choice.task || "");
  set("lang", choice.lang || "");
  set("sure", choice.from ? FROM + choice.from : choice.may || "");
  for (const node of $$(".chips button", box)) node.setAttribute("aria-pressed", String(!choice.kind?.includes(node.dataset.kind)));
  const shown = new Set(columnsOf(board, choice).keys);
  for (const node of $$("[name=col]", box)) node.checked = shown.has(node.value);
  const bounds = new Map(limitsOf(choice));
  for (const node of $$("[name=limit]", box)) {
    const bound = bounds.get(node.dataset.fact), said = bound === undefined ? "" : String(bound / FACTS.get(node.dataset.fact)[4]);
    if (node !== document.activeElement && node.value !== said) node.value = said;
  }
  for (const node of $$("[name=licence]", box)) node.checked = Boolean(choice.licence?.includes(node.value));
  for (const node of $$("[data-key=agree]", box)) node.checked = choice.agree === "high";
  for (const node of $$("[name=unstated]", box)) node.checked = choice.unstated === "1";
  const chosen = [choice.most?.length, choice.licence?.length, choice.agree, choice.task, choice.lang, choice.may || choice.from, choice.kind?.length, choice.col].filter(Boolean).length;
  $(".fold", box).textContent = chosen ? `Filters (${chosen})` : "Filters";
  $(".fold", box).setAttribute("aria-expanded", String(box.classList.contains("open")));
  $("[name=numbers]", box).checked = choice.numbers === "1";
}

function tasksOf(board) {
  const tasks = [...new Set(board.columns.map((column) => column.task))].filter((task) => task !== "overall");
  const title = (task) => board.columns.find((column) => column.task === task && !column.dataset)?.title || task;
  return tasks.map((task) => [task, title(task)]);
}

function langsOf(board) {
  const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "none" });
  const said = (lang) => { try { return names.of(lang); } catch { return null; } };
  return [...new Set(board.columns.map((column) => column.lang))].filter(Boolean).sort()
    .map((lang) => [lang, said(lang) ? `${said(lang)} (${lang})` : lang]);
}

function scoreGroups(board, choice) {
  const asked = board.columns.filter((column) => isAsked(board, choice, column)), isFirst = (column) => column.overview || column.parts.length > 0;
  const entry = (column) => [column.key, column.title];
  const groups = [["", asked.filter(isFirst).sort((p, q) => q.parts.length - p.parts.length).map(entry)]];
  for (const [task, title] of tasksOf(board)) {
    const own = asked.filter((column) => column.task === task && !isFirst(column));
    if (own.length) groups.push([title, own.map(entry)]);
  }
  return groups;
}
