// What stands there when the study or an item cannot be had.
import { action, el } from "./dom.js";
import { Unreachable } from "./served.js";

/** The view for an error of the transport; an error of the page itself is thrown on. */
export function unreachable(error, again) {
  if (error.status === 404 || error.status === 403) {
    return failedView("This link does not work", "It is wrong or was replaced. Ask whoever sent it for a new one.");
  }
  if (!error.status && !(error instanceof Unreachable)) throw error;
  const words = error.status ? error.message : "There is no connection to the study.";
  return failedView("Cannot reach the study", `${words} Your answers are kept. The page retries automatically.`, again);
}

function failedView(title, sentence, again) {
  return {
    title, focus: "#question", keys: [], act: () => false,
    dock: again ? [el("div.bar", el("span.note.hint"), action("Try again", again, { primary: true }))] : [],
    stage: [el("div.column", el("h1#question", { tabindex: "-1" }, title), el("p.lede", sentence))],
  };
}
