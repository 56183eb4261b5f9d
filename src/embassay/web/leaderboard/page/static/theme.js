"use strict";
// Before the page is drawn: that there is JavaScript, and the colours that were chosen last time.
document.documentElement.classList.add("js");
try {
  const theme = localStorage.getItem("embassay-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* a browser may keep nothing */ }
addEventListener("DOMContentLoaded", () => {
  const root = document.documentElement, select = document.createElement("select");
  select.id = "theme";
  select.setAttribute("aria-label", "Theme");
  for (const [value, text] of [["", "System"], ["light", "Light"], ["dark", "Dark"]]) select.append(new Option(text, value));
  select.value = root.dataset.theme || "";
  select.addEventListener("change", () => {
    if (select.value) root.dataset.theme = select.value;
    else delete root.dataset.theme;
    try { localStorage.setItem("embassay-theme", select.value); } catch { /* as above */ }
  });
  document.getElementById("tools").append(select);
});
