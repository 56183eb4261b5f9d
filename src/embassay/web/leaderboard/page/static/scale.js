// The scale of a column: limits and steps from its data, as round numbers. The same as the report's.

const PADDING = 0.08;
/** The least share of a scale that its values fill before more steps are tried, and how many more. */
const FULL = 0.75, FINER = 2;

export class Scale {
  constructor(low, high, step, factor = 1) {
    Object.assign(this, { low, high, step, factor });
  }

  get steps() {
    return Math.round((this.high - this.low) / this.step);
  }

  get ticks() {
    return Array.from({ length: this.steps + 1 }, (_, i) => this.low + i * this.step);
  }

  /** Where a value lies, in percent of the width; outside values stop at the edge. */
  at(value) {
    return Math.min(100, Math.max(0, (100 * (value - this.low)) / (this.high - this.low)));
  }

  label(value) {
    const decimals = Math.max(0, -Math.floor(Math.log10(this.step * this.factor) + 1e-9));
    const text = (value * this.factor).toFixed(decimals);
    return (Number(text) ? Number(text).toFixed(decimals) : "0").replace("-", "−").replace(/\.0+$/, "");
  }

  get ends() {
    return [this.label(this.low), this.label(this.high)];
  }
}

/** The scale of pooled values: 8% padding that does not cross `within` where the data do not, at most `most` steps. */
export function scaleOf(pool, { most = 4, within = [0, 1], factor = 1 } = {}) {
  if (!pool.length) return new Scale(0, 1, 0.5, factor);
  let low = Infinity, high = -Infinity;
  for (const value of pool) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const pad = PADDING * (high - low) || 0.02;
  let start = low - pad, end = high + pad;
  if (within) {
    if (low >= within[0]) start = Math.max(start, within[0]);
    if (high <= within[1]) end = Math.min(end, within[1]);
  }
  const made = between(start, end, most, factor);
  if (end - start >= FULL * (made.high - made.low)) return made;
  const finer = between(start, end, most + FINER, factor);
  return finer.high - finer.low < made.high - made.low ? finer : made;
}

/** From the round number at or below `start` to the one at or above `end`, in at most about `most` steps. */
function between(start, end, most, factor) {
  const step = roundStep((end - start) / most);
  const first = Math.floor(start / step + 1e-9) * step, last = Math.ceil(end / step - 1e-9) * step;
  return new Scale(first, last > first ? last : first + step, step, factor);
}

/** The smallest of 1, 2, 5 times a power of ten that is not under `least`. */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * (1 - 1e-9));
}
