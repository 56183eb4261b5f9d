// The pages around the items: welcome, tasks, instructions, check list, thanks.
import { $, action, count, el, named, onEnter, say } from "./dom.js";
import { instructions, keyTable, SINGLE_KEYS, toggle } from "./dialogs.js";
import { aboutFields, languageOf } from "./about.js";
import { itemLink, summary, taskState } from "./listed.js";

const FAMILIES = {
  sts: "Rate how close two texts are in meaning", classification: "Choose a label for a text",
  reranking: "Mark the documents that answer a query", clustering: "Sort texts into groups",
};

const GRADING = "Grade how well passages answer questions";
const purpose = (session, task) => (session.standing ? GRADING : FAMILIES[task.family]);

/** What tells a task from others: its name in the study, its language, how many items it has. */
function about(task) {
  return [!task.title.includes(task.name) && named(task.name), languageOf(task.lang), count(task.items.length, "item")]
    .filter(Boolean).flatMap((part, at) => (at ? [" · ", part] : [part]));
}

const buttons = (...list) => [el("div.bar", el("span.note.hint"), ...list)];
const FROZEN = "This task is finished and its answers are frozen.";
const TO_DO = "Answer these, or flag them as impossible to judge, then finish.";
const TO_FINISH = "You can still change any answer. Once you finish, the answers are frozen.";
const NOW = "Now download the file and send it to whoever gave you this page. Nothing has left your computer yet.";
const LATER = "When all tasks are finished, download one file with all answers.";
const BACK = [[["Shift+Enter"], "previous", "back"]];
const GO_ON = [[["Enter"], "next", "continue"]];
const heading = (text) => el("h1#question", { tabindex: "-1" }, text);

export function welcomeView(app) {
  if (app.session.adjudicates && !app.session.tasks.length) return nothingView(app);
  const { session } = app, { settings } = session.annotator;
  const items = session.tasks.reduce((sum, task) => sum + task.items.length, 0), several = session.tasks.length > 1;
  const back = session.transport.offline ? "open the same file in the same browser again" : "come back with the same link";
  const name = el("input", {
    id: "name", type: "text", maxlength: 80, autocomplete: "name", value: session.annotator.name || "", dir: "auto",
  });
  const start = () => app.introduce(name.value.trim());
  onEnter(name, start);
  return {
    title: "Welcome", focus: "#question", keys: GO_ON, act: start, dock: buttons(action("Start", start, { primary: true })),
    stage: [el(
      "div.column", heading("Welcome"),
      session.standing
        ? el("p.lede", "You are asked to grade passages in ", named(session.study), " until it is decided: ", count(items, "passage"), " for now, more if needed.")
        : session.adjudicates ? el("p.lede", `You are asked to decide ${count(items, "item")} on which people disagree, in `, named(session.study), ":")
        : el("p.lede", `You are asked to judge ${count(items, "item")} in `, named(session.study), several ? `, in ${count(session.tasks.length, "task")}:` : "."),
      el("ul.plain", session.tasks.map((task) => el(
        "li", el("b", named(task.title)), ": ", purpose(session, task).toLowerCase(), el("div.note", about(task)),
      ))),
      el("p", `There is no time limit. Every choice is saved at once, so you can close the page whenever you like and ${back}.`),
      session.adjudicates && el("p", "You see what people answered, but not who. Items with the most disagreement come first. Follow the instructions, not the majority."),
      el("p", session.adjudicates ? "The study stores your decisions, flags and comments, and how long each item was on screen." : "Work alone and follow the instructions. The study stores your answers, flags and comments, and how long each item was on screen."),
      aboutFields(app),
      el("label.field", { for: "name" }, "Your name or initials (for the owner of the study; optional)"), name,
      toggle(...SINGLE_KEYS, settings.single_keys, (on) => app.setting("single_keys", on)),
    )],
  };
}

/** An adjudicator has come before there is anything to decide. */
function nothingView(app) {
  const again = () => app.reload();
  return {
    title: "Nothing to decide", focus: "#question", keys: GO_ON, act: again, dock: buttons(action("Check again", again, { primary: true })),
    stage: [el("div.column", heading("There is nothing to decide yet"), el("p.lede", "So far, people have not answered any item of ", named(app.session.study), " differently."))],
  };
}

export function tasksView(app) {
  const { session } = app, next = session.tasks.find((task) => !task.finished);
  return {
    title: "Tasks", focus: "#question", keys: next ? GO_ON : [], act: () => (next ? app.resume(next) : false),
    stage: [el(
      "div.column", heading("Your tasks"), el("p.note", "Do them in any order. You finish each task separately."),
      el("ul.tasks", session.tasks.map((task) => taskRow(app, task))),
    )],
  };
}

function taskRow(app, task) {
  const { session } = app, { word, kind } = taskState(session, task);
  const go = action(task.finished ? "View" : session.begun(task) ? "Continue" : "Begin", () => app.resume(task), {
    primary: !task.finished, name: `${task.finished ? "View" : session.begun(task) ? "Continue" : "Begin"} ${task.title}`,
  });
  const done = task.items.length - session.open(task).length;
  return el(
    "li", el("div", el("h2", named(task.title)), el("p.note", about(task)), el("p.note", `${purpose(session, task)}. ${done} of ${task.items.length} answered.`)),
    el(`span.state.${kind}`, word), go,
  );
}

