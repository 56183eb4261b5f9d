// A text and a closed set of labels.
import { dataText, el, say } from "./dom.js";
import { option, pick } from "./options.js";

const KEYED = 10;

export function labels(task, payload, { choose, locked }) {
  const all = task.labels;
  const values = all.map(({ value }) => value);
  const options = all.map(({ value, name, description }, i) => option({
    value, key: i < KEYED ? String((i + 1) % 10) : "", title: name, note: description, locked, choose,
  }));
  const group = el("div.options.labels", { role: "radiogroup", "aria-labelledby": "question" }, options);
  group.dataset.n = all.length;
  const many = all.length > KEYED;
  if (many) group.classList.add("many");
  const filter = many && !locked ? finder(all, options, (value) => choose(value)) : null;
  const step = (by) => (_, __, value) => {
    const at = values.indexOf(value);
    const to = at < 0 ? (by > 0 ? 0 : values.length - 1) : at + by;
    return to < 0 || to >= values.length ? undefined : choose(values[to], { moved: true });
  };
  const row = (by) => (press, event, value) => step(by * columns(options))(press, event, value);
  return {
    stage: [el("section.text", dataText(payload.text, task.lang, "div.data.box"))],
    dock: [filter?.node, group, el("p.chosen", { "aria-hidden": "true" })].filter(Boolean),
    show: (value) => {
      pick(group, value);
      const note = all.find((one) => one.value === value)?.description || "";
      group.nextSibling?.replaceChildren(el("b", note));
      if (many && value !== null) options[values.indexOf(value)]?.scrollIntoView({ block: "nearest" });
    },
    acts: {
      digit: (press) => {
        const at = (Number(press) + 9) % 10;
        return at < values.length ? choose(values[at]) : false;
      },
      less: step(-1), more: step(1), up: row(-1), down: row(1),
      type: () => (filter ? filter.focus() : false),
    },
    missing: (value) => (value === null ? "Choose a label first." : ""),
    says: (value) => all.find((one) => one.value === value)?.name ?? "",
    hint: values.length > 1 ? ["1", String(Math.min(values.length, KEYED) % 10)] : [],
  };
}

/** How many options stand in the first row. */
function columns(options) {
  const top = options[0].offsetTop;
  const next = options.findIndex((one) => one.offsetTop > top);
  return next < 0 ? options.length : next;
}

/** A field that hides the labels that do not match; Enter takes the first that is left. */
function finder(all, options, choose) {
  const input = el("input", { type: "text", id: "find", autocomplete: "off", spellcheck: "false", placeholder: "Type to find a label" });
  const fits = (name) => name.toLocaleLowerCase().includes(input.value.trim().toLocaleLowerCase());
  const narrow = () => {
    all.forEach(({ name }, i) => { options[i].hidden = !fits(name); });
    const left = all.filter(({ name }) => fits(name)).length;
    shown.textContent = input.value ? `${left} of ${all.length} shown` : "";
  };
  const shown = el("span.note", { role: "status" });
  const clear = () => {
    input.value = "";
    narrow();
    input.blur();
  };
  input.addEventListener("input", narrow);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || event.repeat) return;
    if (event.key === "Escape") clear();
    else if (event.key === "Enter" && !event.shiftKey && input.value.trim()) {
      const first = all.find(({ name }) => fits(name));
      if (first) choose(first.value);
      else say("No label matches.");
      if (first) clear();
    } else return;
    event.preventDefault();
  });
  return { node: el("div.finder", el("label.sr", { for: "find" }, "Find a label"), input, shown), focus: () => input.focus() };
}
