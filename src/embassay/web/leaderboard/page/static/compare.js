// Two systems side by side: what is known of them, and their paired differences from the server.
import { $, el, field, keepingFocus, named } from "./dom.js";
import { FACTS, NONE, change, count, pValue, range } from "./numbers.js";
import { axis, interval } from "./marks.js";
import { scaleOf } from "./scale.js";
import { printed } from "./table.js";

const MOST = 60, WIDE = 200, ALPHA = 0.05;
let shown = { key: "", found: null };

/** Draw the comparison of the two chosen; asks the server where they are new or the board has changed. */
export async function drawCompare(board, choice, act) {
  const box = $("#compare > div"), systems = board.systems.filter((system) => system.kind !== "reference");
  if (systems.length < 2) {
    box.replaceChildren(el("p.lede", "This board has only one system. Add a second system to compare."));
    return;
  }
  const a = board.byName.get(choice.a) || systems[0];
  const b = board.byName.get(choice.b) || systems.find((system) => system !== a);
  const key = JSON.stringify([board.stamp, a.name, b.name]);
  const frame = (content) => keepingFocus(box, () => box.replaceChildren(fields(systems, a, b, act), ...content));
  if (a === b) {
    frame([el("p.lede", "A and B are the same system. Choose another one to compare.")]);
    return;
  }
  if (shown.key !== key) {
    if (!shown.key || !$(".forest", box)) frame([el("p.how", "Comparing …")]);
    const found = await board.ask(`/compare?${new URLSearchParams({ a: a.name, b: b.name })}`).catch((error) => ({ failed: error.message }));
    if (!isStill(board, choice)) return;
    if (found.failed) {
      frame([el("p.lede", `They cannot be compared now: ${found.failed}`)]);
      return;
    }
    shown = { key, found };
  }
  frame(content(board, shown.found, a, b, choice, act));
}

/** Whether nobody has chosen others meanwhile. */
function isStill(board, choice) {
  const params = new URLSearchParams(location.hash.split("?")[1] || "");
  return location.hash.startsWith("#compare") && (params.get("a") || "") === (choice.a || "") && (params.get("b") || "") === (choice.b || "");
}

function fields(systems, a, b, act) {
  const list = [["", systems.map((system) => [system.name, system.label])]];
  const labelled = (key, node) => { $("select", node).dataset.key = key; return node; };
  return el("div.fields",
    labelled("a", field("A", list, a.name, (value) => act({ a: value, b: b.name }))),
    labelled("b", field("B", list, b.name, (value) => act({ a: a.name, b: value }))),
    el("button", { onclick: () => act({ a: b.name, b: a.name }), "data-key": "swap" }, "Swap A and B"));
}

function content(board, found, a, b, choice, act) {
  const every = choice.places === "all", rows = every ? found.rows : overviewFirst(board, found.rows).slice(0, MOST);
  const note = found.paired ? "Paired over the same items." : `Not paired: ${found.reason}. The two errors add up.`;
  $("#compare-title").textContent = found.title;
  return [
    facts(a, b),
    el("h2", "Differences, A − B"),
    el("p.how", `${note} Bars: 95% intervals of single differences. The overall score is tested alone; the p values of its parts are Holm-corrected among themselves. The board’s ranks test all pairs. Detectable: the smallest true difference found with 80% power. Right of the line: A is higher. Differences use unrounded values.`),
    forest(rows, a, b),
    found.rows.length > rows.length && el("button.link", { onclick: () => act({ places: "all" }) }, `Show all ${count(found.rows.length)} rows`),
  ].filter(Boolean);
}

function overviewFirst(board, rows) {
  const isMain = (row) => Boolean(board.byKey.get(row.key)?.overview);
  return [...rows].sort((p, q) => isMain(q) - isMain(p));
}

function facts(a, b) {
  const lines = [["Kind", a.kind, b.kind]];
  for (const [key, [name, say]] of FACTS) {
    const [p, q] = [a.facts[key], b.facts[key]];
    if (p !== null || q !== null) lines.push([name, p === null ? NONE : say(p), q === null ? NONE : say(q)]);
  }
  lines.push(["Run", a.run, b.run]);
  return el("div.frame", { tabindex: 0, role: "region", "aria-label": "Facts about both systems" }, el("table.plain",
    el("caption.sr", "Facts about both systems"),
    el("thead", el("tr", el("td"), [["A", a], ["B", b]].map(([letter, system]) => el("th", { scope: "col" }, `${letter} · `, named(system.label))))),
    el("tbody", lines.map(([name, p, q]) => el("tr", el("th", { scope: "row" }, name), el("td", p), el("td", q))))));
}

function forest(rows, a, b) {
  const scales = new Map(), unit = (row) => `${row.factor} ${row.unit}`;
  for (const key of new Set(rows.map(unit))) {
    const own = rows.filter((row) => unit(row) === key);
    scales.set(key, scaleOf([0, ...own.flatMap((row) => [row.difference, row.low, row.high])].filter((one) => one !== null), { within: null, factor: own[0].factor }));
  }
  const ends = scales.size === 1 ? axis([...scales.values()][0].ends) : null;
  const heads = [["A", "num"], ["B", "num"], ["", "bar"], ["A − B, 95%", "num"], ["p, Holm", "num"], ["Detectable", "num"], ["n", "num"], ["In words", ""]];
  return el("div.frame", { tabindex: 0, role: "region", "aria-label": "Differences" }, el("table.forest",
    el("caption.sr", "Differences between A and B with 95% intervals"),
    el("thead", el("tr", el("th", { scope: "col" }, "On"), heads.map(([words, style]) => (style === "bar" ? el("td.bar", ends)
      : el(style ? "th.num" : "th", { scope: "col" }, words))))),
    el("tbody", rows.map((row) => line(row, scales.get(unit(row)), a, b)))));
}

function line(row, scale, a, b) {
  const value = (raw) => el("td.num", raw === null ? "n/a" : printed(raw, row));
  const told = (raw) => range(raw[0] * row.factor, raw[1] * row.factor, row.decimals);
  const name = el("th", { scope: "row" }, row.title, row.higher_is_better ? null : el("small", " lower is better"));
  if (row.difference === null) return el("tr", name, value(row.value_a), value(row.value_b), el("td", { colspan: 4 }, el("span.state.undefined", "n/a"), " ", el("small", row.reason)), el("td.num", count(row.n)), el("td"));
  const has = row.low !== null, sure = row.p_adjusted !== null && row.p_adjusted < ALPHA;
  return el("tr", name, value(row.value_a), value(row.value_b),
    el("td.bar", interval(row.difference, row.low, row.high, "embedding", scale, { width: WIDE, zero: true })),
    el("td.num", change(row.difference * row.factor, row.decimals), el("small", has ? told([row.low, row.high]) : "no interval")),
    el(sure ? "td.num.best" : "td.num", pValue(row.p_adjusted)), el("td.num", row.smallest === null ? NONE : printed(row.smallest, row)),
    el("td.num", count(row.n)), el("td", words(row, sure, a, b)));
}

/** What the test says of A and B, in the same verbs everywhere. */
function words(row, sure, a, b) {
  if (row.p_adjusted === null) return el("small", row.reason || "not tested");
  if (!sure) return "cannot be told apart";
  const [better, worse] = (row.difference > 0) === row.higher_is_better ? [a, b] : [b, a];
  return [named(better.label), " beats ", named(worse.label)];
}
