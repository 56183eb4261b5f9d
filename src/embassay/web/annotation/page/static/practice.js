// Items to practise on: answered like the others, explained at once, never counted.
import { action, dataText, el, named, say } from "./dom.js";
import { asked, WIDGETS } from "./items.js";
import { KEYS } from "./keys.js";
import { marksOf } from "./marks.js";
import { Sorter } from "./sorter.js";

export function practiceView(app, { task: name, at }) {
  const task = app.session.task(name), one = task.practice[at];
  const view = { app, task, one, at, value: null, history: [], told: false };
  const place = task.family === "clustering" ? sorted(view) : asItem(view);
  const explained = el("div.explained", { role: "status" });
  const onward = action("Check", () => next(view), { key: "↵", primary: true });
  const status = el("span#status.note.hint");
  Object.assign(view, { explained, onward, status });
  view.refresh = () => {
    status.textContent = view.told ? "" : place.missing() || "";
    onward.setAttribute("aria-disabled", String(!view.told && Boolean(place.missing())));
  };
  view.place = place;
  place.draw(true);
  view.refresh();
  app.session.clock.watch(null);
  return {
    kind: task.family, title: `Practice ${at + 1}, ${task.title}`, task, keys: KEYS[task.family], focus: "#question", practice: true,
    stage: [el("p.practice", `Practice ${at + 1} of ${task.practice.length} (does not count)`), asked(task, place.asked), ...place.stage, explained],
    dock: [...place.dock, el("div.bar", action("← Back", () => back(view)), action("Undo", () => undo(view), { key: "⌫" }), status, onward)],
    act: (what, press, event) => act(view, what, press, event),
  };
}

function asItem(view) {
  const widget = WIDGETS[view.task.family](view.task, view.one.payload, {
    locked: false, refresh: () => view.refresh?.(), choose: (value) => set(view, value),
  });
  return {
    asked: widget.asked, stage: widget.stage, dock: widget.dock, acts: widget.acts,
    missing: () => widget.missing(view.value), draw: (first) => widget.show(view.value, first),
  };
}

function sorted(view) {
  const texts = view.one.payload.texts.map((text, i) => ({ id: `p${i}`, text }));
  view.value = {};
  const sorter = new Sorter({
    lang: view.task.lang, texts, values: () => view.value, latest: () => 0, locked: false, refresh: () => view.refresh?.(),
    change: (list) => set(view, { ...view.value, ...Object.fromEntries(list.map(({ id, value }) => [id, value])) }),
  });
  const missing = () => (sorter.unsorted.length ? `${sorter.unsorted.length} still to sort` : "");
  return { stage: sorter.stage, dock: sorter.dock, acts: sorter.acts, missing, draw: () => sorter.draw(), sorter };
}

function set(view, value) {
  view.history.push(view.value);
  view.value = value;
  view.told = false;
  view.explained.replaceChildren();
  view.onward.firstChild.textContent = "Check";
  view.place.draw(false);
  view.refresh();
}

function undo(view) {
  if (!view.history.length) return say("Nothing to undo.");
  const before = view.history.at(-1);
  view.history.splice(-1);
  set(view, before);
  view.history.splice(-1);
  return undefined;
}

function act(view, what, press, event) {
  const own = view.place.acts[what];
  if (own) return own(press, event, view.value);
  if (what === "next") next(view);
  else if (what === "previous") back(view);
  else if (what === "undo") undo(view);
  return undefined;
}

function back({ app, task, at }) {
  app.go(at > 0 ? { view: "practice", task: task.name, at: at - 1 } : { view: "told", task: task.name });
}

function next(view) {
  const { app, task, at, place } = view;
  if (place.sorter?.naming.filled) place.sorter.naming.take();
  else if (place.missing() && !view.told) say(place.missing());
  else if (!view.told) explain(view);
  else if (at + 1 < task.practice.length) app.go({ view: "practice", task: task.name, at: at + 1 });
  else app.start(task);
}

function explain(view) {
  const { task, one, explained, onward, app } = view;
  app.keyboard.justSaved();
  view.told = true;
  const right = agrees(task, one, view.value);
  explained.replaceChildren(
    el(`p.${right ? "good" : "care"}`, el("b", right ? "✓ Matches the instructions" : "The instructions give: "), ...(right ? [] : [named(inWords(task, one, one.answer))])),
    ...(right ? [] : [el("p.note", "You answered: ", named(inWords(task, one, given(task, one, view.value))))]),
    dataText(one.explanation, "en", "div"),
  );
  onward.firstChild.textContent = view.at + 1 < task.practice.length ? "Next practice item" : "Start";
  view.refresh();
  explained.scrollIntoView({ block: "nearest" });
}

/** Whether an answer is the one of the practice; groups are the same when the same texts are together. */
export function agrees(task, { answer, payload }, value) {
  if (task.family === "reranking") return JSON.stringify(marksOf(value, answer.length)) === JSON.stringify(answer);
  if (task.family === "sts") return Number(answer) === value;
  if (task.family !== "clustering") return answer === value;
  const own = payload.texts.map((_, i) => String(value[`p${i}`]));
  return own.every((one, i) => own.every((other, j) => (one === other) === (String(answer[i]) === String(answer[j]))));
}

/** An own answer in the form of the practice's. */
function given(task, { answer, payload }, value) {
  if (task.family === "reranking") return marksOf(value, answer.length);
  return task.family === "clustering" ? payload.texts.map((_, i) => value[`p${i}`]) : value;
}

function inWords(task, { payload }, answer) {
  if (task.family === "classification") return task.labels.find(({ value }) => value === answer)?.name ?? String(answer);
  if (task.family === "sts") return [String(answer), task.scale?.anchors?.[String(answer)]].filter(Boolean).join(", ");
  if (task.family === "reranking") return answer.map((mark, i) => `${i + 1} ${mark ? "relevant" : "not"}`).join(", ");
  const groups = new Map();
  payload.texts.forEach((text, i) => groups.set(String(answer[i]), [...(groups.get(String(answer[i])) || []), text]));
  return [...groups.values()].map((texts) => texts.map((text) => `“${text}”`).join(" with ")).join("; ");
}
