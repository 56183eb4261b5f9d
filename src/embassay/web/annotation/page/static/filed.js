// Answers that stay in this browser, until they are downloaded as a file to send back. The same calls as `served.js`.
import { Kept } from "./kept.js";

const LEASE = 30000;

export class Filed {
  /** `given` is {told, items: {id: payload}, annotator, content}: all of the study that an annotator may see. */
  constructor(given) {
    Object.assign(this, given);
    this.offline = true;
    this.downloaded = 0;
    this.place = `file/${given.content}/${given.annotator}`;
    this.kept = new Kept(`embassay:${this.place}:filed:`);
  }

  async study() {
    const answers = this.kept.read("answers", {});
    const finished = this.kept.read("finished", {});
    const { about } = this.told;
    return {
      ...this.told, ...(about && { about: { ...about, said: this.said() } }), answers, seq: Math.max(0, ...Object.values(answers).map(({ seq }) => seq)),
      annotator: { ...this.told.annotator, ...this.kept.read("profile", {}) },
      tasks: this.told.tasks.map((task) => ({ ...task, finished: Boolean(finished[task.name]) })),
    };
  }

  async item(id) { return { id, payload: this.payloads[id] }; }
  async items(task) { return this.told.tasks.find(({ name }) => name === task).items.map((id) => ({ id, payload: this.payloads[id] })); }

  async put(id, { tab, ...body }) {
    const answers = this.kept.read("answers", {});
    answers[id] = { ...body, saved_at: new Date().toISOString() };
    this.kept.write("answers", answers);
    return { seq: body.seq, saved_at: answers[id].saved_at };
  }

  async tab(tab, take) {
    const held = this.kept.read("tab", null);
    const free = take || !held || held.tab === tab || held.until < Date.now();
    if (free) this.kept.write("tab", { tab, until: Date.now() + LEASE });
    return { writes: free };
  }

  async finish(task) {
    this.kept.write("finished", { ...this.kept.read("finished", {}), [task]: new Date().toISOString() });
  }

  async profile(profile) { this.kept.write("profile", profile); }

  /** What somebody said of themselves. */
  said() { return Object.fromEntries(Object.entries(this.kept.read("profile", {})?.about || {}).filter(([, answer]) => answer)); }

  /** Every answer that counts, a line of JSON each, in the form that `embassay hume import` reads. */
  rows() {
    const answers = this.kept.read("answers", {});
    const order = this.told.tasks.flatMap(({ items }) => items);
    return order.filter((id) => answers[id] && isDecided(answers[id])).map((id) => {
      const { value, flag, comment, seconds, saved_at: ts } = answers[id];
      const kind = this.told.adjudicates ? "adjudicator" : "person";
      return { item_id: id, annotator_id: this.annotator, value, ts, seconds, kind, flag, comment };
    });
  }

  download() {
    const said = this.said(), about = Object.keys(said).length ? [{ annotator_id: this.annotator, profile: said }] : [];
    const text = [...about, ...this.rows()].map((row) => JSON.stringify(row) + "\n").join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
    link.download = `${this.annotator}.answers.jsonl`;
    link.click();
    this.downloaded = Math.max(0, ...Object.values(this.kept.read("answers", {})).map(({ seq }) => seq));
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }
}

const isDecided = ({ value, flag }) => (value === null ? Boolean(flag) : !value?.draft);
