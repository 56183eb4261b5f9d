// What the filters hide, and the way back: no system and no column is lost without a word.
import { $, el } from "./dom.js";
import { columnsOf, scoreOf } from "./choice.js";
import { count } from "./numbers.js";
import { nearest } from "./near.js";

export const NO_FILTER = { find: null, kind: null, may: null, from: null };
const ALL = { ...NO_FILTER, task: null, lang: null, score: null };

/** Say under the fields what is shown; returns the sentence. */
export function drawShown(board, choice, found, act) {
  const place = $("#shown"), parts = [...rowsSaid(board, choice, found, act), ...columnsSaid(board, choice, act)];
  place.hidden = !parts.length;
  place.replaceChildren(...parts);
  return place.textContent;
}

/** "5 of 14 systems shown. Clear filters." */
export function rowsSaid(board, choice, { shown, total }, act) {
  const text = (choice.find || "").trim();
  if (shown === total) return [];
  const clear = el("button.link", { onclick: () => act(NO_FILTER), "data-key": "clear" }, "Clear filters");
  if (shown) return [el("b", `${count(shown)} of ${count(total)} systems shown.`), " ", clear, " "];
  const near = text && nearest(text, board.systems.map((system) => system.label));
  return [
    text ? `No system matches ‘${text}’${choice.kind || choice.may || choice.from ? " and the other filters" : ""}. ` : "No system is left by these filters. ",
    near && ["Did you mean ", el("button.link", { onclick: () => act({ find: near }) }, near), "? "], clear, " ",
  ].flat().filter(Boolean);
}

function columnsSaid(board, choice, act) {
  const { keys, total } = columnsOf(board, choice), score = scoreOf(board, choice), parts = [];
  if (keys.length < total) {
    parts.push(`${count(keys.length)} of ${count(total)} columns shown. `, el("button.link", { onclick: () => act({ cols: "all" }) }, "Show all columns"), " ");
  }
  if (choice.task || choice.lang || choice.score || choice.col) {
    parts.push(el("button.link", { onclick: () => act({ ...ALL, ...pick(choice), col: null, cols: null }) }, "Back to all tasks"), " ");
  }
  if (!total && (choice.task || choice.lang)) parts.unshift("No other column has this task and language. ");
  if (score.reason && !board.hasRanks(score.key)) parts.push(`No ranks on ${score.title}: ${score.reason}.`);
  return parts;
}

const pick = ({ find, kind, may, from }) => ({ find, kind, may, from });
