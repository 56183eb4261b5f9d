// What a choice shows: which columns, which rows in which order. Pure functions of the board and the choice.
import { FACTS } from "./numbers.js";

export const MOST_COLUMNS = 12, MOST_ROWS = 300;
export const FACT = "fact:", FIRST = "first";
const GROUPS = ["", "Classical metrics, ranked separately", "", "References, not ranked"];

/** The means over what people agree well on, where that alone is asked for and there is any. */
export const agreedOf = (board, choice) => (choice.agree === "high" && board.byKey.get("high_agreement")) || null;

/** How many of the datasets a mean is over: "3 of 4 datasets". */
export function overSaid(board, { task, parts }) {
  const own = board.columns.filter((column) => column.dataset && (task === "overall" || column.task === task));
  return `${parts.length} of ${new Set(own.map((column) => column.dataset)).size} datasets`;
}

/** Whether a column is one of those that are asked for: all but these means, or these and what they are over. */
export function isAsked(board, choice, column) {
  const agreed = agreedOf(board, choice);
  if (!agreed || column.parts.length) return Boolean(agreed) === column.parts.length > 0;
  return agreed.parts.some(([task, dataset, measure]) => column.task === task && column.dataset === dataset && column.measure === measure);
}

/** The column whose score leads: the one chosen, else that of the task, else the board's. */
export function scoreOf(board, choice) {
  const own = board.byKey.get(choice.score);
  if (own && isAsked(board, choice, own)) return own;
  const ofTask = choice.task && board.columns.filter((column) => column.task === choice.task && isAsked(board, choice, column));
  const first = ofTask && (ofTask.find((column) => column.overview || column.parts.length) || ofTask[0]);
  return first || agreedOf(board, choice) || board.byKey.get(board.lead) || board.columns[0];
}

/** All columns that the filters leave beside the score. */
export function poolOf(board, choice) {
  const score = scoreOf(board, choice), agreed = agreedOf(board, choice), { task, lang } = choice;
  return board.columns.filter((column) => column !== score
    && (!task || column.task === task) && (!lang || column.lang === lang)
    && isAsked(board, choice, column) && (task || lang || column.overview || (agreed && !column.parts.length)));
}

/** The columns shown, facts among them as "fact:dims", and how many the filters leave. */
export function columnsOf(board, choice) {
  const pool = poolOf(board, choice);
  if (choice.col) {
    const known = (key) => board.byKey.has(key) || key === FIRST || FACTS.has(key.slice(FACT.length));
    const keys = choice.col.filter((key) => known(key) && key !== scoreOf(board, choice).key);
    return { keys, total: keys.length };
  }
  const keys = pool.map((column) => column.key);
  return { keys: choice.cols === "all" ? keys : keys.slice(0, MOST_COLUMNS), total: keys.length };
}

/** A value to sort and to draw by: of a column, a fact, or the share of resamples in which a system is first. */
export function valueOf(board, key, system, score) {
  if (key.startsWith(FACT)) return system.facts[key.slice(FACT.length)] ?? null;
  if (key === FIRST) return board.best[score]?.[system.index] ?? null;
  return board.value(key, system.index);
}

/** Whether more is better. */
export function isMoreBetter(board, key) {
  if (key.startsWith(FACT)) return FACTS.get(key.slice(FACT.length))[2];
  return key === FIRST || board.byKey.get(key)?.higher_is_better !== false;
}

/** The limits of a choice: [fact, bound] of each "fact:bound" that is one. */
export function limitsOf(choice) {
  return (choice.most || []).map((said) => said.split(":")).filter(([fact, bound]) => FACTS.has(fact) && bound !== "" && isFinite(bound)).map(([fact, bound]) => [fact, Number(bound)]);
}

/** Whether a system keeps the limits: true, false, or null where it does not state what one is about. */
function keepsLimits(system, limits, licences) {
  const said = limits.map(([fact, bound]) => {
    const value = system.facts[fact] ?? null;
    return value === null ? null : FACTS.get(fact)[2] ? value >= bound : value <= bound;
  });
  if (licences?.length) said.push(system.facts.licence ? licences.includes(system.facts.licence) : null);
  return said.includes(false) ? false : said.includes(null) ? null : true;
}

