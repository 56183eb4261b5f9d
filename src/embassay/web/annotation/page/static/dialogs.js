// What opens over a view and closes with Escape: help, settings, flag, menu.
import { aboutFields } from "./about.js";
import { $, $$, action, cap, el, named, onEnter } from "./dom.js";
import { EVERYWHERE, KEYS } from "./keys.js";

export const SINGLE_KEYS = ["Single-character keys", "Digits choose an answer and ? opens the help. Turn this off if you dictate."];
const ADVANCE = ["Advance at once", "A choice moves on without Enter. You can undo it for 5 seconds, and later too."];
let numbered = 0;

/** Open a dialog; the focus goes back where it was when it closes. */
export function openDialog(title, ...content) {
  numbered += 1;
  const heading = el(`h2#dialog${numbered}`, { tabindex: "-1", autofocus: true }, title);
  const box = el("dialog", { "aria-labelledby": heading.id });
  box.append(el("div.head", heading, action("Close", () => box.close(), { key: "Esc" })), ...content.flat().filter(Boolean));
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => event.target === box && box.close());
  box.addEventListener("keydown", (event) => {
    if (event.key === "?" && !event.target.matches("input, textarea")) box.close();
  });
  document.body.append(box);
  box.showModal();
  return box;
}

export const dialogIsOpen = () => $("dialog[open]") !== null;

const SIGNS = {
  ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Enter: "↵", "Shift+Enter": "Shift ↵",
  Backspace: "⌫", Escape: "Esc", letter: "A–Z",
};
const SPOKEN = {
  ArrowLeft: "Left", ArrowRight: "Right", ArrowUp: "Up", ArrowDown: "Down", Enter: "Enter", Backspace: "Backspace",
  "Shift+Enter": "Shift and Enter", Escape: "Escape", letter: "a letter",
};

/** Of the digits only those that this task uses. */
function useful(task, [presses, what, does]) {
  const { low = 0, high = 5 } = task.scale || {};
  const uses = task.family === "sts" ? (n) => n >= low && n <= high : (n) => (n || 10) <= (task.labels.length || 9);
  return [presses.filter((one) => !/^\d$/.test(one) || uses(Number(one))), what, does];
}

/** The keys of a family as a table. */
export function keyTable(task, single) {
  const rows = [...KEYS[task.family].map((entry) => useful(task, entry)), ...EVERYWHERE].map(([presses, , does]) => el(
    "tr", el("th", { scope: "row" }, keyCaps(presses)), el("td", does),
  ));
  return [
    el("table.keys", el("caption.sr", "Keys"), el("tbody", rows)),
    el("p.note", "Digits work by their position, so they work in every keyboard layout and on the numeric keypad."),
    !single && el("p.note", "Single-character keys are turned off in your settings; arrows, Enter and Backspace work."),
  ];
}

function keyCaps(presses) {
  const digits = presses.filter((one) => /^\d$/.test(one)).sort();
  const short = digits.length > 2 ? [digits[0], digits.at(-1)] : presses;
  const spoken = presses.length > 2 ? `${digits[0]} to ${digits.at(-1)}` : presses.map((one) => SPOKEN[one] || one).join(", ");
  const caps = short.map((one) => cap(SIGNS[one] || one));
  return [el("span.sr", spoken), caps[0], ...caps.slice(1).flatMap((one) => [digits.length > 2 ? "–" : " ", one])];
}

/** The instructions of a task: the frozen text, then every label or level with its meaning. */
export function instructions(task) {
  const text = el("div.guidelines");
  // The only markup that comes from the study: the server has rendered and cleaned it.
  text.innerHTML = task.guidelines_html;
  const table = meanings(task);
  const told = table && $$("td", table).every((cell) => text.textContent.includes(cell.textContent.trim()));
  return [text, told ? null : table];
}

function meanings(task) {
  const rows = task.family === "classification"
    ? task.labels.map(({ name, description }) => [name, description])
    : Object.entries(task.scale?.anchors || {}).sort(([a], [b]) => a - b);
  if (!rows.some(([, meaning]) => meaning)) return null;
  const what = task.family === "classification" ? "Labels" : "Levels";
  return el(
    "table.meanings", el("caption", what),
    el("tbody", rows.map(([name, meaning]) => el("tr", el("th", { scope: "row" }, named(name)), el("td", named(meaning))))),
  );
}

export function openHelp(app, task, first) {
  const { single_keys: single } = app.session.annotator.settings;
  const keys = el("section", el("h3", "Keys"), keyTable(task, single));
  const told = el("section", el("h3", "Instructions"), instructions(task));
  openDialog(task.title, ...(first === "keys" ? [keys, told] : [told, keys]));
}

/** "What is wrong with it" in a line, and whether it can be judged at all. */
export function openFlag({ flag, comment, where, decides = false }, keep) {
  const reason = el("input", { id: "reason", type: "text", maxlength: 200, value: flag, autocomplete: "off", dir: "auto" });
  const more = el("textarea", { id: "comment", rows: 3, maxlength: 2000, value: comment, dir: "auto" });
  const wrong = el("p.wrong", { role: "alert" });
  const done = (refused) => {
    if (refused && !reason.value.trim()) {
      wrong.textContent = "Say briefly why it cannot be judged.";
      reason.focus();
      return;
    }
    box.close();
    keep({ flag: reason.value.trim(), comment: more.value.trim(), refused });
  };
  onEnter(reason, () => done(false));
  const box = openDialog(
    decides ? `Reason for ${where}` : `Flag ${where}`,
    el("label", { for: "reason" }, "What is wrong with it (one line)"), reason,
    el("label", { for: "comment" }, decides ? "Why you decided this (included in the export)" : "Comment for the owner of the study (optional)"), more,
    wrong,
    el("p.note", decides ? "An item that cannot be judged is left out." : "A flagged item still needs an answer. If no answer is possible, choose “Cannot judge”."),
    el("div.row", action(decides ? "Keep" : "Keep flag and answer", () => done(false), { primary: true }), action("Cannot judge", () => done(true))),
  );
  reason.focus();
}

export function openSettings(app) {
  const { settings } = app.session.annotator;
  const change = (name, value) => app.setting(name, value);
  const theme = (value, text) => el("label.choice", el("input", {
    type: "radio", name: "theme", value, checked: settings.theme === value, onchange: () => change("theme", value),
  }), text);
  openDialog(
    "Settings",
    toggle(...SINGLE_KEYS, settings.single_keys, (on) => change("single_keys", on)),
    toggle(...ADVANCE, settings.advance, (on) => change("advance", on)),
    aboutFields(app),
    el("fieldset", el("legend", "Colours"), theme("system", "System"), theme("light", "Light"), theme("dark", "Dark")),
  );
}

export function toggle(title, note, checked, onchange) {
  const box = el("input", { type: "checkbox", checked, onchange: (event) => onchange(event.target.checked) });
  return el("label.choice", box, el("span", el("b", title), el("small", note)));
}
