// What is shown as text that can be put elsewhere: rows with tabs between, intervals beside values.
import { say } from "./dom.js";
import { columnsOf, rowsOf, scoreOf } from "./choice.js";
import { rank } from "./numbers.js";
import { STATES, factText, intervalText, printed, titleOf } from "./table.js";

/** The table as it is shown, in the same order. */
export function asText(board, choice) {
  const score = scoreOf(board, choice), keys = [score.key, ...columnsOf(board, choice).keys], hasRanks = board.hasRanks(score.key);
  const lines = [[...(hasRanks ? ["Rank"] : []), "System", ...keys.map((key) => titleOf(board, key))]];
  for (const { rows } of rowsOf(board, choice).groups) {
    for (const system of rows) {
      const place = hasRanks ? [rank(board.ranksOf(score.key)[system.index])] : [];
      lines.push([...place, system.name, ...keys.map((key) => cellText(board, key, system, score))]);
    }
  }
  return lines.map((line) => line.map((text) => text.replace(/[\t\n\r]+/g, " ")).join("\t")).join("\n") + "\n";
}

function cellText(board, key, system, score) {
  const column = board.byKey.get(key);
  if (!column) return factText(board, key, system, score);
  const [value, low, high, , state, reason] = board.cell(key, system.index);
  if (value === null) return reason ? `${STATES[state]}: ${reason}` : STATES[state];
  return low === null ? printed(value, column) : `${printed(value, column)} (${intervalText(low, high, column)})`;
}

/** Put a text into the clipboard, by the old way where the new one is not allowed (a page without https). */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
    return true;
  } catch {
    const box = document.createElement("textarea"), focus = document.activeElement;
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    focus?.focus();
    say(done ? `${what} copied` : "Copying is not allowed here");
    return done;
  }
}
