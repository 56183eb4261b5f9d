// What somebody says of themselves, where the study asks: each answer is optional and kept at once.
import { el } from "./dom.js";

const LANGUAGES = new Intl.DisplayNames(["en"], { type: "language" });

/** The name of a language, its code where it has none. */
export function languageOf(code) {
  try {
    return LANGUAGES.of(code);
  } catch {  // not a code of the standard, such as "mixed"
    return code;
  }
}

/** A list to choose from for every question of the study; null where it asks nothing. */
export function aboutFields(app) {
  const { about } = app.session;
  if (!about) return null;
  return el(
    "fieldset.about", el("legend", "About you"),
    el("p.note", "Every question is optional. What you say is stored with your answers, visible only to the owner of the study, and reported only for groups of people."),
    about.asked.map((one) => field(app, one)),
  );
}

function field(app, { key, words, choices }) {
  const id = `about-${key.replace(":", "-")}`, said = app.session.about.said[key] || "";
  const [question, lang] = key.split(":");
  const text = question === "language" ? `How well do you read ${languageOf(lang)}?` : words;
  const options = [["", "No answer"], ...choices].map(([value, label]) => el("option", { value, selected: value === said }, label));
  return [
    el("label.field", { for: id }, text),
    el("select", { id, onchange: (event) => app.profile.tell(key, event.target.value) }, options),
  ];
}
