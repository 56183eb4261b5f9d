// The name somebody gives themselves and how their page is set: kept here until the server has it.

export class Profile {
  /** `said` is what the server knows that they said of themselves. */
  constructor(transport, kept, annotator, said = {}) {
    Object.assign(this, { transport, kept, annotator, said });
    const { single_keys = true, advance = false, theme = "system" } = annotator.settings || {};
    annotator.settings = { single_keys, advance, theme };
    const waiting = kept.read("profile", null);
    if (waiting) {
      Object.assign(said, waiting.about);
      this.keep(waiting);
    }
    addEventListener("online", () => this.kept.read("profile", null) && this.keep({}));
    this.dress();
  }

  async keep(changes) {
    const { name, settings, about = {} } = Object.assign(this.annotator, changes);
    const profile = Object.keys(about).length ? { name, settings, about } : { name, settings };
    this.kept.write("profile", profile);
    this.dress();
    try {
      await this.transport.profile(profile);
      this.kept.write("profile", null);
    } catch (error) {
      // What is refused for good would be refused again.
      if (error.status && error.status < 429) this.kept.write("profile", null);
    }
  }

  set(name, value) { return this.keep({ settings: { ...this.annotator.settings, [name]: value } }); }

  /** Keep an answer to what the study asks of people; an empty one takes it back. */
  tell(key, answer) {
    this.said[key] = answer;
    return this.keep({ about: { ...this.annotator.about, [key]: answer } });
  }

  dress() {
    const { theme } = this.annotator.settings;
    this.kept.write("theme", theme);
    wear(theme);
  }
}

/** Put colours on: "system", "light" or "dark". */
export function wear(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}
