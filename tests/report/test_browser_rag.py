"""The report of a golden set and of scored runs in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from embassay.report import write_report

from .conftest import turn_to

pytestmark = pytest.mark.browser
VIEWS = ("overview", "golden", "score", "method")
Go = Callable[..., Any]


@pytest.fixture(scope="module")
def report(golden_run: Path, score_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of both."""
    return write_report([golden_run, score_run], out=tmp_path_factory.mktemp("rag") / "report.html")


@pytest.fixture
def go(visit: Go, report: Path) -> Go:
    return partial(visit, report)


def test_views_open_one_at_a_time_and_stay_inside_the_page(go: Go) -> None:
    """From 320 pixels on nothing scrolls sideways; every view has one heading; texts are 13 pixels or more."""
    page = go("overview")
    for view in VIEWS:
        turn_to(page, view)
        assert page.locator(".view:not([hidden]) h1").count() == 1
        for width in (320, 860):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (view, width)
        page.set_viewport_size({"width": 1232, "height": 900})
        tiny = page.evaluate(
            f"[...document.querySelectorAll('#{view} *')].filter(one => [...one.childNodes].some(node => "
            "node.nodeType === 3 && node.textContent.trim()) && parseFloat(getComputedStyle(one).fontSize) < 13)"
            ".map(one => one.outerHTML.slice(0, 80))"
        )
        assert tiny == []


def test_tables_are_sorted_and_passages_are_in_the_reading_serif(go: Go) -> None:
    """A heading is a button; data and our words do not share a type."""
    page = go("score")
    page.locator("#ceilings th button").first.click()
    values = page.eval_on_selector_all(
        "#ceilings tbody tr", "rows => rows.map(row => Number(row.cells[2].dataset.v.split(',')[0]))"
    )
    assert values == sorted(values, reverse=True)
    turn_to(page, "golden")
    assert "Charter" in page.locator(".finals .data").first.evaluate("one => getComputedStyle(one).fontFamily")


def test_without_a_script_and_in_print_everything_follows(go: Go) -> None:
    """All views stand one after the other; on A4 nothing is cut."""
    page = go("", java_script_enabled=False)
    assert all(page.locator(f"#{view} h1").is_visible() for view in VIEWS)
    page = go("score", width=703)
    page.emulate_media(media="print")
    assert all(page.locator(f"#{view} h1").is_visible() for view in VIEWS)
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
