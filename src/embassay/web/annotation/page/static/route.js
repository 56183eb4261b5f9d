// Places of the page and how an address names them: "item/emotion/3".

const VIEWS = ["welcome", "tasks", "told", "practice", "item", "sort", "check", "thanks"];
const OF_ITEMS = ["practice", "item"];

/** Where somebody starts who comes without an address. */
export function firstPlace(session, kept) {
  const { tasks, annotator } = session;
  if (!tasks.length) return { view: "welcome" };
  const known = annotator.name || kept.read("welcomed", false) || tasks.some((task) => session.begun(task));
  if (!known) return { view: "welcome" };
  return tasks.length > 1 ? { view: "tasks" } : placeOf(session, kept, tasks[0]);
}

/** Where one left off in a task. */
export function placeOf(session, kept, task) {
  const { name } = task, [first] = session.open(task);
  if (task.finished) return { view: "thanks", task: name };
  if (!session.begun(task) && !kept.read(`told:${name}`, false)) return { view: "told", task: name };
  if (task.family === "clustering") return { view: "sort", task: name };
  return first ? { view: "item", task: name, at: task.items.indexOf(first) } : { view: "check", task: name };
}

/** The place after an item: the next one, or from the check list the next open one; after the last the check list. */
export function placeAfter(session, task, at, checking) {
  const open = session.open(task), name = task.name;
  const next = session.standing ? open[0] : checking ? open.find((id) => task.items.indexOf(id) > at) || open[0] : task.items[at + 1];
  if (next === undefined) return { view: "check", task: name };
  return { view: "item", task: name, at: task.items.indexOf(next), checking };
}

export const writePlace = ({ view, task, at }) => [view, task, at].filter((part) => part !== undefined).join("/");

/** The place of an address; null where there is no such. */
export function readPlace(session, text) {
  const [view, name, number] = text.split("/");
  if (!VIEWS.includes(view)) return null;
  if (["welcome", "tasks"].includes(view)) return { view };
  const task = session.task(decodeURIComponent(name || ""));
  if (!task || (view === "thanks" && !task.finished)) return null;
  if ((view === "sort") !== (task.family === "clustering") && ["sort", "item"].includes(view)) return null;
  if (!OF_ITEMS.includes(view)) return { view, task: task.name };
  const at = Number(number), most = (view === "item" ? task.items : task.practice).length;
  if (!Number.isInteger(at) || at < 0 || at >= most) return null;
  return { view, task: task.name, at, checking: history.state?.checking || false };
}
