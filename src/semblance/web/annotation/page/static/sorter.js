// Texts to sort and the groups they are sorted into: what both the study and its practice show.
import { $, action, cap, count, el, languageTag, named, say } from "./dom.js";
import { openDialog } from "./dialogs.js";
import { byName, clean, freeNumber, groupsOf, offered, title, writeId } from "./groups.js";

const KEYED = 9;

export class Sorter {
  /** `texts` are [{id, text}]; `values()` gives {id: group id or null}; `change(list)` takes [{id, value}]. */
  constructor({ lang, texts, values, latest, change, locked, refresh, watch = () => {} }) {
    Object.assign(this, { lang, texts, values, latest, change, locked, refresh, watch, chosen: null, active: -1 });
    this.field = el("input", {
      id: "groupname", type: "text", placeholder: "Group name", autocomplete: "off", spellcheck: "false", maxlength: 60, dir: "auto",
      role: "combobox", "aria-expanded": "false", "aria-controls": "offered", "aria-autocomplete": "list", disabled: locked,
    });
    this.offer = el("ul#offered", { role: "listbox", "aria-label": "Groups with this name", hidden: true });
    this.hint = el("span.note.hint");
    this.list = el("div.unsorted");
    this.board = el("div.groups");
    this.stage = [el("div.sort", this.list, this.board)];
    this.shelf = el("div.shelf");
    this.dock = [this.shelf, el(
      "div.naming", el("label", { for: "groupname" }, "Group name"), el("span.combo", this.field, this.offer),
      action("Put there", () => this.named(), { name: "Put the text into the group of this name" }), this.hint,
    )];
    this.field.addEventListener("input", () => this.typed());
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.field.addEventListener("blur", () => this.close());
    this.acts = {
      digit: (press) => this.digit(Number(press)),
      up: () => this.step(-1),
      down: () => this.step(1),
      type: () => (this.locked ? false : this.field.focus()),
    };
  }

  get groups() { return groupsOf(this.values(), this.latest); }
  get unsorted() { return this.texts.filter(({ id }) => this.isOpen(id)); }
  isOpen(id) { return (this.values()[id] ?? null) === null; }

  /** Draw all of it; the chosen text stays chosen, or the next unsorted one is. */
  draw() {
    const open = this.unsorted;
    if (!this.texts.some(({ id }) => id === this.chosen)) this.chosen = open[0]?.id ?? null;
    this.list.replaceChildren(
      el("h2", open.length ? `To sort: ${open.length} left` : "All texts are sorted"),
      el("ul", { "aria-label": "Texts to sort" }, open.map((one) => el("li", this.card(one)))),
    );
    const groups = this.groups;
    this.board.replaceChildren(
      el("h2", `Your groups: ${groups.length}`),
      el("div.boards", groups.map((group) => this.groupCard(group))),
    );
    this.shelf.replaceChildren(...groups.map((group) => this.shelved(group)));
    this.watch(this.chosen);
    this.hinted();
    this.refresh();
  }

  card({ id, text }) {
    const press = (event) => {
      if (event.detail > 0) event.currentTarget.blur();
      this.choose(id);
    };
    return el("button.card", {
      onclick: press, "aria-pressed": String(id === this.chosen), lang: languageTag(this.lang), dir: "auto", "data-id": id,
    }, text);
  }

  groupCard(group) {
    const put = action(group.number <= KEYED ? "" : "+", () => this.put(group), {
      key: group.number <= KEYED ? String(group.number) : "", name: `Put the text into ${title(group)}`,
    });
    put.disabled = this.locked;
    const edit = action("⋯", () => this.edit(group), { name: `Rename or merge ${title(group)}` });
    edit.disabled = this.locked;
    const members = this.texts.filter(({ id }) => group.members.includes(id));
    return el(
      "section.group", { "aria-label": title(group) },
      el("div.head", put, el("h3", named(title(group))), el("span.n", String(members.length)), edit),
      el("ul", members.map((one) => el("li", this.card(one)))),
    );
  }

  /** The group as a button in the dock, for narrow windows, where the groups themselves are far below. */
  shelved(group) {
    const label = [named(title(group)), el("span.n", String(group.members.length))];
    const put = action(label, () => this.put(group), { name: `Put the text into ${title(group)}` });
    put.disabled = this.locked;
    return put;
  }

  choose(id) {
    this.chosen = id;
    this.draw();
    $(`.card[data-id="${CSS.escape(id)}"]`)?.scrollIntoView({ block: "nearest" });
  }

