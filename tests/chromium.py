"""The browser of tests and benchmarks: which one, and opening it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
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
