// Where one is, where one goes next, and what happens to what was answered.
import { $, action, el, say } from "./dom.js";
import { dialogIsOpen, openDialog, openHelp, openSettings } from "./dialogs.js";
import { unreachable } from "./failed.js";
import { Frame } from "./frame.js";
import { itemView } from "./items.js";
import { Kept } from "./kept.js";
import { Keyboard } from "./keys.js";
import { checkView, tasksView, thanksView, toldView, welcomeView } from "./places.js";
import { practiceView } from "./practice.js";
import { Profile, wear } from "./profile.js";
import { firstPlace, placeAfter, placeOf, readPlace, writePlace } from "./route.js";
import { Session } from "./session.js";
import { sortingView } from "./sorting.js";
import { Tab } from "./tab.js";

const VIEWS = {
  welcome: welcomeView, tasks: tasksView, told: toldView, practice: practiceView, item: itemView, sort: sortingView,
  check: checkView, thanks: thanksView,
};
const RETRY = 5000;

export class App {
  constructor(transport) {
    this.transport = transport;
    this.kept = new Kept(`embassay:${transport.place}:`);
    this.frame = new Frame(this);
    wear(this.kept.read("theme", "system"));
    this.turn = 0;
    this.shown = { keys: [], act: () => false };
    this.keyboard = new Keyboard({
      view: () => ({ keys: this.shown.keys, act: (...what) => this.act(...what) }),
      single: () => this.session?.annotator.settings.single_keys ?? false,
      blocked: dialogIsOpen,
    });
    addEventListener("popstate", () => this.render(this.placeNow()));
    addEventListener("beforeunload", (event) => { if (this.wouldLose()) event.preventDefault(); });
  }

  /** Whether answers would wait unsent, or be gone where this browser keeps nothing. */
  wouldLose() {
    if (!this.session || this.leaving) return false;
    const forgotten = this.transport.offline && !this.kept.lasting && this.session.seq > this.transport.downloaded;
    return this.session.outbox.waiting > 0 || forgotten;
  }

  /** Ask for the study until it is there. */
  async begin() {
    let told;
    try {
      told = await this.transport.study();
    } catch (error) {
      this.put(unreachable(error, () => this.begin()));
      if (!error.status || error.status >= 429) setTimeout(() => this.session || this.begin(), RETRY);
      return;
    }
    if (this.session) return;
    this.session = new Session(this.transport, told, this.kept, {
      state: () => this.state(), refused: (entry, refusal) => this.refused(entry, refusal),
    });
    this.profile = new Profile(this.transport, this.kept, told.annotator, told.about?.said);
    this.tab = new Tab(this.transport, this.kept, (writes) => this.mayWrite(writes));
    this.session.tab = this.tab.name;
    await this.tab.renew();
    this.links();
    this.state();
    this.session.outbox.flush();
    const place = this.placeNow() || readPlace(this.session, this.kept.read("place", ""));
    this.go(place || firstPlace(this.session, this.kept), { replace: true });
  }

  placeNow() { return this.session ? readPlace(this.session, location.hash.slice(1)) : null; }
  resume(task) { this.go(placeOf(this.session, this.kept, task)); }
  start(task) {
    this.kept.write(`told:${task.name}`, true);
    this.resume(task);
  }

  async onward(task, at) {
    if (this.session.standing) await this.more();
    this.go(placeAfter(this.session, task, at, Boolean(this.place.checking) || Boolean(this.session.standing)));
  }

  /** What there is to grade now, where that depends on the grades so far. */
  async more() {
    try {
      this.session.adopt(await this.transport.study());
    } catch { /* what is here already goes on; the next save says that there is no connection */ }
  }

  async lookAgain(task) {
    await this.more();
    this.resume(task);
  }

  go(place, { replace = false } = {}) {
    const hash = writePlace(place);
    history[replace ? "replaceState" : "pushState"]({ checking: place.checking || false }, "", `#${hash}`);
    this.kept.write("place", hash);
    return this.render(place);
  }

  async render(place) {
    if (!place) return;
    this.turn += 1;
    const turn = this.turn;
    this.place = place;
    this.session.clock.watch(null);
    let view;
    try {
      view = await VIEWS[place.view](this, place);
    } catch (error) {
      view = unreachable(error, () => this.render(place));
      setTimeout(() => this.turn === turn && this.render(place), RETRY);
    }
    if (this.turn === turn) this.put(view);
  }

  put(view) {
    this.shown = view;
    this.frame.show(view);
    this.progress();
    $(view.focus)?.focus({ preventScroll: true });
  }

  act(what, press, event) {
    if (what === "help") return this.help("keys");
    if (what === "leave") return document.activeElement?.blur();
    return this.shown.act(what, press, event);
  }