export function toldView(app, { task: name }) {
  const { session } = app, task = session.task(name), begun = session.begun(task);
  const practice = () => app.go({ view: "practice", task: name, at: 0 });
  const start = () => app.start(task);
  const many = task.practice.length;
  const dock = many && !begun
    ? buttons(action("Skip the practice", start), action(`Practise on ${count(many, "item")}`, practice, { primary: true }))
    : buttons(many && action("Practise again", practice), action(begun ? "Continue" : "Start", start, { primary: true }));
  return {
    title: `Instructions, ${task.title}`, task, focus: "#question", keys: GO_ON, dock,
    act: () => (many && !begun ? practice() : start()),
    stage: [el(
      "div.column", heading(task.title), el("p.note", about(task)), el("p.lede", task.question),
      el("section", el("h2", "Instructions"), instructions(task), el("p.note", `Version ${session.version} of the instructions. To see them again, press `, el("kbd", "?"))),
      el("section", el("h2", "Keys"), keyTable(task, session.annotator.settings.single_keys)),
    )],
  };
}

/** What is open, what is flagged, and the end. */
export function checkView(app, { task: name }) {
  const { session } = app, task = session.task(name);
  if (session.standing) return standingView(app, task);
  const open = session.open(task), flagged = session.flagged(task);
  const finish = action("Finish this task", () => app.finish(task), { primary: true });
  finish.disabled = !session.mayWrite(task);
  const status = el("p#finishing.wrong", { role: "alert" });
  const refresh = () => {
    const { waiting } = session.outbox;
    finish.setAttribute("aria-disabled", String(open.length > 0 || waiting > 0));
    status.textContent = waiting && session.outbox.failing ? `You can finish once ${count(waiting, "answer")} ${waiting === 1 ? "is" : "are"} sent.` : "";
  };
  refresh();
  const back = task.family === "clustering" ? { view: "sort", task: name } : { view: "item", task: name, at: task.items.length - 1 };
  return {
    title: `Check list, ${task.title}`, task, focus: "#question", keys: BACK, refresh,
    act: () => app.go(back),
    stage: [el(
      "div.column", heading(open.length ? `${count(open.length, "item")} still open` : "All items are decided"),
      el("p.lede", task.finished ? FROZEN : open.length ? TO_DO : TO_FINISH),
      open.length > 0 && listOf(app, task, "Open", open), flagged.length > 0 && listOf(app, task, "Flagged", flagged),
      summary(session, task), status,
    )],
    dock: buttons(
      action("← Back", () => app.go(back)), session.tasks.length > 1 && action("All tasks", () => app.go({ view: "tasks" })),
      session.transport.offline && !task.finished && action("Download so far", () => session.transport.download()), !task.finished && finish,
    ),
  };
}

/** The end of what there is to grade, for now or for good. */
function standingView(app, task) {
  const { session } = app, { standing } = session, [first] = session.open(task);
  const graded = task.items.length - session.open(task).length;
  const again = () => app.lookAgain(task);
  const head = !standing.open ? "The study is decided" : first ? `${count(session.open(task).length, "passage")} to grade` : "Nothing to grade right now";
  const said = !standing.open ? "No more grades are needed. Thank you. You can close the page."
    : first ? "Continue whenever you like." : "Others are grading the remaining passages. Check again in a moment.";
  return {
    title: `Status, ${task.title}`, task, focus: "#question", keys: standing.open ? GO_ON : [], act: again,
    stage: [el(
      "div.column", heading(head), el("p.lede", said), el("p#standing", `You graded ${count(graded, "passage")}; ${standing.used} grades count so far.`),
      summary(session, task),
    )],
    dock: standing.open ? buttons(action(first ? "Continue" : "Check again", again, { primary: true })) : [],
  };
}

function listOf(app, task, title, ids) {
  return el("section", el("h2", title), el("ul.items", ids.map((id) => itemLink(app, task, id))));
}

export function thanksView(app, { task: name }) {
  const { session } = app, task = session.task(name), rest = session.tasks.filter((one) => !one.finished);
  const text = receipt(session, task);
  const left = rest.length ? `${count(rest.length, "task")} left.` : session.transport.offline ? "" : "You can close the page.";
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("Receipt copied");
    } catch {
      getSelection().selectAllChildren($("#receipt"));
      say("Receipt selected. Copy it.");
    }
  };
  const download = session.transport.offline && action("Download the answers", () => session.transport.download(), { primary: rest.length === 0 });
  return {
    title: "Thank you", task, focus: "#question", keys: rest.length ? GO_ON : [],
    act: () => (rest.length ? app.resume(rest[0]) : false),
    stage: [el(
      "div.column", heading("Thank you"),
      el("p.lede", named(task.title), " is finished, and its answers are frozen. ", left),
      session.transport.offline && el("p", rest.length ? LATER : NOW),
      el("h2", "Receipt"), el("pre#receipt", { tabindex: "0" }, text),
    )],
    dock: buttons(
      action("Copy receipt", copy), action("View answers", () => app.go({ view: "check", task: name })), download,
      rest.length > 0 && action(`Next: ${rest[0].title}`, () => app.resume(rest[0]), { primary: true }),
    ),
  };
}

function receipt(session, task) {
  const states = task.items.map((id) => session.stateOf(id));
  const counted = (state) => states.filter((one) => one === state).length;
  return [
    `Study      ${session.study}`, `Task       ${task.title} (${task.name})`, `Annotator  ${session.annotator.name || "no name given"}`,
    `Answered   ${counted("done")} of ${task.items.length}`, `Impossible ${counted("refused")}`, `Flagged    ${session.flagged(task).length}`,
    `Guidelines ${session.version}`, `Last save  ${session.seq}`,
  ].join("\n");
}
