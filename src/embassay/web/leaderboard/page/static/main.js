// The page of a board comes alive: the server's table is taken over once its record is here.
import { $, say } from "./dom.js";
import { VIEWS, address, read, remember } from "./address.js";
import { Board } from "./board.js";
import { columnsOf, scoreOf } from "./choice.js";
import { drawCompare } from "./compare.js";
import { announce, drawHeading, fetched, keepLive } from "./live.js";
import { drawPareto } from "./pareto.js";
import { asText, copy } from "./share.js";
import { drawShown } from "./shown.js";
import { drawTable } from "./table.js";
import { drawTools } from "./tools.js";

const { base, board: id } = document.body.dataset;
const ask = (path, options) => fetched(`${base}api/boards/${encodeURIComponent(id)}${path}`, options);
let board = null, view = "";

/** Change what is chosen, draw it, and say it where `words` are given. */
function act(changes, words) {
  remember(changes);
  draw();
  if (words) say(words);
}

function draw() {
  const { choice } = read();
  showView();
  if (!board) return;
  if (view === "pareto") drawPareto(board, choice, act);
  else if (view === "compare") drawCompare(board, choice, act);
  else if (view === "ranking") drawRanking(choice);
  want(choice);
}

function drawRanking(choice) {
  drawTools(board, choice, act, (what) => (what === "link" ? copy(location.href, "Link") : copy(asText(board, choiceNow()), "Table")));
  const found = drawTable(board, choice, act);
  const told = drawShown(board, choice, found, act);
  // While somebody types, only the last state is said.
  if (choice.find) say(told || `${found.shown} systems shown`, 500);
}
const choiceNow = () => read().choice;

/** Columns that are shown and not here yet are fetched, then drawn. */
async function want(choice) {
  const score = scoreOf(board, choice).key, keys = view === "ranking" ? columnsOf(board, choice).keys : [];
  try {
    if (await board.need([score, ...keys])) draw();
    if ((choice.from || view === "pareto") && await board.need([score], { alike: true })) draw();
  } catch (error) {
    say(`Columns could not be fetched: ${error.message}`);
  }
}

function showView() {
  const { view: wanted, choice } = read();
  for (const name of VIEWS) {
    $(`#${name}`).hidden = name !== wanted;
    const link = $(`.top nav a[href^="#${name}"]`);
    link.setAttribute("href", address(name, choice));
    if (name === wanted) {
      link.setAttribute("aria-current", "page");
      link.parentNode.scrollLeft = link.offsetLeft - link.parentNode.offsetLeft - 24;
    } else link.removeAttribute("aria-current");
  }
  if (view && view !== wanted) scrollTo(0, 0);
  view = wanted;
}

function changed() {
  const before = $("#verdict").textContent;
  drawHeading(board);
  document.title = `${board.verdict.title} · ${board.title}`;
  draw();
  announce(before === board.verdict.title ? "Scores updated" : `Scores updated. ${board.verdict.title}`);
}

async function start() {
  if (!id) return;
  addEventListener("hashchange", draw);
  showView();
  for (const wait of [0, 1, 3, 10, 30]) {
    await new Promise((done) => { setTimeout(done, wait * 1000); });
    try {
      board = new Board(await ask(""), ask);
      break;
    } catch (error) {
      $("#live").textContent = `◌ ${error.message}`;
    }
  }
  if (!board) return;
  if (board.stamp !== document.body.dataset.stamp) drawHeading(board);
  draw();
  document.body.dataset.alive = "";
  keepLive(board, changed);
}
start();
