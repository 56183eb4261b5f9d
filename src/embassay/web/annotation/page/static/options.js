// The choices in the dock: radio buttons that look like keys.
import { $$, cap, el, named } from "./dom.js";

/** One choice. `number` is shown big on a phone; `title` and `note` are words; `key` is the digit that chooses it. */
export function option({ value, key = "", number = "", title = "", note = "", kind = "", locked, choose }) {
  const input = el("input.sr", {
    type: "radio", name: "answer", value: JSON.stringify(value), disabled: locked, onchange: () => choose(value),
  });
  const words = [title && el("span.name", named(title)), note && el("span.note", named(note))];
  const node = el(
    "label.option", input, number ? el("kbd", number) : key && cap(key), el("span.words", words),
    el("span.tick", { "aria-hidden": "true" }, "✓"),
  );
  if (kind) node.classList.add(...kind.split(" "));
  return node;
}

/** Mark the chosen one; the focus follows where it is among them. */
export function pick(group, value) {
  const inputs = $$("input[type=radio]", group);
  const inside = group.contains(document.activeElement);
  for (const input of inputs) {
    input.checked = value !== null && input.value === JSON.stringify(value);
    if (input.checked && inside) input.focus();
  }
}
