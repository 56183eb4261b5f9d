"""The report of the demo of all four protocols, as `semblance demo` writes it: its size, its elements, its speed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.browser]
BYTES = 400_000
NODES = 6_300
"""The design asks for 5,000 of ten pages; the report has thirteen, and cards that say what each system is good at."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a demo made here; SEMBLANCE_DEMO names the folder of one that is there already."""
    made = os.environ.get("SEMBLANCE_DEMO")
    folder = Path(made) if made else tmp_path_factory.mktemp("demo") / "out"
    command = [sys.executable, "-m", "semblance", "demo", "--out", str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=1_800)
    return (folder / "report.html").absolute()


@pytest.fixture
def page(browser: Any, demo: Path) -> Any:
    opened = browser.new_context(offline=True).new_page()
    opened.goto(demo.as_uri())
    return opened


def test_it_is_small(demo: Path) -> None:
    """Everything in one file: pages, style, script and items."""
    assert demo.stat().st_size < BYTES


def test_it_has_few_elements_on_opening(page: Any) -> None:
    """Of all views together; what the script adds to a view is added when it is first shown."""
    assert page.evaluate("document.querySelectorAll('*').length") < NODES


def test_a_view_costs_little_more_than_it_holds(page: Any) -> None:
    """Opening every view adds buttons and fields, not a second page."""
    before = page.evaluate("document.querySelectorAll('*').length")
    for place in page.eval_on_selector_all(".top nav a", "all => all.map(one => one.hash)"):
        page.evaluate("place => { location.hash = place; }", place)
        page.wait_for_timeout(50)
    page.wait_for_selector("#item-list li", state="attached")
    assert page.evaluate("document.querySelectorAll('*').length") < before + 1_200