  progress() { this.frame.progress(this.shown.practice ? null : this.shown.task, this.shown.at ?? null); }

  undo(task) {
    const { session } = this;
    if (!session.mayWrite(task)) return;
    $("#toast")?.remove();
    const changed = session.undo(task) || this.cleared(task);
    if (!changed) {
      say("Nothing to undo.");
      return;
    }
    say("Undone.");
    this.progress();
    if (!this.shown.redraw?.(changed)) this.go({ view: "item", task: task.name, at: task.items.indexOf(changed[0]) });
  }

  /** An answer from another browser has no step to go back to: it is taken back whole. */
  cleared(task) {
    const id = task.items[this.shown.at];
    if (id === undefined || !this.session.answers[id] || this.session.stateOf(id) === "open") return null;
    this.session.change([{ id, value: null, flag: "", comment: "" }], { undoable: false });
    return [id];
  }

  /** Some words over the dock, with a way back, for a few seconds. */
  after(words, seconds) {
    const { task } = this.shown;
    $("#toast")?.remove();
    const toast = el("div#toast", { role: "status" }, words, " ", action("Undo", () => this.undo(task)));
    $("#dock").before(toast);
    setTimeout(() => toast.remove(), seconds * 1000);
  }

  async finish(task) {
    const { session } = this;
    try {
      await session.transport.finish(task.name, this.tab.name);
    } catch (error) {
      if (error.body?.why === "another_tab") this.tab.set(false);
      else this.warn(error.status ? error.message : "There is no connection. Nothing is lost. Try again in a moment.");
      if (error.status === 409) this.refetch();
      return;
    }
    task.finished = true;
    this.go({ view: "thanks", task: task.name });
  }

  setting(name, value) {
    this.profile.set(name, value);
    this.shown.refresh?.();
  }

  introduce(name) {
    this.kept.write("welcomed", true);
    this.profile.keep({ name: name || null });
    this.go(firstPlace(this.session, this.kept));
  }

  links() {
    const { tasks } = this.session, task = () => this.shown.task || tasks[0];
    this.pages = !tasks.length ? [["Settings", () => openSettings(this)]] : [
      tasks.length > 1 && ["Tasks", () => this.go({ view: "tasks" })],
      ["Check list", () => this.go({ view: "check", task: task().name })],
      ["Instructions", () => this.help("told")],
      ["Keys", () => this.help("keys"), "?"],
      ["Settings", () => openSettings(this)],
    ].filter(Boolean);
    this.frame.links_(this.pages);
  }

  help(first) { openHelp(this, this.shown.task || this.session.tasks[0], first); }

  menu() {
    const box = openDialog("Menu", el("div.stack", this.pages.map(([text, go]) => action(text, () => {
      box.close();
      go();
    }))));
  }

  state() {
    if (!this.session) return;
    const { waiting, failing, held } = this.session.outbox;
    this.frame.state({ waiting, failing, reading: held, filed: this.transport.offline, lasting: this.kept.lasting });
    this.shown.refresh?.();
  }

  /** An answer was refused: "keep" where another tab may send it. */
  refused({ id }, refusal) {
    const { why } = refusal.body;
    if (why === "another_tab") {
      this.tab.set(false);
      return "keep";
    }
    const { status } = refusal;
    if (status === 403) this.warn("This page is out of date. Nothing is lost. Reload it.", ["Reload", () => this.reload()]);
    if (status === 404) this.warn("This link is no longer valid. Unsent answers stay in this browser. Tell whoever gave you the link.");
    if ([403, 404].includes(status) || status >= 429) return "keep";
    const at = (this.session.taskOf.get(id)?.items.indexOf(id) ?? 0) + 1;
    this.warn(why === "older" ? `Item ${at} was answered later in another browser. That answer counts.` : `The answer to item ${at} was not saved: ${refusal.message}`);
    this.refetch();
    return "drop";
  }

  async refetch() {
    try {
      this.session.adopt(await this.transport.study());
      this.render(this.place);
    } catch { /* the next save says that there is no connection */ }
  }

  /** Another tab took over, or this one got the right to write back. */
  mayWrite(writes) {
    if (writes) {
      this.reload();
      return;
    }
    this.session.writes = false;
    this.session.outbox.hold(true);
    this.state();
    this.frame.notice("reading", "This study is open in another tab or browser, or was a moment ago. You can read here but not answer.", ["Answer here instead", () => this.tab.renew(true)]);
    if (this.place) this.render(this.place);
  }

  /** Start again from what the server and this browser hold, without asking whether to leave. */
  reload() {
    this.leaving = true;
    location.reload();
  }

  warn(text, button) { this.frame.notice("warning", text, button); }
}
