// What this annotator was asked, has answered and can take back.
import { Clock } from "./clock.js";
import { Outbox } from "./outbox.js";

const STEPS_BACK = 200;
const OPEN = { value: null, flag: "", comment: "" };

export class Session {
  /** `told` is what the transport said of the study; `heard` hears of states and refusals. */
  constructor(transport, told, kept, heard) {
    Object.assign(this, { transport, kept, heard, study: told.study, annotator: told.annotator, tasks: told.tasks });
    this.version = told.guidelines_version;
    this.adjudicates = told.adjudicates || false;
    this.about = told.about || null;
    this.writes = true;
    this.tab = "";
    this.clock = new Clock();
    this.payloads = new Map();
    this.taskOf = new Map(this.tasks.flatMap((task) => task.items.map((id) => [id, task])));
    this.outbox = new Outbox((id, body) => transport.put(id, { ...body, tab: this.tab }), kept, {
      state: () => heard.state(),
      refused: (entry, refusal) => heard.refused(entry, refusal),
    });
    this.adopt(told);
  }

  /** Take over what the server holds; what still waits in this browser is newer. */
  adopt(told) {
    this.answers = { ...told.answers };
    for (const { id, body } of this.outbox.entries) this.answers[id] = { ...body };
    this.seq = Math.max(told.seq || 0, ...this.outbox.entries.map((one) => one.body.seq), 0);
    this.notes = this.kept.read("notes", {});
    this.back = this.kept.read("back", []);
    for (const [id, { seconds }] of Object.entries(this.answers)) this.clock.spent[id] = 1000 * (seconds || 0);
    this.standing = told.until_decided || null;
    for (const task of told.tasks) {
      const own = this.task(task.name);
      own.finished = task.finished;
      if (this.standing) this.regrow(own, task.items);
    }
  }

  /** Passages come as grades decide which: what is answered here stays, in its order, and the others follow. */
  regrow(task, items) {
    const own = task.items.filter((id) => this.decided(id));
    task.items = [...own, ...items.filter((id) => !own.includes(id))];
    for (const id of task.items) this.taskOf.set(id, task);
  }

  task(name) { return this.tasks.find((task) => task.name === name); }

  /** The answer to an item; a flag or comment on one that is still open is only noted here. */
  answer(id) {
    const answer = { ...OPEN, ...this.answers[id] };
    return isOpen(answer) ? { ...answer, ...this.notes[id], noted: true } : answer;
  }

  /** Whether an item is "done", "refused" (cannot be judged), "begun" or "open". */
  stateOf(id) {
    const answer = { ...OPEN, ...this.answers[id] };
    if (answer.value?.draft) return answer.value.draft.every((mark) => mark === null) ? "open" : "begun";
    if (answer.value !== null) return "done";
    return answer.flag ? "refused" : "open";
  }

  decided(id) { return ["done", "refused"].includes(this.stateOf(id)); }
  open(task) { return task.items.filter((id) => !this.decided(id)); }
  flagged(task) { return task.items.filter((id) => this.answer(id).flag); }
  begun(task) { return task.finished || task.items.some((id) => this.stateOf(id) !== "open"); }
  mayWrite(task) { return this.writes && !task.finished; }

  /** Answer items: `changes` are [{id, value?, flag?, comment?}], one step back for all of them. */
  change(changes, { undoable = true } = {}) {
    if (undoable) this.remember(changes.map(({ id }) => this.stepBack(id)));
    this.outbox.add(changes.map((one) => this.entry(one)));
    this.kept.write("notes", this.notes);
  }

  entry({ id, ...change }) {
    const answer = { ...pick(this.answer(id)), ...change };
    delete this.notes[id];
    // Without a value a flag would say that the item cannot be judged: it waits here for the next answer.
    if (answer.value === null && !("flag" in change) && (answer.flag || answer.comment)) {
      this.notes[id] = { flag: answer.flag, comment: answer.comment };
      Object.assign(answer, { flag: "", comment: "" });
    }
    this.seq += 1;
    const body = { ...answer, seconds: this.clock.seconds(id), paused: this.clock.pauses(id), seq: this.seq };
    this.answers[id] = { ...answer, seq: this.seq };
    return { id, body };
  }

  /** What brings an item back to how it is now. */
  stepBack(id) {
    const { noted, ...answer } = this.answer(id);
    const { flag, comment } = answer;
    return noted ? { id, ...OPEN, note: { flag, comment } } : { id, ...pick(answer) };
  }

  /** Keep a flag or comment for an item that has no answer yet: it goes with the answer. */
  note(id, flag, comment) {
    this.notes[id] = { flag, comment };
    this.kept.write("notes", this.notes);
  }

  remember(before) {
    this.back = [...this.back, before].slice(-STEPS_BACK);
    this.kept.write("back", this.back);
  }

  /** Take back the last step of this task; the ids it changed, or null where there is none. */
  undo(task) {
    const at = this.back.findLastIndex((step) => step.every(({ id }) => this.taskOf.get(id) === task));
    if (at < 0) return null;
    const [step] = this.back.splice(at, 1);
    this.kept.write("back", this.back);
    this.change(step.map(({ note, ...one }) => one), { undoable: false });
    for (const { id, note } of step) if (note) this.note(id, note.flag, note.comment);
    return step.map(({ id }) => id);
  }

  async payload(id) {
    if (!this.payloads.has(id)) {
      const asked = this.transport.item(id).then((item) => item.payload);
      this.payloads.set(id, asked);
      asked.catch(() => this.payloads.delete(id));
    }
    return this.payloads.get(id);
  }

  /** Fetch the items that come next, so that they are there without a connection too. */
  preload(task, id, ahead = 5) {
    const at = task.items.indexOf(id);
    for (const next of task.items.slice(at + 1, at + 1 + ahead)) this.payload(next).catch(() => {});
  }

  async payloadsOf(task) {
    for (const { id, payload } of await this.transport.items(task.name)) {
      this.payloads.set(id, Promise.resolve(payload));
    }
  }
}

const pick = ({ value, flag, comment }) => ({ value, flag, comment });
const isOpen = ({ value, flag }) => value === null && !flag;