/** What these systems do not state of all that is limited. */
function withoutOf(systems, choice) {
  const nouns = limitsOf(choice).filter(([fact]) => systems.some((system) => system.facts[fact] === null)).map(([fact]) => FACTS.get(fact)[5]);
  if (choice.licence?.length && systems.some((system) => !system.facts.licence)) nouns.push("a licence");
  return [...new Set(nouns)];
}

function isShown(board, choice, score) {
  const text = (choice.find || "").trim().toLowerCase();
  const other = choice.from && board.byName.get(choice.from);
  const alike = other && board.alike[score.key]?.[other.index];
  const limits = limitsOf(choice);
  return (system, unstated = choice.unstated === "1") => {
    const kept = system.kind === "reference" || keepsLimits(system, limits, choice.licence);
    if (kept === false || (kept === null && !unstated)) return false;
    if (text && !`${system.label}\n${system.name}`.toLowerCase().includes(text)) return false;
    if (choice.kind?.includes(system.kind)) return false;
    if (choice.may === "first" && board.ranksOf(score.key)[system.index]?.[0] !== 1) return false;
    return !other || system === other || Boolean(alike?.includes(system.index));
  };
}

function groupOf(board, score, system, hasRanks) {
  if (system.kind === "reference") return 3;
  if (board.value(score.key, system.index) === null || (hasRanks && !board.ranksOf(score.key)[system.index])) return 2;
  return hasRanks && system.group === "classical" ? 1 : 0;
}

/** The order by rank: the board's own on its lead, by value elsewhere. */
function byRank(board, score) {
  if (score.key === board.lead) return (x, y) => x.index - y.index;
  return byValue(board, score.key, score, isMoreBetter(board, score.key) ? -1 : 1);
}

/** By a value, upwards (1) or downwards (-1); what is missing is last both ways. */
function byValue(board, key, score, way) {
  return (x, y) => {
    const [p, q] = [valueOf(board, key, x, score.key), valueOf(board, key, y, score.key)];
    if (p === null || q === null) return (p === null) - (q === null) || x.index - y.index;
    return way * (p - q) || x.index - y.index;
  };
}

function order(board, choice, score) {
  const { sort } = choice, way = choice.way === "up" ? 1 : -1;
  if (sort === "rank" && way < 0) return (x, y) => -byRank(board, score)(x, y);
  if (sort === "name") return (x, y) => way * x.label.localeCompare(y.label, "en");
  const known = sort && (board.byKey.has(sort) || sort === FIRST || FACTS.has(sort.slice(FACT.length)));
  return known ? byValue(board, sort, score, way) : byRank(board, score);
}

/** Rows in groups under their titles, and how many of all are shown. */
export function rowsOf(board, choice) {
  const score = scoreOf(board, choice), hasRanks = board.hasRanks(score.key);
  const rows = [[], [], [], []], fits = isShown(board, choice, score);
  const silent = board.systems.filter((system) => !fits(system) && fits(system, true));
  for (const system of board.systems.filter((one) => fits(one))) rows[groupOf(board, score, system, hasRanks)].push(system);
  const compare = order(board, choice, score);
  const isEmpty = rows[2].every((system) => board.value(score.key, system.index) === null);
  const missing = !isEmpty ? "Not ranked" : score.key === board.lead && score.task === "overall" ? "Not ranked: a task is missing" : "No value";
  const groups = rows.map((list, i) => ({ title: i === 2 ? missing : GROUPS[i], rows: list.sort(compare) }));
  return { groups: groups.filter((group) => group.rows.length), shown: rows.flat().length, total: board.systems.length, unstated: silent.length, without: withoutOf(silent, choice) };
}

/** What the rows are sorted by: what was chosen, else rank, else the score where there are no ranks. */
export function sortNow(board, choice) {
  if (choice.sort) return { sort: choice.sort, way: choice.way === "up" ? "up" : "down" };
  const score = scoreOf(board, choice);
  return board.hasRanks(score.key) ? { sort: "rank", way: "up" } : { sort: score.key, way: bestFirst(board, score.key) };
}

const bestFirst = (board, key) => (key === "rank" || key === "name" || !isMoreBetter(board, key) ? "up" : "down");

/** What the next click on a header does: best first, worst first, back to rank. */
export function nextSort(board, choice, key) {
  const now = sortNow(board, choice), first = bestFirst(board, key);
  if (now.sort !== key) return { sort: key, way: first };
  return now.way === first ? { sort: key, way: first === "up" ? "down" : "up" } : { sort: null, way: null };
}
