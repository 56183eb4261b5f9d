// Copies links, and keeps the numbers fresh without moving anything while somebody reads or selects.

const EVERY = 20000, STALE = 3;
const said = document.getElementById("said");
let missed = 0;

for (const button of document.querySelectorAll(".copy")) {
  // Only a secure page, or one of this machine, may write to the clipboard.
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    said.textContent = "Link copied.";
    button.firstChild.textContent = "Copied";
    setTimeout(() => { button.firstChild.textContent = "Copy"; }, 2000);
  });
}

/** Whether somebody is at work in a part that would be replaced. */
function busy(part) {
  const selection = getSelection();
  return part.contains(document.activeElement) ||
    (selection && !selection.isCollapsed && part.contains(selection.anchorNode));
}

function replace(part, fresh) {
  if (!fresh || busy(part)) return;
  const scrolled = [...part.querySelectorAll(".frame")].map((frame) => frame.scrollLeft);
  part.replaceWith(document.adoptNode(fresh));
  fresh.querySelectorAll(".frame").forEach((frame, i) => { frame.scrollLeft = scrolled[i] || 0; });
}

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll(".live")) replace(part, page.getElementById(part.id));
    missed = 0;
  } catch {
    missed += 1;
    const at = document.getElementById("at");
    if (missed >= STALE && !at.dataset.stale) {
      at.dataset.stale = "yes";
      at.textContent += ", not updated since because the server does not respond";
    }
  }
}

setInterval(refresh, EVERY);
