// Items and tasks as they stand in lists.
import { action, el, named } from "./dom.js";
import { flagWords } from "./items.js";
import { groupsOf, readId, title } from "./groups.js";

export function taskState(session, task) {
  if (task.finished) return { word: "✓ finished", kind: "good" };
  if (!session.begun(task)) return { word: "not started", kind: "none" };
  return session.open(task).length ? { word: "◔ started", kind: "care" } : { word: "◐ all answered, not finished", kind: "care" };
}

/** A button to an item, with its answer in words. */
export function itemLink(app, task, id) {
  const { session } = app, at = task.items.indexOf(id), answer = session.answer(id);
  const place = task.family === "clustering" ? { view: "sort", task: task.name, chosen: id } : { view: "item", task: task.name, at };
  const words = [inWords(session, task, id), flagWords(answer, session.stateOf(id))].filter(Boolean).join(" · ");
  return el("li", action(`Item ${at + 1}`, () => app.go({ ...place, checking: true })), el("span", { dir: "auto" }, words));
}

/** An answer in words. */
export function inWords(session, task, id) {
  const { value } = session.answer(id), state = session.stateOf(id);
  if (state === "open") return "open";
  if (state === "refused") return "";
  if (task.family === "classification") return task.labels.find((one) => one.value === value)?.name ?? String(value);
  if (task.family === "reranking") return inMarks(value.draft || value);
  if (task.family === "clustering") return title({ number: readId(value).number, name: readId(value).name });
  return [String(value), task.scale?.anchors?.[String(value)]].filter(Boolean).join(" · ");
}

function inMarks(marks) {
  const n = (mark) => marks.filter((one) => one === mark).length;
  const open = n(null) ? `, ${n(null)} open` : "";
  return `${n(1)} relevant, ${n(0)} not${open}`;
}

/** All answers of a task, folded away. */
export function summary(session, task) {
  const rows = task.family === "clustering"
    ? groupsOf(Object.fromEntries(task.items.map((id) => [id, session.answer(id).value])), (id) => session.answers[id]?.seq || 0)
      .map((group) => [title(group), `${group.members.length}`])
    : task.items.map((id, at) => [`Item ${at + 1}`, inWords(session, task, id)]);
  return el(
    "details", el("summary", task.family === "clustering" ? "Your groups" : "All your answers"),
    el("table.meanings", el("tbody", rows.map(([name, words]) => el("tr", el("th", { scope: "row" }, named(name)), el("td", named(words)))))),
  );
}
