// What somebody may have meant who typed a name that is not there.

/** Letters to change, add or leave out to get from one word to the other. */
export function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length];
}

/** The name nearest to `text`: whole names and their parts count, a beginning too. */
export function nearest(text, names) {
  const wanted = text.toLowerCase();
  const off = (name) => Math.min(...[name, ...name.split(/[-_/:. ]/), name.slice(0, wanted.length)].map((part) => distance(wanted, part.toLowerCase())));
  let best = null, least = Infinity;
  for (const name of names) {
    const found = off(name);
    if (found < least) [best, least] = [name, found];
  }
  return least <= Math.max(2, wanted.length / 2) ? best : null;
}
