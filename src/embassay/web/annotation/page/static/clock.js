// Seconds for which an item was really before somebody's eyes.

const PAUSE = 5 * 60 * 1000;

export class Clock {
  constructor(now = () => performance.now()) {
    Object.assign(this, { now, item: null, spent: {}, paused: {}, since: null, touched: now(), left: null });
    document.addEventListener("visibilitychange", () => (document.hidden ? this.leave() : this.back()));
    for (const kind of ["keydown", "pointerdown", "wheel", "touchmove"]) {
      addEventListener(kind, () => this.touch(), { capture: true, passive: true });
    }
  }

  /** This item is shown from now on; null: none. */
  watch(item) {
    this.stop();
    this.item = item;
    this.touched = this.now();
    if (!document.hidden) this.since = this.touched;
  }

  seconds(item) {
    const running = item === this.item && this.since !== null ? this.now() - this.since : 0;
    return Math.round((this.spent[item] || 0) + running) / 1000;
  }

  /** How many pauses of more than five minutes fell on this item. */
  pauses(item) { return this.paused[item] || 0; }

  touch() {
    this.noteIf(this.now() - this.touched > PAUSE && this.since !== null);
    this.touched = this.now();
  }

  leave() {
    this.stop();
    this.left = this.now();
  }

  back() {
    this.noteIf(this.left !== null && this.now() - this.left > PAUSE);
    this.left = null;
    this.touched = this.now();
    if (this.item !== null) this.since = this.touched;
  }

  noteIf(long) {
    if (long && this.item !== null) this.paused[this.item] = this.pauses(this.item) + 1;
  }

  stop() {
    if (this.item !== null && this.since !== null) {
      this.spent[this.item] = (this.spent[this.item] || 0) + this.now() - this.since;
    }
    this.since = null;
  }
}
