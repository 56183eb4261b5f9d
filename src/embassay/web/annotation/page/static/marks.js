// A query and its documents, each relevant, not relevant or still open.
import { $, action, cap, count, dataText, el, languageTag, say } from "./dom.js";

const STATES = { 1: ["✓", "relevant", "yes"], 0: ["✕", "not", "no"], null: ["·", "open", "open"] };

/** The marks of an answer, null where a document is open. */
export function marksOf(value, n) {
  const list = value?.draft || value;
  return Array.isArray(list) && list.length === n ? [...list] : Array(n).fill(null);
}

/** The answer that marks make: a list, a draft while some are open, null when all are. */
export function answerOf(marks) {
  if (marks.every((mark) => mark === null)) return null;
  return marks.includes(null) ? { draft: marks } : marks;
}

/** The open document after `at`, from the start again at the end; -1: none. */
export function nextOpen(marks, at) {
  const order = marks.map((_, i) => (at + 1 + i) % marks.length);
  return order.find((i) => marks[i] === null) ?? -1;
}

export function marking(task, payload, { choose, locked, refresh }) {
  const { documents } = payload;
  let marks = marksOf(null, documents.length), at = 0;
  const rows = documents.map((one, i) => row(task, one.text, i, () => go(i)));
  const page = el("article.box.document");
  const mark = (value) => {
    marks[at] = value;
    const next = nextOpen(marks, at);
    choose(answerOf(marks), { finished: !marks.includes(null) });
    say(`Document ${at + 1} ${STATES[value][1]}. ${left(marks)}`);
    if (next >= 0) go(next);
    else refresh();
  };
  const buttons = [[1, "Relevant", "1"], [0, "Not relevant", "2"]].map(([value, words, key]) => el(
    "button.option", { onclick: (event) => { if (event.detail > 0) event.currentTarget.blur(); mark(value); }, disabled: locked },
    cap(key), el("span.words", el("span.name", words)), el("span.tick", { "aria-hidden": "true" }, "✓"),
  ));
  const paint = () => {
    rows.forEach((node, i) => paintRow(node, marks[i], i === at));
    buttons.forEach((node, i) => node.setAttribute("aria-pressed", marks[at] === 1 - i));
    refresh();
  };
  const go = (to) => {
    if (to < 0 || to >= documents.length) return;
    at = to;
    page.setAttribute("aria-label", `Document ${at + 1} of ${documents.length}`);
    page.replaceChildren(el("h2", `Document ${at + 1} of ${documents.length}`), dataText(documents[at].text, task.lang));
    paint();
    if (page.isConnected && page.getBoundingClientRect().top < $("#top").offsetHeight) page.scrollIntoView();
  };
  return {
    asked: [dataText(payload.query, task.lang, "div.data.query")],
    stage: [el("div.rerank", el("ol.documents", { "aria-label": "Documents" }, rows), page)],
    dock: [el("div.options.two", { role: "group", "aria-label": "This document" }, buttons)],
    show: (value, first = false) => {
      const before = marks;
      marks = marksOf(value, documents.length);
      // What differs was taken back: there one looks again.
      const changed = marks.findIndex((mark, i) => mark !== before[i]);
      if (first) go(Math.max(nextOpen(marks, -1), 0));
      else go(changed < 0 ? at : changed);
    },
    acts: {
      relevant: () => mark(1), irrelevant: () => mark(0), up: () => go(at - 1), down: () => go(at + 1),
    },
    missing: () => (marks.includes(null) ? left(marks) : ""),
    says: (value) => (Array.isArray(value) ? `${value.filter((one) => one === 1).length} of ${value.length} relevant` : ""),
    status: () => [left(marks), " · ", cap("↑"), cap("↓"), " other document"],
    wide: true,
  };
}

const left = (marks) => {
  const open = marks.filter((mark) => mark === null).length;
  return open ? `${count(open, "document")} still open` : "All decided";
};

function row(task, text, i, onclick) {
  const press = (event) => {
    if (event.detail > 0) event.currentTarget.blur();
    onclick();
  };
  return el("li", el(
    "button.row", { onclick: press }, el("span.n", String(i + 1)),
    el("span.data.start", { lang: languageTag(task.lang), dir: "auto" }, text.slice(0, 90)), el("span.state"),
  ));
}

function paintRow(node, mark, current) {
  const [sign, word, kind] = STATES[mark];
  const state = $(".state", node);
  state.className = `state ${kind}`;
  state.replaceChildren(el("span.sign", { "aria-hidden": "true" }, sign), " ", el("span.word", word));
  const button = $("button", node);
  if (current) button.setAttribute("aria-current", "true");
  else button.removeAttribute("aria-current");
}
