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


def executable() -> str | None:
    """That of EMBASSAY_CHROMIUM, or the first on the path."""
    return os.environ.get("EMBASSAY_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


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


def axe_findings(
    page: Any, *, within: str | None = None, only: Sequence[str] = (), least: str = "minor"
) -> list[str]:
    """What axe finds on a page, or within a selector of it, from an impact upwards; `only` names rules or tags."""
    from axe_playwright_python.sync_playwright import Axe

    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(Axe().axe_script)
    options = {"resultTypes": ["violations"], **({"runOnly": list(only)} if only else {})}
    found = page.evaluate("([within, options]) => axe.run(within || document, options)", [within, options])
    assert only or len(found["passes"]) > 3, "axe looked at nothing"
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0].get('failureSummary', '')[:300]}"
        for one in found["violations"]
        if one["impact"] in IMPACTS[IMPACTS.index(least) :]
    ]
