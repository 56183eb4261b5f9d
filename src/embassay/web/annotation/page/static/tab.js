// One tab writes. A second one reads, until it is told to take over or the first one is closed.

const RENEW = 10000;

export class Tab {
  /** `changed(writes)` is called when this tab gains or loses the right to write. */
  constructor(transport, kept, changed) {
    Object.assign(this, { transport, kept, changed, writes: true, name: tabName(kept) });
    this.others = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("embassay" + transport.place);
    if (this.others) this.others.onmessage = ({ data }) => data !== this.name && this.set(false);
    // Left behind for the tab that is opened next, so that it need not wait until the right to write runs out.
    addEventListener("pagehide", () => this.writes && kept.write("tab", this.name));
    addEventListener("pageshow", (event) => event.persisted && location.reload());
    document.addEventListener("visibilitychange", () => document.hidden || this.renew());
    setInterval(() => this.renew(), RENEW);
  }

  async renew(take = false) {
    try {
      const { writes } = await this.transport.tab(this.name, take);
      if (writes && take) this.others?.postMessage(this.name);
      this.set(writes);
    } catch { /* no connection: nobody else can be asked either */ }
  }

  set(writes) {
    if (writes === this.writes) return;
    this.writes = writes;
    this.changed(writes);
  }
}

/** The name of the tab that was closed last, or a new one: a second tab beside an open one never has its name. */
function tabName(kept) {
  const left = kept.read("tab", null);
  kept.write("tab", null);
  return left || [...crypto.getRandomValues(new Uint8Array(12))].map((n) => n.toString(16).padStart(2, "0")).join("");
}
