// The board as the page holds it: the server's record, columns fetched when they are wanted, changes put in by name.

const MISSING = [null, null, null, 0, "none", ""];
const MOST_COLUMNS = 40;
const PARTS = ["cells", "ranks", "best", "top", "alike"];

export class Board {
  constructor(record, ask) {
    this.ask = ask;
    this.take(record);
  }

  take(record) {
    Object.assign(this, record);
    this.byKey = new Map(record.columns.map((column) => [column.key, column]));
    this.byName = new Map(record.systems.map((system) => [system.name, system]));
  }

  cell(key, index) {
    return this.cells[key]?.[index] || MISSING;
  }

  value(key, index) {
    return this.cells[key]?.[index]?.[0] ?? null;
  }

  ranksOf(key) {
    return this.ranks[key] || [];
  }

  hasRanks(key) {
    return this.ranksOf(key).some(Boolean);
  }

  /** How many are ranked with a system on a column: its own group. */
  rankedWith(key, system) {
    return this.systems.filter((one) => one.group === system.group && this.ranksOf(key)[one.index]).length;
  }

  isFirst(key, index) {
    return (this.top[key] || []).includes(index);
  }

  /** Fetch what is not here of these columns; `alike` too where asked for. */
  async need(keys, { alike = false } = {}) {
    const missing = keys.filter((key) => this.byKey.has(key) && (!this.cells[key] || (alike && !this.alike[key])));
    for (let i = 0; i < missing.length; i += MOST_COLUMNS) {
      const query = new URLSearchParams(missing.slice(i, i + MOST_COLUMNS).map((key) => ["column", key]));
      const part = await this.ask(`/cells?${query}`);
      if (part.stamp !== this.stamp) this.take(await this.ask(""));
      else for (const name of PARTS) Object.assign(this[name], part[name]);
    }
    return missing.length > 0;
  }

  /** Put in what is new; false where the whole board has to be fetched. */
  merge(changes) {
    if (changes.whole) return false;
    const { since, whole, order, systems, cells, ranks, best, top, columns, ...rest } = changes;
    const told = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
    if (changes.stamp === this.stamp) {
      Object.assign(this, told);
      return true;
    }
    const newColumns = mergedColumns(this.columns, columns || []);
    const names = order || this.systems.map((system) => system.name);
    const fresh = new Map(systems.map((system) => [system.name, system]));
    if (names.some((name) => !fresh.has(name) && !this.byName.has(name))) return false;
    const old = names.map((name) => this.byName.get(name)?.index);
    const place = new Map(names.map((name, i) => [name, i]));
    const list = (mine, theirs, empty) => names.map((name, i) => theirs?.[name] !== undefined ? theirs[name] : mine?.[old[i]] ?? empty);
    const overview = newColumns.filter((column) => column.overview).map((column) => column.key);
    const each = (make) => Object.fromEntries(overview.map((key) => [key, make(key)]));
    const nameOf = (index) => this.systems[index]?.name;
    const firsts = (key) => (top[key] || (this.top[key] || []).map(nameOf)).map((name) => place.get(name)).filter((i) => i !== undefined);
    this.take({
      ...this, ...told, columns: newColumns, alike: {},
      systems: names.map((name, index) => ({ ...(fresh.get(name) || this.byName.get(name)), index })),
      cells: each((key) => list(this.cells[key], cells[key], MISSING)),
      ranks: each((key) => list(this.ranks[key], ranks[key], null)),
      best: each((key) => list(this.best[key], best[key], null)),
      top: each(firsts),
    });
    return true;
  }
}

function mergedColumns(mine, theirs) {
  const fresh = new Map(theirs.map((column) => [column.key, column]));
  const kept = mine.map((column) => fresh.get(column.key) || column);
  const known = new Set(mine.map((column) => column.key));
  return [...kept, ...theirs.filter((column) => !known.has(column.key))];
}
