// What people answered to an item that is to be decided: how many said what, and never who.
import { count, el, named } from "./dom.js";
import { readId, title } from "./groups.js";

/** All of it as a block under the text; null where nobody adjudicates. */
export function othersView(task, { others }) {
  if (!others) return null;
  const rows = { classification: labelled, sts: rated, reranking: marked, clustering: grouped }[task.family](task, others);
  const who = others.simulated ? count(others.people, "script") : count(others.people, "person", "people");
  return el(
    "section.others", { "aria-label": "What was answered" }, el("h2", `What ${who} answered`),
    el("ul.given", rows.map((row) => el("li", row))),
    others.refused > 0 && el("p.note", `${count(others.refused, "person", "people")} could not judge it.`),
    others.remarks.length > 0 && el("ul.plain.note", { "aria-label": "Remarks" }, others.remarks.map((text) => el("li", { dir: "auto" }, text))),
  );
}

const times = (n) => el("span.n", `${n} ×`);

function labelled(task, { values }) {
  return [...values].sort((a, b) => b.people - a.people).map(({ value, people }) => [
    times(people), " ", named(task.labels.find((one) => String(one.value) === String(value))?.name ?? String(value)),
  ]);
}

function rated(task, { values }) {
  return values.map(({ value, people }) => {
    const words = task.scale?.anchors?.[String(value)];
    return [times(people), " ", el("b", String(value)), words ? ` · ${words}` : ""];
  });
}

function marked(_, { marks, people }) {
  return marks.map((n, i) => [`Document ${i + 1}: `, el("b", `${n} of ${people}`), " relevant"]);
}

/** Names are the pages' own where they have one; ids of other tools are shown as they are. */
function nameOf(group) {
  const { number, name } = readId(group);
  return number === null ? name : title({ number, name });
}

function grouped(_, { groups }) {
  return groups.map(({ letter, group, texts }) => [el("b", letter), ": ", named(nameOf(group)), ` (${count(texts, "text")})`]);
}

/** The letters of those who put two texts into one group. */
export function together(one, other) {
  const groups = new Map((one?.groups ?? []).map(({ letter, group }) => [letter, group]));
  return (other?.groups ?? []).filter(({ letter, group }) => groups.get(letter) === group).map(({ letter }) => letter);
}
