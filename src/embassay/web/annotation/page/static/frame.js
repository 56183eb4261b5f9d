// The frame around every view: where one is, whether all is saved, the text, the dock.
import { $, action, count, el, named } from "./dom.js";

const SLOW = 250;

export class Frame {
  constructor(app) {
    this.app = app;
    this.saved = el("span#saved", { role: "status" });
    this.send = action("Send now", () => app.session.outbox.now());
    this.send.hidden = true;
    this.place = el("span.place");
    this.bar = el("progress", { "aria-label": "Answered", max: 1, value: 0 });
    this.title = el("span.title");
    this.links = el("nav.links", { "aria-label": "Pages" });
    const menu = action("☰", () => app.menu(), { name: "Menu" });
    menu.className = "menu";
    $("#top").append(this.title, this.place, this.bar, this.saved, this.send, this.links, menu);
    this.follow();
    document.addEventListener("click", (event) => {
      if (!event.target.matches(".skip")) return;
      event.preventDefault();
      $("#stage").focus();
    });
  }

  /** Focus rings and jumps stay clear of what is pinned to the edges. */
  follow() {
    const root = document.documentElement;
    const measure = new ResizeObserver(() => {
      root.style.setProperty("--top", `${$("#top").offsetHeight}px`);
      root.style.setProperty("--dock", `${$("#dock").offsetHeight}px`);
      root.style.setProperty("--asked", `${$(".asked.pinned")?.offsetHeight || 0}px`);
    });
    this.measure = measure;
    measure.observe($("#top"));
    measure.observe($("#dock"));
  }

  /** Put a view on: {title, stage, dock, kind}. The dock stays where it is. */
  show({ title, stage, dock = [], kind = "page" }) {
    document.body.dataset.view = kind;
    document.title = `${title} · ${this.app.session?.study ?? ""}`;
    $("#stage").replaceChildren(...stage.filter(Boolean));
    $("#dock").replaceChildren(...dock);
    $("#dock").hidden = dock.length === 0;
    pinIfShort($(".asked"));
    if ($(".asked")) this.measure.observe($(".asked"));
    scrollTo(0, 0);
  }

  /** Where one is: "12 of 40" of a task, with what is answered as a bar. */
  progress(task, at = null) {
    const { session } = this.app;
    this.title.replaceChildren(named(task ? task.title : session?.study ?? ""));
    this.place.hidden = this.bar.hidden = !task;
    if (!task) return;
    const done = task.items.length - session.open(task).length;
    this.place.textContent = `${at === null ? done : at + 1} of ${task.items.length}`;
    this.bar.max = task.items.length;
    this.bar.value = done;
    this.bar.setAttribute("aria-label", `${done} of ${task.items.length} answered`);
  }

  links_(list) {
    this.links.replaceChildren(...list.map(([text, onclick, key]) => action(text, onclick, { key })));
  }

  /** A sentence over everything that stays until it is done with; one of each kind. */
  notice(kind, text, button = null) {
    $(`#notices .${kind}`)?.remove();
    const close = kind === "warning" && !button && action("Close", () => node.remove());
    const node = el(`div.notice.${kind}`, { role: "alert" }, el("span", text), button && action(...button), close);
    $("#notices").append(node);
  }

  /** The quiet words that say whether all is kept. */
  state({ waiting, failing, filed, lasting, reading }) {
    clearTimeout(this.slow);
    // A save takes a blink; words that changed twice for each would distract.
    this.saved.setAttribute("aria-busy", String(waiting > 0));
    const put = (text, kind) => {
      if (this.saved.textContent !== text) this.saved.textContent = text;
      this.saved.className = kind;
    };
    this.send.hidden = reading || !(waiting && failing);
    if (reading) put("read only", "quiet");
    else if (waiting && failing) put(`${count(waiting, "answer")} ${waiting === 1 ? "waits" : "wait"} in this browser, not yet sent`, "care");
    else if (waiting) this.slow = setTimeout(() => put("saving …", "quiet"), SLOW);
    else if (!lasting && filed) put("this browser stores nothing, so download before you leave", "care");
    else put("✓ saved", "good");
  }
}

/** A question that is long itself scrolls away with the text. */
function pinIfShort(asked) {
  if (asked) asked.classList.toggle("pinned", asked.offsetHeight < innerHeight * 0.25);
}