  /** The next text: among those to sort, or among all when none is left. */
  step(by) {
    const list = this.unsorted.length ? this.unsorted : this.texts;
    const at = list.findIndex(({ id }) => id === this.chosen);
    const to = at < 0 ? 0 : Math.min(Math.max(at + by, 0), list.length - 1);
    this.choose(list[to].id);
    say(list[to].text);
  }

  digit(number) {
    const group = this.groups.find((one) => one.number === number);
    if (group) this.put(group);
    else say(`There is no group ${number}.`);
  }

  put({ number, name }) {
    if (this.locked || this.chosen === null) return;
    const moved = this.chosen, list = this.unsorted;
    const at = list.findIndex(({ id }) => id === moved);
    this.chosen = list[at + 1]?.id ?? list[at - 1]?.id ?? null;
    if (at < 0) this.chosen = moved;
    this.change([{ id: moved, value: writeId(number, name) }]);
    this.draw();
    if (this.chosen !== null) $(`.card[data-id="${CSS.escape(this.chosen)}"]`)?.scrollIntoView({ block: "nearest" });
    say(`Put into ${title({ number, name })}. ${count(this.unsorted.length, "text")} still to sort.`);
  }

  /** Enter in the name field: the group that is marked among those offered, one of this name, or a new one. */
  named() {
    const name = clean(this.field.value);
    if (!name) {
      this.field.focus();
      return;
    }
    const groups = this.groups;
    const known = offered(groups, name)[this.active] || byName(groups, name);
    this.field.value = "";
    this.field.blur();
    this.put(known || { number: freeNumber(groups), name });
  }

  typed() {
    this.active = -1;
    const known = offered(this.groups, this.field.value);
    this.offer.replaceChildren(...known.map((group, i) => el(
      `li#offered${i}`, { role: "option", onpointerdown: (event) => { event.preventDefault(); this.active = i; this.named(); } },
      group.number <= KEYED && cap(String(group.number)), " ", named(group.name),
    )));
    this.open(known.length > 0);
    this.hinted();
  }

  key(event) {
    if (event.isComposing) return;
    const options = [...this.offer.children];
    if (event.key === "Enter" && !event.shiftKey && clean(this.field.value) && !event.repeat) this.named();
    else if (event.key === "Escape") {
      this.field.value = "";
      this.field.blur();
    } else if (/^Arrow(Up|Down)$/.test(event.key) && options.length) {
      this.active = (this.active + (event.key === "ArrowDown" ? 1 : -1) + options.length) % options.length;
      options.forEach((one, i) => one.setAttribute("aria-selected", String(i === this.active)));
      this.field.setAttribute("aria-activedescendant", `offered${this.active}`);
    } else return;
    this.hinted();
    event.preventDefault();
  }

  open(open) {
    this.offer.hidden = !open;
    this.field.setAttribute("aria-expanded", String(open));
    this.field.removeAttribute("aria-activedescendant");
  }

  close() {
    this.open(false);
    this.hinted();
  }

  hinted() {
    const name = clean(this.field.value);
    const known = name && (offered(this.groups, name)[this.active] || byName(this.groups, name));
    if (!name) this.hint.replaceChildren("Type a name for a new group; ", cap("1"), "–", cap("9"), " use a group you have.");
    else if (known) this.hint.replaceChildren(cap("↵"), " moves the text to “", named(known.name), "”.");
    else this.hint.replaceChildren(cap("↵"), " makes the group “", named(name), "” and moves the text there.");
  }

  takeOut() { this.change([{ id: this.chosen, value: null }]); this.draw(); }

  edit(group) {
    const field = el("input", { id: "rename", type: "text", maxlength: 60, value: group.name, dir: "auto", autocomplete: "off" });
    const close = (changes) => {
      box.close();
      if (changes.length) this.change(changes);
      this.draw();
    };
    const all = (number, name) => group.members.map((id) => ({ id, value: writeId(number, name) }));
    const rename = () => {
      const other = byName(this.groups, field.value);
      if (!other || other.number === group.number) close(all(group.number, field.value));
      else wrong.textContent = "Another group has this name. Merge them if they are one.";
    };
    const wrong = el("p.wrong", { role: "alert" });
    field.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && rename());
    const others = this.groups.filter(({ number }) => number !== group.number);
    const box = openDialog(
      title(group), el("label", { for: "rename" }, "Name"), field, wrong,
      el("div.row", action("Rename", rename, { primary: true })),
      others.length && el("h3", "Merge into"),
      el("div.row.wrap", others.map((other) => action(named(title(other)), () => close(all(other.number, other.name))))),
    );
    field.focus();
  }
}
