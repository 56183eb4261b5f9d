// The board stays up to date: it asks again, says when nobody answers, and leaves the reader's row where it is.
import { $, $$, el, say } from "./dom.js";
import { clock, counted, moment } from "./numbers.js";

const EVERY_LIVE = 10_000, EVERY = 30_000, LIST_EVERY = 60_000, QUIET = 60_000, PATIENCE = 8_000, MISSED = 3;
const STATUSES = { live: "● live", stale: "◌ no updates", done: "✓ complete" };

const known = new Map();
/** One answer as JSON. Of what is asked again and again (`again`) the last answer is kept with its tag: 304 is enough. */
export async function fetched(address, { again = false } = {}) {
  const before = known.get(address), headers = before ? { "If-None-Match": before.tag } : {};
  const answer = await fetch(address, { cache: "no-store", headers, signal: AbortSignal.timeout(PATIENCE) });
  if (answer.status === 304 && before) return before.told;
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw Object.assign(new Error(told.error || `the server answered with status ${answer.status}`), { status: answer.status });
  }
  const told = await answer.json(), tag = answer.headers.get("etag");
  if (again && tag) {
    known.clear();
    known.set(address, { tag, told });
  }
  return told;
}

/** Ask from now on; `changed` draws what is new. */
export function keepLive(board, changed) {
  const base = document.body.dataset.base;
  let missed = 0, timer = 0, heard = new Date().toISOString(), listed = Date.now();
  const later = () => { clearTimeout(timer); timer = setTimeout(ask, board.status === "live" ? EVERY_LIVE : EVERY); };
  const ask = async () => {
    if (document.hidden) return later();
    try {
      if (await update(board)) keepingPlace(changed);
      if (Date.now() - listed >= LIST_EVERY) {
        listed = Date.now();
        noteBoards(board, (await fetched(`${base}api/boards`)).boards, base);
      }
      [missed, heard] = [0, new Date().toISOString()];
      drawStatus(board, null);
    } catch (error) {
      missed += 1;
      if (error.status === 404) drawStatus(board, "This board is not in the folder. Reload the page.");
      else if (missed >= MISSED) drawStatus(board, `Last update ${clock(heard)} UTC, server not responding`);
    }
    return later();
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
  later();
}

/** Fetch what is new; whether there was anything. */
async function update(board) {
  const before = board.stamp, changes = await board.ask(`/changes?since=${encodeURIComponent(before)}`, { again: true });
  const [status, updated] = [board.status, board.updated];
  if (!board.merge(changes)) board.take(await board.ask(""));
  return board.stamp !== before || board.status !== status || board.updated !== updated;
}

/** Draw with the reader's row at the same height: the one with the focus, else the first that can be seen. */
export function keepingPlace(draw) {
  const top = $(".top").offsetHeight, rows = () => $$("#board tbody tr[data-name]");
  const focused = document.activeElement?.closest?.("#board tr[data-name]");
  const held = scrollY > 0 ? focused || rows().find((row) => row.getBoundingClientRect().bottom > top) : null;
  const at = held?.getBoundingClientRect().top;
  draw();
  const same = held && rows().find((row) => row.dataset.name === held.dataset.name);
  if (same) scrollBy({ top: same.getBoundingClientRect().top - at, behavior: "instant" });
}

/** The lines over the table. */
export function drawHeading(board) {
  const asked = board.systems.filter((system) => system.kind !== "reference"), done = asked.filter((system) => system.state === "done").length;
  $("#updated").textContent = `updated ${moment(board.updated)}`;
  $("#complete").textContent = done === asked.length ? counted(done, "system") : `${done} of ${counted(asked.length, "system")} complete`;
  const before = $("#verdict").textContent;
  if (before !== board.verdict.title) $("#verdict").textContent = board.verdict.title;
  $("#lede").textContent = board.verdict.lede;
  $("#care").hidden = !board.care.length;
  $("#care ul").replaceChildren(...board.care.map((note) => el("li", note)));
}

function drawStatus(board, trouble) {
  const node = $("#live"), words = trouble ? `◌ ${trouble}` : STATUSES[board.status];
  if (node.textContent === words) return;
  node.textContent = words;
  node.className = `live ${trouble ? "lost" : board.status}`;
  if (trouble) say(trouble);
}

let said = 0;
/** Say it to those who listen, at most once a minute. */
export function announce(text) {
  if (Date.now() - said < QUIET) return;
  said = Date.now();
  say(text);
}

function noteBoards(board, lines, base) {
  const newer = lines.find((line) => line.id === board.id)?.newer;
  if (!newer || $("#newer")) return;
  $("#ranking").prepend(el("p#newer.banner",
    "Newer data have results, which are not comparable with these: ", el("a", { href: `${base}b/${newer}/` }, "open the newest version"), "."));
}
