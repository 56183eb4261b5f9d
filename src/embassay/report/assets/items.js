// The explorer: two systems, one measure, the items on which they differ, one item in full.
const explorer = $("#explorer");
const ROWS = 60, BINS = 21;
let items = null;
const now = { g: 0, m: 0, a: null, b: null, order: "difference", q: "", bin: "", i: "", version: "1", rows: ROWS };

const group = () => items.groups[now.g];
/** The items lie in the page as compressed JSON: half its size. Read when the view is first shown. */
async function unpack() {
  const bytes = Uint8Array.from(atob($("#items-data").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
const at = (system, item, m = now.m) => {
  const place = group().systems.indexOf(system);
  const value = place < 0 ? null : group().values[m][place][item];
  return value === null ? null : value / 10000;
};
const gapOf = (item) => {
  const [a, b] = [at(now.a, item), at(now.b, item)];
  return a === null || b === null ? null : a - b;
};
const meanOf = (item) => {
  const values = group().systems.map((system) => at(system, item)).filter((value) => value !== null);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
};
const textOf = (index) => items.texts[items.places[index]];
const system = (index) => DATA.systems[index];
const named = (index) => el("span.system", shape(system(index).kind), el("bdi", system(index).label));
const figure = (value) => (value === null ? el("span.state", "n/a") : fixed(value));
/** How a text under judgement is written. */
const written = () => ({ dir: "auto", lang: group().lang });
const tag = (text, style = "") => el("span", { className: `state ${style}` }, text);

/** A text under judgement, in its own type and language, what is new against the text `before` marked; says when it is
 *  only the beginning. */
function words(index, before) {
  const text = textOf(index) || "(empty text)";
  const node = el("p.data", written(), ...(before === undefined ? [text] : differences(textOf(before), text)));
  if (items.cut[index]) node.append(el("small", ` … the first ${textOf(index).length} of ${items.cut[index].toLocaleString("en")} characters`));
  return node;
}
const clip = (text, most) => (text.length > most ? text.slice(0, Math.max(text.lastIndexOf(" ", most), most / 2)) + "…" : text);
const headText = (item) => {
  const fields = group().fields;
  const field = ["query", "text", "test", "summary", "first"].find((name) => fields[name]);
  return field ? textOf(fields[field][item]) : group().ids[item];
};

/** Word by word what is new in `after` and, with `both`, what of `before` is gone, by the longest common subsequence. */
function differences(before, after, both) {
  const [x, y] = [before.split(/\s+/), after.split(/\s+/)];
  const table = Array.from({ length: x.length + 1 }, () => new Uint16Array(y.length + 1));
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) table[i][j] = x[i] === y[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  }
  const parts = [];
  for (let i = 0, j = 0; j < y.length;) {
    if (i < x.length && x[i] === y[j]) { parts.push(x[i] + " "); i++; j++; }
    else if (i === x.length || table[i][j + 1] >= table[i + 1][j]) parts.push(el("ins", y[j++]), " ");
    else { if (both) parts.push(el("del", x[i]), " "); i++; }
  }
  return parts;
}
const MOVED = ["sentence_shuffle", "word_shuffle"];
/** The edited text of a robustness item, next to what it was. */
function editedText(edit, item) {
  const all = group().changes[edit];
  if (!all) return [group().changesReason];
  if (!all[item]) return ["not on this page; see items/"];
  if (!all[item].length) return [el("small", "unchanged by this edit")];
  const [start, after] = all[item];
  const text = textOf(group().fields.text[item]);
  const before = text.slice(start, start + Math.round(after.length * 1.2));
  const dots = start ? "… " : "";
  // Where order changes there is nothing to align, and past the excerpt nothing to compare with.
  if (MOVED.includes(edit) || before.length < after.length * 0.8) return [`${dots}${after} …`];
  const trim = (one) => one.slice(0, one.lastIndexOf(" ") > 0 ? one.lastIndexOf(" ") : one.length);
  return [dots, ...differences(before, trim(after), edit === "negate"), "…"];
}
/** Where a span was inserted or removed: its place in the text as a bar, and its words. */
function spanText(edit, item) {
  const all = group().changes[edit];
  if (!all) return [group().changesReason];
  if (!all[item]) return ["not on this page; see items/"];
  const [start, gone, come] = all[item];
  const index = group().fields.text[item], text = textOf(index), length = items.cut[index] || text.length;
  const bar = svg("svg", { class: "span", "aria-hidden": "true" },
    svg("rect", { class: "whole", width: "100%", height: 6 }),
    svg("rect", { class: come > gone ? "in" : "out", x: `${100 * start / Math.max(length, length + come)}%`, height: 6, width: `${Math.max(1, 100 * Math.max(gone, come) / (length + come))}%` }));
  const lead = start > text.length ? "… " : (start > 24 ? "… " : "") + text.slice(Math.max(0, start - 24), start);
  const changed = come > gone ? el("ins", clip(group().needle.slice(0, come), 40)) : el("del", start > text.length ? "…" : clip(text.slice(start, start + gone), 40));
  const count = el("small", ` (${Math.max(gone, come).toLocaleString("en")} characters) `);
  return [bar, lead, changed, count, text.slice(start + gone, start + gone + 24), "…"];
}

/** The columns of A and B. */
const both = (cell) => [now.a, now.b].map(cell);
const heads = () => both((index) => el("th.num:col", named(index)));
/** Rows of versions with the value of A and B beside each, and its text below where it has one. */
function versions(item, rows, more = []) {
  const body = rows.flatMap(({ title, m, text = [], extra = [] }) => [
    el("tr.version", el("th:row", title), ...extra.map((value) => el("td.num", value)), ...both((index) => el("td.num", figure(at(index, item, m))))),
    ...(text.length ? [el("tr", el("td.data", { colSpan: 3 + more.length, ...written() }, ...text))] : []),
  ]);
  return el("div.frame", el("table.versions", el("thead", el("tr", el("th:col", "Version"), ...more.map((one) => el("th.num:col", one)), ...heads())), el("tbody", ...body)));
}
const measureRows = (text) => group().measures.map((measure, m) => ({ measure, m }))
  .filter(({ measure }) => measure.edit).map(({ measure, m }) => ({ title: items.edits[measure.edit] || measure.edit, m, text: text(measure.edit), edit: measure.edit }));

const VIEWS = {
  reworded(item) {
    const { fields, wordings, runs, allRuns, gold, value } = group(), names = Object.keys(fields);
    const cell = (index, name) => (index < 0 ? tag("✕ no usable paraphrase", "failed") : words(index, fields[name][item]));
    const line = (title, cells) => el("tr", el("th:row", title), ...cells.map((one) => el("td", one)));
    const body = [line("Original", names.map((name) => words(fields[name][item]))), ...runs.map((run, r) => line(run, names.map((name) => cell(wordings[name][item][r], name))))];
    const about = (runs.length ? "Highlighted: words that are not in the original. " : "") + (runs.length < allRuns ? `One run of ${allRuns}; the others are in the folder paraphrases/.` : "");
    return [names.length ? el("table.reworded", el("tbody", ...body)) : el("p.how", "A set of texts; see the folder items/ for the cluster of each text."),
      el("p.how", about, gold.length && gold[item] !== null ? ` Gold: ${gold[item]}.` : ""),
      versions(item, [{ title: `${value}, original`, m: 1 }, { title: `${value}, mean of ${allRuns} runs`, m: 2 }])];
  },
  comparisons(item) {
    const { fields, choice } = group();
    const side = (name, n, m) => el("section", {},
      el("h3", `Summary ${n + 1} `, choice[item] === n ? tag("✓ chosen by people", "good") : ""),
      words(fields[name][item]),
      el("p", named(now.a), " ", figure(at(now.a, item, m)), " · ", named(now.b), " ", figure(at(now.b, item, m))));
    return [words(fields.source[item]), el("h3", "Similarity to the text above"), el("div.two", side("first", 0, 1), side("second", 1, 2))];
  },
  ratings(item) {
    const { fields, ratings } = group();
    const rated = Object.entries(ratings).flatMap(([axis, values]) => [el("dt", `human rating: ${axis}`), el("dd", values[item] === null ? "no rating" : String(values[item]))]);
    return [words(fields.source[item]), el("h3", "Summary"), words(fields.summary[item]), el("dl", ...rated)];
  },
  robustness(item) {
    const { fields } = group();
    const rows = measureRows((edit) => (edit === "summary" ? [textOf(fields.summary[item])] : editedText(edit, item)));
    return [words(fields.text[item]), el("h3", "Similarity of each version to the text above"), el("p.how", "Highlighted: words that the edit changed."), versions(item, rows)];
  },
  sensitivity(item) {
    const rows = measureRows((edit) => spanText(edit, item)).map((row) => ({ ...row, extra: [fixed(group().expected[row.edit.match(/p=([\d.]+)/)[1]])] }));
    return [words(group().fields.text[item]), el("h3", "Similarity as text is inserted or removed"), versions(item, rows, ["Expected"])];
  },
  clustering(item) {
    const set = group().sets[item], places = [now.a, now.b].map((index) => group().systems.indexOf(index));
    const rows = set.ids.map((id, i) => el("tr", el("td.data", written(), textOf(set.texts[i])), el("td", set.labels[i]),
      ...places.map((place) => el("td.num", set.clusters[place][i] === null ? "–" : String(set.clusters[place][i])))));
    const note = set.total > set.ids.length ? `The first ${set.ids.length} of ${set.total} texts, by label.` : `${set.total} texts, by label.`;
    return [el("p.how", `${note} Cluster numbers are arbitrary: texts with the same number are in the same cluster.`),
      el("div.frame", el("table", el("thead", el("tr", el("th:col", "Text"), el("th:col", "Label"), ...heads())), el("tbody", ...rows)))];
  },
  values(item) {
    const { fields, titles, measures, note } = group();
    return [...Object.keys(fields).flatMap((name) => [el("h3", titles[name]), words(fields[name][item])]), el("p.how", note), versions(item, measures.map((one, m) => ({ title: one.title, m })))];
  },
  retrieval(item) {
    const { rankings, gains, documents, documentTexts, systems } = group();
    const clean = now.version === "0";
    const list = (index) => {
      const flat = (rankings[item][systems.indexOf(index)] || [[], []])[clean ? 0 : 1], step = clean ? 1 : 2, entries = [];
      for (let i = 0; i < flat.length; i += step) entries.push([flat[i], clean ? 0 : flat[i + 1]]);
      const gold = entries.findIndex(([doc, edit]) => !edit && gains[item][doc]), copies = entries.slice(0, gold).filter(([, edit]) => edit).length;
      const said = gold < 0 ? `No relevant document among the first ${entries.length}.` : gold ? `Before the first relevant document: ${gold - copies} not relevant, ${copies} perturbed ${copies === 1 ? "copy" : "copies"}.` : "A relevant document is first.";
      const line = ([doc, edit], rank) => {
        const gain = gains[item][doc];
        return el(rank < gold ? "li.before-gold" : "li", el("span.data", written(), textOf(documentTexts[doc])), el("span.tags",
          edit ? tag(`copy: ${items.edits[items.copies[edit]]}`, "partial") : gain ? tag(`✓ grade ${gain}`, "good") : tag("not relevant"), el("small", documents[doc])));
      };
      return el("section", el("h3", named(index), " ", figure(at(index, item, clean ? 1 : 0))), el("p.how", said), el("ol.ranking", ...entries.map(line)));
    };
    const choose = field("Corpus", [["1", "With all perturbed copies"], ["0", "Clean"]], now.version, (value) => change({ version: value }));
    return [words(group().fields.query[item]), el("div.fields", choose), el("div.two", list(now.a), ...(now.b === now.a ? [] : [list(now.b)]))];
  },
};

function allSystems(item) {
  const values = group().systems.map((index) => [index, at(index, item)]);
  const known = values.map(([, value]) => value).filter((value) => value !== null);
  const low = Math.min(0, ...known), high = Math.max(1, ...known);
  const row = ([index, value]) => {
    const x = `${100 * (value - low) / (high - low)}%`;
    const { kind } = system(index), mark = "cm".includes(kind) ? svg("rect", { class: `${kind} p`, x }) : svg("circle", { class: kind, cx: x, cy: 8, r: 5 });
    return el("tr", el("th:row", named(index)), el("td.num", figure(value)),
      el("td.bar", value === null ? "" : svg("svg", { class: "iv", "aria-hidden": "true" }, mark)));
  };
  values.sort((p, q) => (q[1] ?? -1) - (p[1] ?? -1));
  return [el("h3", `All systems: ${group().measures[now.m].title}`), el("table.standing.line", el("tbody", ...values.map(row))),
    el("p.how", "A single item has no interval. It shows what happened, not which system is better.")];
}
function asJson(item) {
  const { measures, systems, ids, title } = group();
  const values = Object.fromEntries(systems.map((index) => [system(index).name, Object.fromEntries(measures.map((measure, m) => [measure.title, at(index, item, m)]))]));
  return JSON.stringify({ run: DATA.run, group: title, item: ids[item], values }, null, 1);
}
function drawItem() {
  const item = group().ids.indexOf(now.i);
  const box = $("#item");
  if (item < 0) { box.replaceChildren(el("p.how", "Choose an item from the list.")); return; }
  const found = listed(), place = found.indexOf(item);
  const button = (text, onclick, props) => el("button.link", { onclick, ...props }, text);
  // The item is drawn anew: the button that was pressed is another one, and keeps the focus.
  const turn = (text, by) => button(text, () => { move(by); $(`#turn${by}`).focus(); }, { id: `turn${by}`, disabled: found[place + by] === undefined });
  box.replaceChildren(
    el("h2.facts", `${group().title} · `, el("bdi", now.i), place < 0 ? " " : ` · ${place + 1} of ${found.length} `, turn("previous", -1), turn("next", 1),
      button("copy link", () => copy(location.href, "Link")), button("copy as JSON", () => copy(asJson(item), "Item"))),
    ...VIEWS[group().kind](item), ...allSystems(item));
}

let last = ["", []];
/** The items of the list in their order; found once for what is asked. */
function listed() {
  const asked = [now.g, now.m, now.a, now.b, now.order, now.q, now.bin].join("\n");
  if (last[0] !== asked) last = [asked, find()];
  return last[1];
}
function find() {
  const bins = binning();
  const wanted = now.q.trim().toLowerCase();
  const found = group().ids.map((_, item) => item)
    .filter((item) => !wanted || (group().ids[item] + " " + headText(item)).toLowerCase().includes(wanted))
    .filter((item) => now.bin === "" || bins.of(item) === Number(now.bin));
  const key = { difference: (item) => { const gap = gapOf(item); return gap === null ? 9 : -Math.abs(gap); }, a: (item) => at(now.a, item) ?? 9, b: (item) => at(now.b, item) ?? 9, all: (item) => meanOf(item) ?? 9 }[now.order];
  const keys = new Map(found.map((item) => [item, key(item)]));
  return found.sort((x, y) => keys.get(x) - keys.get(y));
}
function binning() {
  const gaps = group().ids.map((_, item) => gapOf(item));
  const most = Math.max(...gaps.map((gap) => Math.abs(gap ?? 0))) || 1;
  const of = (item) => (gaps[item] === null ? null : Math.min(BINS - 1, Math.floor((gaps[item] / most + 1) / 2 * BINS)));
  return { gaps, most, of };
}
function drawHistogram() {
  const { gaps, most, of } = binning();
  const counts = Array(BINS).fill(0);
  gaps.forEach((gap, item) => { if (gap !== null) counts[of(item)] += 1; });
  const top = Math.max(...counts, 1), middle = (BINS - 1) / 2;
  const bars = counts.map((count, i) => {
    const side = i === middle ? "zero" : i > middle ? "a" : "b", edge = (k) => signed((2 * k / BINS - 1) * most, 2);
    const bar = el("button", { className: `bin ${side}`, type: "button", disabled: !count, ariaPressed: now.bin === String(i), title: `${count} with a difference from ${edge(i)} to ${edge(i + 1)}`, onclick: () => change({ bin: now.bin === String(i) ? "" : String(i) }) },
      el("span.sr", `${count} from ${edge(i)} to ${edge(i + 1)}`));
    const fill = el("i");
    fill.style.height = `${100 * count / top}%`;
    bar.prepend(fill);
    return bar;
  });
  const known = gaps.filter((gap) => gap !== null), n = known.length, mean = known.reduce((sum, gap) => sum + gap, 0) / n;
  const error = Math.sqrt(known.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / (n - 1) / n);
  const whole = group().ids.length === group().total;
  const text = !n ? "No item has both values." : !whole ? "There is no mean, because the items here are not a random sample."
    : n < 2 ? `${signed(mean)}; there is no interval for a single item.` : `Mean ${signed(mean)} (95% ${range(mean - 1.96 * error, mean + 1.96 * error)}, normal approximation, n = ${n}).`;
  $("#gap").replaceChildren(el("p.how", `${group().measures[now.m].title}, A − B, per ${group().noun}. ${text} Select a bar to filter.`),
    el("div.histogram", { role: "group", ariaLabel: "Distribution of A − B" }, ...bars),
    el("p.ends", el("span", "B higher"), el("span", "0"), el("span", "A higher")));
}
function drawList() {
  const found = listed();
  const option = (item) => {
    const gap = now.order === "a" ? at(now.a, item) : now.order === "b" ? at(now.b, item) : now.order === "all" ? meanOf(item) : gapOf(item);
    const shown = gap === null ? "n/a" : now.order === "difference" ? signed(gap, 2) : fixed(gap, 2);
    const chosen = group().ids[item] === now.i;
    return el("li", { role: "option", id: `option-${item}`, ariaSelected: chosen, onclick: () => change({ i: group().ids[item] }) },
      el("span.id", group().ids[item]), el("span.data", { dir: "auto" }, clip(headText(item), 90)), el("b.num", shown));
  };
  const list = $("#item-list"), chosen = group().ids.indexOf(now.i);
  list.replaceChildren(...found.slice(0, now.rows).map(option));
  if (found.slice(0, now.rows).includes(chosen)) list.setAttribute("aria-activedescendant", `option-${chosen}`);
  else list.removeAttribute("aria-activedescendant");
  const total = group().ids.length, filtered = now.q || now.bin !== "";
  $("#item-count").replaceChildren(found.length ? (filtered ? `${found.length} of ${total} shown` : `${total} ${group().noun}${total === 1 ? "" : "s"}`.replace(/ys$/, "ies")) : "No item matches.",
    ...(filtered ? [el("button.link", { onclick: () => { $("#item-search").value = ""; change({ q: "", bin: "" }); } }, "clear")] : []));
  const rest = $("#item-more");
  rest.hidden = found.length <= now.rows;
  rest.textContent = `Show ${Math.min(ROWS * 5, found.length - now.rows)} more`;
}
/** Choose the item so many places further in the list. */
function move(step) {
  const found = listed(), place = found.indexOf(group().ids.indexOf(now.i)), last = Math.min(found.length, Number.isFinite(step) ? Infinity : now.rows) - 1;
  const to = Math.min(last, Math.max(0, place + step));
  if (to < 0) return;
  if (to >= now.rows) { now.rows = to + ROWS; drawList(); }
  change({ i: group().ids[found[to]] });
  $(`#option-${found[to]}`).scrollIntoView({ block: "nearest" });
}
function keys(event) {
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
  if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  move(step);
}

function drawFields() {
  const systems = group().systems.map((index) => [index, system(index).label]);
  $("#item-fields").replaceChildren(
    field("Items", items.groups.map((one, i) => [i, one.title]), now.g, (value) => change({ g: Number(value), m: 0, i: "", bin: "" })),
    field("Measure", group().measures.map((one, i) => [i, one.title]), now.m, (value) => change({ m: Number(value), bin: "" })),
    field("A", systems, now.a, (value) => change({ a: Number(value), bin: "" })),
    field("B", systems, now.b, (value) => change({ b: Number(value), bin: "" })));
  $("#item-order").replaceChildren(field("Order", [["difference", "largest difference first"], ["a", "A lowest first"], ["b", "B lowest first"], ["all", "lowest over all systems first"]], now.order, (value) => change({ order: value })));
}
function settle() {
  const { systems, measures, ids } = group();
  if (!measures[now.m]) now.m = 0;
  if (!systems.includes(now.a)) now.a = sides(systems)[0];
  if (!systems.includes(now.b)) now.b = sides(systems.filter((index) => index !== now.a))[0] ?? now.a;
  if (!ids.includes(now.i)) { const found = listed(); now.i = found.length ? ids[found[0]] : ""; }
}
/** The two systems that a group opens with: the first of the ranking that it has. */
function sides(systems) {
  const order = [...(DATA.scopes[0]?.systems || []), ...systems].filter((one) => systems.includes(one));
  return [order[0], order.find((one) => one !== order[0]) ?? order[0]];
}
/** The first group on which these two differ, for it is differences that the explorer is about. */
function telling() {
  return Math.max(0, items.groups.findIndex(({ systems, values: [own] }) => {
    const [a, b] = sides(systems).map((one) => own[systems.indexOf(one)]);
    return a.some((one, i) => (one ?? b[i]) !== (b[i] ?? one));
  }));
}
function change(changes) {
  const before = { ...now };
  Object.assign(now, changes, "i" in changes && Object.keys(changes).length === 1 ? {} : { rows: ROWS });
  settle();
  remember({ g: now.g, m: now.m || null, a: now.a, b: now.b, order: now.order === "difference" ? null : now.order, q: now.q, bin: now.bin, i: now.i, version: now.version === "1" ? null : now.version });
  draw(before);
}
function draw(before) {
  const same = (...names) => before && names.every((name) => before[name] === now[name]);
  if (!same("g", "m", "a", "b", "order")) drawFields();
  if (!same("g", "m", "a", "b", "bin")) drawHistogram();
  if (same("g", "m", "a", "b", "order", "q", "bin", "rows")) {
    $$("#item-list [aria-selected=true]").forEach((one) => { one.ariaSelected = "false"; });
    const chosen = $(`#option-${group().ids.indexOf(now.i)}`);
    if (chosen) { chosen.ariaSelected = "true"; $("#item-list").setAttribute("aria-activedescendant", chosen.id); }
  } else drawList();
  drawItem();
}
function build() {
  const search = el("input", { type: "search", id: "item-search", placeholder: "Search texts and ids", ariaLabel: "Search items", oninput: () => change({ q: search.value, i: now.i }) });
  const more = el("button.link", { id: "item-more", onclick: () => { now.rows += ROWS * 5; drawList(); } });
  const list = el("ul", { id: "item-list", role: "listbox", tabIndex: 0, ariaLabel: "Items", onkeydown: keys });
  explorer.replaceChildren(
    el("div.side", el("div", { id: "item-fields", className: "fields" }), el("div#gap"), search, el("div", { id: "item-order", className: "fields" }),
      el("p.how", { id: "item-count", role: "status" }), list, more, el("p.how", el("kbd", "↑"), " ", el("kbd", "↓"), " move within the list")),
    el("div#item"));
}
if (explorer) {
  const shown = (params) => {
    const whole = (name) => (params.has(name) ? Number(params.get(name)) : null);
    Object.assign(now, { g: items.groups[whole("g")] ? whole("g") : telling(), m: whole("m") || 0, a: whole("a"), b: whole("b"), order: params.get("order") || "difference",
      q: params.get("q") || "", bin: params.get("bin") || "", i: params.get("i") || "", version: params.get("version") || "1", rows: ROWS });
    if (now.order === "worst") now.order = "a";
    settle();
    $("#item-search").value = now.q;
    draw(null);
  };
  let ready = null;
  onView("items", (params) => {
    ready ??= unpack().then((data) => { items = data; build(); });
    ready.then(() => shown(params), () => explorer.replaceChildren(el("p.how", "This browser cannot unpack the items; see the folder items/.")));
  });
}
