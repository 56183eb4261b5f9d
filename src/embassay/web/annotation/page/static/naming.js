// The field that names a group: letters open it, groups that are there are offered, Enter puts the chosen text there.
import { action, cap, el, named } from "./dom.js";
import { byName, clean, freeNumber, KEYED, offered } from "./groups.js";

export class NameField {
  /** `groups()` gives those there are; `put({number, name})` puts the chosen text into one. */
  constructor({ locked, groups, put }) {
    Object.assign(this, { groups, put, active: -1 });
    this.field = el("input", {
      id: "groupname", type: "text", placeholder: "Group name", autocomplete: "off", spellcheck: "false", maxlength: 60,
      dir: "auto", role: "combobox", "aria-expanded": "false", "aria-controls": "offered", "aria-autocomplete": "list",
      disabled: locked,
    });
    this.offer = el("ul#offered", { role: "listbox", "aria-label": "Groups with this name", hidden: true });
    this.hint = el("span.note.hint");
    this.node = el(
      "div.naming", el("label", { for: "groupname" }, "Group name"), el("span.combo", this.field, this.offer),
      action("Put there", () => this.take(), { name: "Put the text into the group with this name" }), this.hint,
    );
    this.field.addEventListener("input", () => this.typed());
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.field.addEventListener("blur", () => this.close());
  }

  get filled() { return clean(this.field.value) !== ""; }
  focus() { this.field.focus(); }

  /** Enter: the group that is marked among those offered, one of this name, or a new one. */
  take() {
    const name = clean(this.field.value);
    if (!name) {
      this.field.focus();
      return;
    }
    const groups = this.groups();
    const known = offered(groups, name)[this.active] || byName(groups, name);
    this.field.value = "";
    this.field.blur();
    this.put(known || { number: freeNumber(groups), name });
  }

  typed() {
    this.active = -1;
    const known = offered(this.groups(), this.field.value);
    this.offer.replaceChildren(...known.map((group, i) => el(
      `li#offered${i}`, { role: "option", onpointerdown: (event) => { event.preventDefault(); this.active = i; this.take(); } },
      group.number <= KEYED && cap(String(group.number)), " ", named(group.name),
    )));
    this.open(known.length > 0);
    this.hinted();
  }

  key(event) {
    if (event.isComposing) return;
    const options = [...this.offer.children];
    if (event.key === "Enter" && !event.shiftKey && clean(this.field.value) && !event.repeat) this.take();
    else if (event.key === "Escape") {
      this.field.value = "";
      this.field.blur();
    } else if (/^Arrow(Up|Down)$/.test(event.key) && options.length) {
      const from = this.active < 0 && event.key === "ArrowUp" ? 0 : this.active;
      this.active = (from + (event.key === "ArrowDown" ? 1 : -1) + options.length) % options.length;
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
    const known = name && (offered(this.groups(), name)[this.active] || byName(this.groups(), name));
    if (!name) this.hint.replaceChildren("Type a name for a new group; ", cap("1"), "–", cap("9"), " use an existing group.");
    else if (known) this.hint.replaceChildren(cap("↵"), " moves the text to “", named(known.name), "”.");
    else this.hint.replaceChildren(cap("↵"), " creates the group “", named(name), "” and moves the text there.");
  }
}
