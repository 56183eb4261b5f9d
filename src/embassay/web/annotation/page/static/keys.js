// Which key does what. The help and the tests read the same lists as the pages.

const DIGITS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const GUARD = 150;
const NO_REPEAT = /^(\d|Enter|Shift\+Enter|Backspace|\?)$/;

/** The keys of every view, [presses, action, what it does]: letters are only ever the start of a typed name. */
export const EVERYWHERE = [
  [["?"], "help", "keys and instructions"],
  [["Escape"], "leave", "close the help, leave a field"],
];
const ITEMS = [
  [["Enter"], "next", "save and continue"],
  [["Shift+Enter"], "previous", "back to the previous item"],
  [["Backspace"], "undo", "undo the last choice"],
];
export const KEYS = {
  sts: [
    [["0", ...DIGITS.map(String)], "digit", "choose a level"],
    [["ArrowLeft"], "less", "one step down"],
    [["ArrowRight"], "more", "one step up"],
    ...ITEMS,
  ],
  classification: [
    [[...DIGITS.map(String), "0"], "digit", "choose a label; 0 is the tenth"],
    [["ArrowLeft"], "less", "previous label"],
    [["ArrowRight"], "more", "next label"],
    [["ArrowUp"], "up", "one row up"],
    [["ArrowDown"], "down", "one row down"],
    [["letter"], "type", "find a label by its name, if there are more than ten"],
    ...ITEMS,
  ],
  reranking: [
    [["1"], "relevant", "mark as relevant and go to the next open document"],
    [["2"], "irrelevant", "mark as not relevant and go to the next open document"],
    [["ArrowUp"], "up", "previous document"],
    [["ArrowDown"], "down", "next document"],
    ...ITEMS,
  ],
  clustering: [
    [DIGITS.map(String), "digit", "put the text into this group"],
    [["ArrowUp"], "up", "previous text"],
    [["ArrowDown"], "down", "next text"],
    [["letter"], "type", "start typing a group's name"],
    [["Enter"], "next", "create or choose the group you named; finish when all texts are sorted"],
    [["Shift+Enter"], "previous", "back to the previous page"],
    [["Backspace"], "undo", "undo the last step"],
  ],
  page: [],
};

/** What was pressed, by the place of the key for digits and by its meaning for others; null: none of ours. */
export function pressOf(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.keyCode === 229) return null;
  const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code);
  if (digit && !(event.code.startsWith("Numpad") && event.key.length > 1)) return digit[1];
  if (event.key === "Enter") return event.shiftKey ? "Shift+Enter" : "Enter";
  if (event.key === "?" || event.key === "؟") return "?";
  if (/^(Escape|Backspace|Arrow(Up|Down|Left|Right))$/.test(event.key)) return event.shiftKey ? null : event.key;
  return /^\p{L}$/u.test(event.key) ? "letter" : null;
}

const TYPED = 'input:not([type="radio"], [type="checkbox"]), textarea, select, [contenteditable]';
export const inField = (target) => target.matches?.(TYPED) ?? false;

/** Whether the press has a meaning of the browser's own where the focus is. */
function native(press, target) {
  if (inField(target)) return press !== "Escape" && !(press === "Backspace" && target.value === "");
  if (press === "Enter") return target.matches?.("button, a, summary") ?? false;
  return false;
}

/** Listens to the whole page. `view()` gives {keys, act}: the list of the view and what carries an action out. */
export class Keyboard {
  constructor({ view, single, blocked }) {
    Object.assign(this, { view, single, blocked, saved: -GUARD });
    document.addEventListener("keydown", (event) => this.hear(event));
  }

  /** After a save keys wait a moment: a key held or hit twice must not answer the next item. */
  justSaved() { this.saved = performance.now(); }

  hear(event) {
    const press = pressOf(event);
    if (press === null || event.defaultPrevented || this.blocked() || native(press, event.target)) return;
    if (/^(\d|\?|letter)$/.test(press) && !this.single()) return;
    const { keys, act } = this.view();
    const entry = [...EVERYWHERE, ...keys].find(([presses]) => presses.includes(press));
    if (!entry) return;
    const early = performance.now() - this.saved < GUARD && /^(\d|Enter)$/.test(press);
    if (early || (event.repeat && NO_REPEAT.test(press))) event.preventDefault();
    else if (act(entry[1], press, event) !== false && entry[1] !== "type") event.preventDefault();
  }
}
