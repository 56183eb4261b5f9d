// One tab writes. A second one reads, until it is told to take over.

const RENEW = 10000;
const NAME = "semblance-tab";

/** A name for this tab that outlives a reload, but is not copied when a tab is duplicated. */
function tabName() {
  let name = null;
  try {
    name = sessionStorage.getItem(NAME);
    sessionStorage.removeItem(NAME);
  } catch { /* kept nowhere */ }
  name ||= [...crypto.getRandomValues(new Uint8Array(12))].map((n) => n.toString(16).padStart(2, "0")).join("");
  addEventListener("pagehide", () => {
    try { sessionStorage.setItem(NAME, name); } catch { /* kept nowhere */ }
  });
  return name;
}

export class Tab {
  /** `changed(writes)` is called when this tab gains or loses the right to write. */
  constructor(transport, changed) {
    Object.assign(this, { transport, changed, writes: true, name: tabName() });
    this.others = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("semblance" + transport.place);
    if (this.others) this.others.onmessage = ({ data }) => data !== this.name && this.set(false);
    document.addEventListener("visibilitychange", () => document.hidden || this.renew());
    setInterval(() => this.renew(), RENEW);
  }

  async renew(take = false) {
    if (!this.writes && !take) return;
    try {
      const { writes } = await this.transport.tab(this.name, take);
      if (writes && take) this.others?.postMessage(this.name);
      this.set(writes, take);
    } catch { /* no connection: nobody else can be asked either */ }
  }

  lost() { this.set(false); }

  set(writes, always = false) {
    const news = writes !== this.writes || always;
    this.writes = writes;
    if (news) this.changed(writes);
  }
}
