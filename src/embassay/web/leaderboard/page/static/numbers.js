// How numbers are printed: as the server prints them, so that nothing changes when the page comes alive.

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
export const NONE = "–";

/** Fixed decimals with a true minus sign; what lies exactly between two goes to the even one, as on the server. */
export function fixed(value, digits = 3) {
  const size = Math.abs(value), exact = size.toFixed(Math.min(100, digits + 40));
  let text = size.toFixed(digits);
  const rest = exact.slice(exact.indexOf(".") + 1 + digits);
  if (/^50*$/.test(rest)) {
    const below = exact.slice(0, exact.length - rest.length).replace(/\.$/, "");
    text = Number(below.at(-1)) % 2 ? text : below;
  }
  return (value < 0 && Number(text) !== 0 ? "−" : "") + text;
}
export const change = (value, digits = 3) => {
  const text = fixed(value, digits);
  return text.startsWith("−") || Number(text) === 0 ? text : `+${text}`;
};
export const range = (low, high, digits = 3) => {
  const ends = [fixed(low, digits), fixed(high, digits)];
  return ends.join(ends.join("").includes("−") ? " to " : "–");
};
export const count = (n) => n.toLocaleString("en");
export const counted = (n, noun) => `${count(n)} ${n === 1 ? noun : `${noun}s`}`;
export const rank = (ranks) => (!ranks ? NONE : ranks[0] === ranks[1] ? `${ranks[0]}` : `${ranks[0]}–${ranks[1]}`);
export const pValue = (p) => (p === null ? NONE : p < 0.001 ? "<0.001" : fixed(p));

/** A share as percent; what is not all and not nothing never prints as such. */
export function percent(share) {
  const text = fixed(100 * share, 0);
  if (share > 0 && text === "0") return "<1%";
  return share < 1 && text === "100" ? ">99%" : `${text}%`;
}
export function clock(iso) {
  const when = new Date(iso);
  return Number.isNaN(when.getTime()) ? iso : when.toISOString().slice(11, 16);
}
export function moment(iso) {
  const when = new Date(iso);
  if (Number.isNaN(when.getTime())) return iso;
  return `${when.getUTCDate()} ${MONTHS[when.getUTCMonth()]} ${when.getUTCFullYear()}, ${clock(iso)} UTC`;
}
function duration(seconds) {
  if (seconds < 0.9995) return `${fixed(1000 * seconds, 0)} ms`;
  if (seconds < 59.95) return `${fixed(seconds, 1)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${count(Math.floor(minutes / 60))} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
}
function money(dollars) {
  if (dollars === 0) return "$0";
  return dollars >= 0.01 ? `$${dollars.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
    : `$${Number(dollars.toPrecision(2))}`;
}
function parameters(n) {
  if (n >= 1e9) return `${fixed(n / 1e9, 1)} B`;
  return n >= 1e6 ? `${count(Math.round(n / 1e6))} M` : count(n);
}
const megabytes = (n) => `${n >= 10 ? count(Number(fixed(n, 0))) : fixed(n, 1)} MB`;
const speed = (n) => (n >= 10 ? count(Math.round(n)) : fixed(n, 1));

/** Facts that may be columns, axes and limits: name, how they are printed, whether more is better; what a limit is typed
 * in, and how much of the fact one of these is; what a system is without that states none. */
export const FACTS = new Map([
  ["usd_per_million_tokens", ["Price per million tokens", money, false, "$", 1, "a price"]],
  ["usd_per_thousand_queries", ["Price per thousand queries", money, false, "$", 1, "a price"]],
  ["p95_ms", ["Latency, 95th percentile", (ms) => duration(ms / 1000), false, "ms", 1, "a latency"]],
  ["texts_per_second", ["Texts per second", speed, true, "texts", 1, "a speed"]],
  ["seconds", ["Time on this board", duration, false, "s", 1, "a time"]],
  ["dims", ["Dimensions", count, false, "", 1, "dimensions"]],
  ["parameters", ["Parameters", parameters, false, "million", 1e6, "a parameter count"]],
  ["weights_mb", ["Memory for weights", megabytes, false, "MB", 1, "a weight size"]],
  ["vectors_mb", ["Memory for vectors of a million texts", megabytes, false, "MB", 1, "a vector size"]],
  ["index_mb", ["Memory for the index", megabytes, false, "MB", 1, "an index size"]],
  ["max_tokens", ["Input limit, tokens", count, true, "tokens", 1, "an input limit"]],
]);
