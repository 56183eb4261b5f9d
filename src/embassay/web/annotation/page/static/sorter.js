// Texts to sort and the groups they are sorted into: what both the study and its practice show.
import { $, action, cap, count, el, languageTag, named, onEnter, say } from "./dom.js";
import { openDialog } from "./dialogs.js";
import { byName, groupsOf, KEYED, title, writeId } from "./groups.js";
import { NameField } from "./naming.js";

export class Sorter {
  /** `texts` are [{id, text}]; `values()` gives {id: group id or null}; `change(list)` takes [{id, value}]. */
  constructor({ lang, texts, values, latest, change, locked, refresh, watch = () => {}, refused = () => false }) {
    Object.assign(this, { lang, texts, values, latest, change, locked, refresh, watch, refused, chosen: null });
    this.naming = new NameField({ locked, groups: () => this.groups, put: (group) => this.put(group) });
    this.list = el("div.unsorted");
    this.board = el("div.groups");
    this.stage = [el("div.sort", this.list, this.board)];
    this.shelf = el("div.shelf");
    this.dock = [this.shelf, this.naming.node];
    this.acts = {
      digit: (press) => this.digit(Number(press)),
      up: () => this.step(-1),
      down: () => this.step(1),
      type: () => (this.locked ? false : this.naming.focus()),
    };
  }

  get groups() { return groupsOf(this.values(), this.latest); }
  get unsorted() { return this.texts.filter(({ id }) => !this.refused(id) && (this.values()[id] ?? null) === null); }

  /** Draw all of it; the chosen text stays chosen, or the next unsorted one is, and the focus stays where it was. */
  draw() {
    const open = this.unsorted, { key } = document.activeElement?.dataset ?? {};
    const refused = this.texts.filter(({ id }) => this.refused(id));
    if (!this.texts.some(({ id }) => id === this.chosen)) this.chosen = open[0]?.id ?? null;
    this.list.replaceChildren(...[
      el("h2", open.length ? `To sort: ${open.length} left` : "All texts are sorted"),
      el("ul", { "aria-label": "Texts to sort" }, open.map((one) => el("li", this.card(one)))),
      refused.length > 0 && el("h2", "Cannot be judged"),
      refused.length > 0 && el("ul", { "aria-label": "Cannot be judged" }, refused.map((one) => el("li", this.card(one)))),
    ].filter(Boolean));
    const groups = this.groups;
    this.board.replaceChildren(
      el("h2", `Your groups: ${groups.length}`),
      el("div.boards", groups.map((group) => this.groupCard(group))),
    );
    const grouped = (this.values()[this.chosen] ?? null) !== null && !this.locked;
    this.shelf.replaceChildren(...(grouped ? [action("Take out", () => this.takeOut())] : []), ...groups.map((group) => this.shelved(group)));
    this.watch(this.chosen);
    this.naming.hinted();
    this.refresh();
    if (key) $(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }

  card({ id, text }) {
    const press = (event) => {
      if (event.detail > 0) event.currentTarget.blur();
      this.choose(id);
    };
    return el("button.card", {
      onclick: press, "aria-pressed": String(id === this.chosen), lang: languageTag(this.lang), dir: "auto", "data-id": id,
      "data-key": `text ${id}`,
    }, text);
  }

  groupCard(group) {
    const put = action(group.number <= KEYED ? "" : "+", () => this.put(group), {
      key: group.number <= KEYED ? String(group.number) : "", name: `Put the text into ${title(group)}`,
    });
    put.disabled = this.locked;
    put.dataset.key = `put ${group.number}`;
    const edit = action("⋯", () => this.edit(group), { name: `Rename or merge ${title(group)}` });
    edit.disabled = this.locked;
    edit.dataset.key = `edit ${group.number}`;
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
      else wrong.textContent = "Another group has this name. Merge them if they are the same.";
    };
    const wrong = el("p.wrong", { role: "alert" });
    onEnter(field, rename);
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
