// Answers on their way: each waits in this browser until the server has said that it is kept.

const FIRST_WAIT = 1000, LONGEST_WAIT = 30000;
const FOR_GOOD = new Set([400, 409, 413, 422]);

export class Outbox {
  /** `put(id, body)` sends one. `heard` is told: `state()`, `refused(entry, refusal)`. */
  constructor(put, kept, heard) {
    Object.assign(this, { put, kept, heard, busy: false, failing: false, held: false, wait: FIRST_WAIT, timer: 0 });
    this.entries = kept.read("outbox", []);
    addEventListener("online", () => this.flush());
    document.addEventListener("visibilitychange", () => document.hidden || this.flush());
  }

  get waiting() { return this.entries.length; }

  /** Put entries {id, body} in. One that still waits for the same item is replaced: only the last counts. */
  add(entries) {
    for (const entry of entries) {
      const old = this.entries.findIndex((one, i) => one.id === entry.id && !(this.busy && i === 0));
      if (old >= 0) this.entries.splice(old, 1);
      this.entries.push(entry);
    }
    this.keep();
    this.flush();
  }

  /** Somebody asks for it: the wait begins anew. */
  now() {
    this.wait = FIRST_WAIT;
    this.flush();
  }

  /** Nothing is sent while another tab writes. */
  hold(held) {
    this.held = held;
    if (held) clearTimeout(this.timer);
    else this.flush();
  }

  keep() {
    // What is held belongs to the tab that writes now.
    if (!this.held) this.kept.write("outbox", this.entries);
    this.heard.state();
  }

  async flush() {
    clearTimeout(this.timer);
    if (this.busy || this.held || !this.entries.length) return;
    this.busy = true;
    const entry = this.entries[0];
    let done = false;
    try {
      await this.put(entry.id, entry.body);
      done = true;
    } catch (error) {
      // Whoever hears of a refusal may hold the outbox; what is refused for good does not wait any longer.
      done = FOR_GOOD.has(error.status) && this.heard.refused(entry, error) !== "keep";
      if (!done && error.status && !FOR_GOOD.has(error.status)) this.heard.refused(entry, error);
    }
    this.busy = false;
    this.failing = !done;
    if (done) {
      this.entries.splice(this.entries.indexOf(entry), 1);
      this.wait = FIRST_WAIT;
    }
    this.keep();
    if (!this.entries.length || this.held) return;
    if (done) this.flush();
    else this.later();
  }

  later() {
    this.timer = setTimeout(() => this.flush(), this.wait);
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }
}
