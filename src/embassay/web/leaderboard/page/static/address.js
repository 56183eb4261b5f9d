// What is shown stands in the address: #view?key=value, so that every view has a link.

export const VIEWS = ["ranking", "pareto", "compare", "data", "boards"];
const LISTS = new Set(["kind", "col", "most", "licence"]);

/** The address as a view and what was chosen; lists are arrays. */
export function read(hash = location.hash) {
  const at = hash.indexOf("?"), view = (at < 0 ? hash : hash.slice(0, at)).slice(1);
  const params = new URLSearchParams(at < 0 ? "" : hash.slice(at + 1)), choice = {};
  for (const key of params.keys()) choice[key] = LISTS.has(key) ? params.getAll(key) : params.get(key);
  return { view: VIEWS.includes(view) ? view : "ranking", choice };
}

export function address(view, choice) {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(choice)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== "" && one !== null && one !== undefined) params.append(key, one);
  }
  return `#${view}${params.size ? `?${params}` : ""}`;
}

/** Remember a change of what is chosen. No new entry in the history: back leads to the view before. */
export function remember(changes) {
  const { view, choice } = read();
  history.replaceState(null, "", address(view, { ...choice, ...changes }));
}
