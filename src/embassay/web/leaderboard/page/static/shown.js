// What the filters hide, and the way back: no system and no column is lost without a word.
import { $, el } from "./dom.js";
import { agreedOf, columnsOf, overSaid, scoreOf } from "./choice.js";
import { count } from "./numbers.js";
import { nearest } from "./near.js";

export const NO_FILTER = { find: null, kind: null, may: null, from: null, most: null, licence: null, unstated: null };
const ALL = { ...NO_FILTER, task: null, lang: null, score: null, agree: null };

/** Say under the fields what is shown; returns the sentence. */
export function drawShown(board, choice, found, act) {
  const place = $("#shown"), parts = [...rowsSaid(board, choice, found, act), ...columnsSaid(board, choice, act)];
  place.hidden = !parts.length;
  place.replaceChildren(...parts);
  return place.textContent;
}

/** "5 of 14 systems shown. Clear filters." */
export function rowsSaid(board, choice, { shown, total, unstated, without }, act) {
  const text = (choice.find || "").trim();
  if (shown === total) return [];
  const clear = el("button.link", { onclick: () => act(NO_FILTER), "data-key": "clear" }, "Clear filters");
  const silent = unstated > 0 && [
    `${count(unstated)} without ${without.join(" or ")} ${unstated === 1 ? "is" : "are"} hidden. `,
    el("button.link", { onclick: () => act({ unstated: "1" }), "data-key": "unstated" }, unstated === 1 ? "Show it" : "Show them"), " ",
  ];
  if (shown) return [el("b", `${count(shown)} of ${count(total)} systems shown.`), " ", ...(silent || []), clear, " "];
  const near = text && nearest(text, board.systems.map((system) => system.label));
  return [
    text ? `No system matches ‘${text}’${choice.kind || choice.may || choice.from || choice.most || choice.licence ? " and the other filters" : ""}. ` : "No system matches these filters. ",
    ...(silent || []),
    near && ["Did you mean ", el("button.link", { onclick: () => act({ find: near }) }, near), "? "], clear, " ",
  ].flat().filter(Boolean);
}

function columnsSaid(board, choice, act) {
  const { keys, total } = columnsOf(board, choice), score = scoreOf(board, choice), parts = [];
  if (keys.length < total) {
    parts.push(`${count(keys.length)} of ${count(total)} columns shown. `, el("button.link", { onclick: () => act({ cols: "all" }) }, "Show all columns"), " ");
  }
  if (choice.agree === "high") parts.push(agreementSaid(board, choice, score), el("button.link", { onclick: () => act({ agree: null }), "data-key": "agree off" }, "Show all datasets"), " ");
  if (choice.task || choice.lang || choice.score || choice.col) {
    parts.push(el("button.link", { onclick: () => act({ ...ALL, ...pick(choice), col: null, cols: null }) }, "Back to all tasks"), " ");
  }
  if (!total && (choice.task || choice.lang)) parts.unshift("No other column has this task and language. ");
  if (score.reason && !board.hasRanks(score.key)) parts.push(`No ranks for ${score.title} (${score.reason}).`);
  return parts;
}

/** "Score and ranks over 3 of 4 datasets: people agree less on the others. The heading is about all datasets." */
function agreementSaid(board, choice, score) {
  if (!agreedOf(board, choice)) return "No dataset on this board has high agreement, so none is hidden. ";
  if (!score.parts.length) return `Agreement on ${score.dataset} is high. `;
  return `Score and ranks cover ${overSaid(board, score)}; agreement on the others is lower or unknown. The heading covers all datasets. `;
}

const pick = (choice) => Object.fromEntries(Object.keys(NO_FILTER).map((key) => [key, choice[key]]));
