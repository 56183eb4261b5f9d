"""The browser of tests and benchmarks: which one, opening it, and what axe finds on a page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is Chromium without its windows, which does the same with half of the work."""


def executable() -> str | None:
    """That of EMBASSAY_CHROMIUM, or the first on the path."""
    return os.environ.get("EMBASSAY_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def opened() -> Iterator[Any]:
    """The browser, by Playwright, which has to be installed."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
        yield browser
        browser.close()


IMPACTS = ("minor", "moderate", "serious", "critical")
COLOURS = ("color-contrast", "link-in-text-block")
"""The rules of axe that look at colours: all that another theme can change."""

CONTRAST = "color-contrast"
AUDIT = """async ([within, options, contrast]) => {
  const top = within ? document.querySelector(within) : document.body;
  const looks = new Map(), alike = new Map();
  // What a contrast depends on: the text's own style, and the grounds that it lies on.
  const ground = (one) => {
    if (!one) return "";
    if (!looks.has(one)) {
      const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(one);
      looks.set(one, `${ground(one.parentElement)}/${backgroundColor}${backgroundImage}${opacity}${position}`);
    }
    return looks.get(one);
  };
  for (const one of top.querySelectorAll("*")) {
    const texts = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!texts && !one.matches("input, select, textarea") || !one.checkVisibility()) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(one);
    const key = [one.localName, one.className, color, fontSize, fontWeight, ground(one)].join();
    if (!alike.has(key)) alike.set(key, one);
  }
  const tags = axe.getRules().find((rule) => rule.ruleId === contrast).tags, only = options.runOnly;
  const asked = !only || only.some((one) => one === contrast || tags.includes(one));
  const others = only ? { runOnly: only.filter((one) => one !== contrast) } : {};
  const without = { ...options, ...others, rules: { [contrast]: { enabled: false } } };
  const rest = await axe.run(within || document, without);
  if (!asked || !alike.size) return rest.violations;
  const colours = await axe.run({ include: [...alike.values()] }, { ...options, runOnly: [contrast] });
  if (!colours.passes.length) throw new Error("axe has seen no contrast");
  return [...rest.violations, ...colours.violations];
}"""
"""All rules of axe but contrast on everything; contrast, which takes ten times as long, on one text of each look."""


def axe_findings(page: Any, *, within: str | None = None, only: Sequence[str] = (), least: str = "minor") -> list[str]:
    """What axe finds on a page, or within a selector of it, from an impact upwards; `only` names rules or tags."""
    from axe_playwright_python.sync_playwright import Axe

    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(Axe().axe_script)
    options = {"resultTypes": ["violations"], **({"runOnly": list(only)} if only else {})}
    violations = page.evaluate(AUDIT, [within, options, CONTRAST])
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0].get('failureSummary', '')[:300]}"
        for one in violations
        if one["impact"] in IMPACTS[IMPACTS.index(least) :]
    ]
