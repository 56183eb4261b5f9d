// Rows into a long table: those in sight at once, the others when these are painted. A press is answered before the page
// has laid out what nobody sees.
import { $, $$, el } from "./dom.js";

const ROW_HIGH = 30, SPARE = 4;
let drop = () => {};

/** Fill `table` with `above` and with `bodies`, each [title row or null, what its rows are of]; `rowOf` makes one row. */
export function fillTable(table, above, bodies, rowOf) {
  drop();
  let left = inSight(table);
  const open = [], keep = heldBy(table);
  const nodes = bodies.map(([title, list]) => {
    const [now, later] = [list.slice(0, left), list.slice(left)];
    left -= now.length;
    const body = el("tbody", title, now.map(rowOf));
    if (later.length) open.push(() => body.append(...later.map(rowOf)));
    return body;
  });
  table.replaceChildren(...above, ...nodes);
  if (open.length) finishLater(table, () => open.forEach((fill) => fill()), keep);
}

/** How many rows reach to the lower edge of the window; all of them while one of them has the focus. */
function inSight(table) {
  const rows = table.tBodies.length ? $$("tbody tr", table).length : 0;
  if (!rows || $("tbody :focus", table)) return Infinity;
  const { top, height } = table.getBoundingClientRect();
  return Math.max(0, Math.ceil((innerHeight - top) / Math.max(ROW_HIGH, height / (rows + 2)))) + SPARE;
}

/** What keeps columns as wide and the page as long as they are now. */
function heldBy(table) {
  const widths = $$("thead tr > *", table).map((cell) => cell.getBoundingClientRect().width), { height } = table.getBoundingClientRect();
  return (is) => {
    table.parentNode.style.minHeight = is ? `${height}px` : "";
    const cells = $$("thead tr > *", table);
    if (cells.length === widths.length) cells.forEach((cell, i) => { cell.style.width = is ? `${widths[i]}px` : ""; });
  };
}

function finishLater(table, fill, keep) {
  const finish = () => { drop(); fill(); };
  let timer = 0;
  const frame = requestAnimationFrame(() => { timer = setTimeout(finish); });
  keep(true);
  table.setAttribute("aria-busy", "true");
  addEventListener("beforeprint", finish);
  drop = () => {
    drop = () => {};
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    removeEventListener("beforeprint", finish);
    table.removeAttribute("aria-busy");
    keep(false);
  };
}
