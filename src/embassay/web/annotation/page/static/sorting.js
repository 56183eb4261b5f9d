// All texts of a clustering on one page.
import { action, count, el, say } from "./dom.js";
import { asked, flagWords, keepFlag, undoButton } from "./items.js";
import { KEYS } from "./keys.js";
import { othersView, together } from "./others.js";
import { Sorter } from "./sorter.js";

const ANY = "Make as many or as few groups as you need. ", NAMES = "Group names are only for you; what counts is which texts are together.";
const noteOf = (task) => (task.groups ? `Make ${task.groups} groups. ${NAMES}` : ANY + NAMES);

export async function sortingView(app, { task: name, chosen = null }) {
  const { session } = app, task = session.task(name);
  await session.payloadsOf(task);
  const payloads = new Map(await Promise.all(task.items.map(async (id) => [id, await session.payload(id)])));
  const texts = task.items.map((id) => ({ id, text: payloads.get(id).text }));
  const others = el("div");
  const locked = !session.mayWrite(task);
  const view = { app, task, locked };
  const sorter = new Sorter({
    lang: task.lang, texts, locked,
    values: () => Object.fromEntries(task.items.map((id) => [id, valueOf(session, id)])),
    latest: (id) => session.answers[id]?.seq || 0,
    change: (list) => {
      session.change(list);
      app.progress();
    },
    refresh: () => view.refresh?.(),
    watch: (id) => session.clock.watch(id),
    refused: (id) => session.stateOf(id) === "refused",
  });
  view.sorter = sorter;
  sorter.chosen = chosen;
  const bar = sortingBar(view);
  // Beside the chosen text's groups, every text says who put it with that one.
  const decided = () => {
    const own = payloads.get(sorter.chosen);
    others.replaceChildren(othersView(task, own ?? {}) ?? "");
    for (const card of sorter.list.querySelectorAll(".card")) {
      const id = card.dataset.id, letters = id === sorter.chosen ? [] : together(own?.others, payloads.get(id)?.others);
      if (letters.length) card.dataset.with = letters.join(", ");
      else delete card.dataset.with;
    }
  };
  view.refresh = () => {
    bar.refresh();
    if (session.adjudicates) decided();
  };
  sorter.draw();
  return {
    kind: "clustering", title: task.title, task, at: null,
    stage: [asked(task, [el("p.note", noteOf(task)), others]), ...sorter.stage], dock: [...sorter.dock, bar.node],
    keys: KEYS.clustering, focus: "#question",
    act: (action, press) => act(view, action, press),
    redraw: () => {
      sorter.draw();
      return true;
    },
  };
}

function valueOf(session, id) { return session.answer(id).value; }

function act({ app, task, locked, sorter }, action, press) {
  if (sorter.acts[action]) return locked && !["up", "down"].includes(action) ? false : sorter.acts[action](press);
  if (action === "next") finish({ app, task, sorter });
  else if (action === "previous") app.go({ view: "told", task: task.name });
  else if (action === "undo") app.undo(task);
  return undefined;
}

function finish({ app, task, sorter }) {
  const open = app.session.open(task).length;
  if (sorter.naming.filled) sorter.naming.take();
  else if (open) say(`${count(open, "text")} still to sort.`);
  else {
    app.keyboard.justSaved();
    app.go({ view: "check", task: task.name });
  }
}

function sortingBar(view) {
  const { app, task, locked, sorter } = view, { session } = app;
  const status = el("span#status.note.hint");
  const onward = action("Finish", () => finish(view), { key: "↵", primary: true });
  const flag = action(session.adjudicates ? "Reason" : "Flag", () => flagChosen(view));
  const out = action("Take out", () => sorter.takeOut());
  out.classList.add("out");
  flag.disabled = out.disabled = locked;
  const node = el(
    "div.bar", action("← Back", () => app.go({ view: "told", task: task.name })), undoButton(() => app.undo(task), locked),
    flag, out, status, onward,
  );
  const refresh = () => {
    const open = session.open(task).length, { chosen } = sorter;
    onward.setAttribute("aria-disabled", String(open > 0));
    const said = chosen === null ? "" : flagWords(session.answer(chosen), session.stateOf(chosen));
    status.textContent = [open ? `${count(open, "text")} still to sort` : "All sorted", said].filter(Boolean).join(" · ");
    flag.setAttribute("aria-disabled", String(chosen === null));
    out.hidden = chosen === null || valueOf(session, chosen) === null;
  };
  return { node, refresh };
}

function flagChosen({ app, task, sorter, refresh }) {
  const id = sorter.chosen;
  if (id === null) return;
  keepFlag(app, id, `text ${task.items.indexOf(id) + 1}`, () => {
    if (sorter.refused(id)) sorter.chosen = sorter.unsorted[0]?.id ?? id;
    sorter.draw();
    refresh();
    app.progress();
  });
}

