// One item: the text above, the answers in the dock.
import { $, action, cap, el, say } from "./dom.js";
import { openFlag } from "./dialogs.js";
import { KEYS } from "./keys.js";
import { labels } from "./labels.js";
import { marking } from "./marks.js";
import { othersView } from "./others.js";
import { rating } from "./rating.js";

export const WIDGETS = { sts: rating, classification: labels, reranking: marking };
const SECONDS_TO_UNDO = 5;

/** The view of one item of a task. */
export async function itemView(app, { task: name, at }) {
  const { session } = app, task = session.task(name), id = task.items[at];
  const payload = await session.payload(id);
  session.preload(task, id);
  const locked = !session.mayWrite(task);
  const view = { task, id, at, locked };
  const refresh = () => view.refresh?.();
  const widget = WIDGETS[task.family](task, payload, { locked, refresh, choose: (value, how) => chosen(app, view, value, how) });
  view.widget = widget;
  const bar = itemBar(app, view);
  view.refresh = bar.refresh;
  widget.show(session.answer(id).value, true);
  bar.refresh();
  session.clock.watch(id);
  return {
    kind: task.family, title: `${at + 1} of ${task.items.length}, ${task.title}`, task, at,
    stage: [asked(task, widget.asked), ...widget.stage, othersView(task, payload), bar.note], dock: [...widget.dock, bar.node],
    keys: KEYS[task.family], focus: "#question",
    act: (action, press, event) => act(app, view, action, press, event),
    redraw: (changed) => {
      if (!changed.includes(id)) return false;
      widget.show(session.answer(id).value);
      bar.refresh();
      return true;
    },
  };
}

export function asked(task, more = []) {
  return el("div.asked", el("h1#question", { tabindex: "-1", dir: "auto" }, task.question), more);
}

function chosen(app, view, value, { moved = false, finished = true } = {}) {
  if (view.locked) return;
  app.session.change([{ id: view.id, value }]);
  view.widget.show(app.session.answer(view.id).value);
  view.refresh();
  app.progress();
  const words = view.widget.says(value);
  if (words && !$("#dock").contains(document.activeElement)) say(words);
  if (finished && !moved && app.session.annotator.settings.advance) {
    app.after(`Saved: ${words}.`, SECONDS_TO_UNDO);
    next(app, view);
  }
}

function act(app, view, action, press, event) {
  const { session } = app, own = view.widget.acts[action];
  if (own) return view.locked && action !== "up" && action !== "down" ? false : own(press, event, session.answer(view.id).value);
  if (action === "next") next(app, view);
  else if (action === "previous") previous(app, view);
  else if (action === "undo") app.undo(view.task);
  return undefined;
}

function next(app, { task, id, at, widget, locked }) {
  const missing = widget.missing(app.session.answer(id).value);
  if (missing && !locked && !app.session.decided(id)) {
    say(missing);
    $("#status").textContent = missing;
    return;
  }
  app.keyboard.justSaved();
  app.onward(task, at);
}

function previous(app, { task, at }) {
  if (at > 0) app.go({ view: "item", task: task.name, at: at - 1 });
  else app.go({ view: "told", task: task.name });
}

/** Back, undo, flag, what is still missing, and on: the row under the answers. */
function itemBar(app, view) {
  const { session } = app, { task, id, widget, locked } = view;
  const status = el("span#status.note.hint");
  const onward = action("Save and next", () => next(app, view), { key: "↵", primary: true });
  const flag = action(session.adjudicates ? "Reason" : "Flag", () => flagIt(app, view));
  const note = el("p.note.flagged");
  const node = el(
    "div.bar", action("← Back", () => previous(app, view), { key: "" }),
    undoButton(() => app.undo(task), locked), flag, status, onward,
  );
  flag.disabled = locked;
  const [low, high] = widget.hint || [];
  const hint = () => (locked && [task.finished ? "Finished: the answers are frozen" : "Read only"]) || widget.status?.() || (low && session.annotator.settings.single_keys
    ? [cap(low), "–", cap(high), " choose · ", cap("↵"), " save"] : [cap("↵"), " save"]);
  const refresh = () => {
    const answer = session.answer(id);
    const ready = locked || session.decided(id);
    onward.setAttribute("aria-disabled", String(!ready));
    onward.firstChild.textContent = locked ? "Next" : "Save and next";
    status.replaceChildren(...hint());
    note.textContent = flagWords(answer, session.stateOf(id));
    flag.setAttribute("aria-pressed", String(Boolean(answer.flag)));
  };
  return { node, refresh, note };
}

export function undoButton(undo, locked) {
  const button = action("Undo", undo, { key: "⌫" });
  button.classList.add("undo");
  button.disabled = locked;
  return button;
}

export function flagWords({ flag, comment, noted }, state) {
  if (state === "refused") return `Cannot be judged: ${flag}`;
  const words = [flag && `Flagged: ${flag}`, comment && `Comment: ${comment}`].filter(Boolean).join(" · ");
  return words && noted ? `${words} (saved with your answer)` : words;
}

function flagIt(app, view) {
  keepFlag(app, view.id, `item ${view.at + 1}`, () => {
    view.widget.show(app.session.answer(view.id).value);
    view.refresh();
    app.progress();
  });
}

/** Ask for a flag and keep it: with the answer, as a note where there is none, or as "cannot be judged". */
export function keepFlag(app, id, where, then) {
  const { session } = app, { flag, comment } = session.answer(id);
  openFlag({ flag, comment, where, decides: session.adjudicates }, (said) => {
    const answer = session.answers[id];
    const hasValue = (answer?.value ?? null) !== null;
    if (said.refused) session.change([{ id, value: null, flag: said.flag, comment: said.comment }]);
    else if (hasValue) session.change([{ id, flag: said.flag, comment: said.comment }]);
    else {
      if (session.stateOf(id) === "refused") session.change([{ id, value: null, flag: "", comment: said.comment }]);
      session.note(id, said.flag, said.comment);
    }
    then();
  });
}
