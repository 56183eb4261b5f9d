"""The explorer over a run of ten thousand documents and six systems: what it leaves out is said, and it stays quick."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embassay.report import write_report

from .conftest import Made, write_run

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Go = Callable[..., Any]
SYSTEMS = {f"system-{i}": "embedding" if i % 2 else "classical" for i in range(6)}
SECONDS = """(act) => { const start = performance.now(); change(act); document.body.offsetHeight;
  return (performance.now() - start) / 1000; }"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Made(systems=SYSTEMS, tasks=("robustness",), documents=10_000)
    return write_report(write_run(tmp_path_factory.mktemp("large") / "run", made))


def test_it_says_what_it_leaves_out(visit: Go, report: Path) -> None:
    """Two thousand of the worst and as many by chance, inside ten megabytes; sixty rows are drawn."""
    page = visit(report, "items")
    page.wait_for_selector("#item-list li")
    said = page.locator("#items").get_by_text(
        "4,000 of 10,000 documents, one half the worst by every measure"
    )
    assert said.is_visible()
    assert page.evaluate("JSON.stringify(items).length") < 10_000_000
    assert page.locator("#item-list li").count() == 60
    assert "4000 documents" in page.locator("#item-count").inner_text()


def test_it_stays_quick(visit: Go, report: Path) -> None:
    """Filter, order, system and item, each the quickest of three: 50 ms on a quiet machine, some more on a busy one."""
    page = visit(report, "items")
    page.wait_for_selector("#item-list li")
    acts: list[dict[str, Any]] = [
        {"q": "fish"}, {"q": ""}, {"order": "all"}, {"order": "difference"}, {"b": 3}, {"b": 2},
        {"bin": "4"}, {"bin": ""},
    ]  # fmt: skip
    # Each act undoes the one before: every round is work anew.
    rounds = [[page.evaluate(SECONDS, act) for act in acts] for _ in range(3)]
    took = [min(times) for times in zip(*rounds, strict=True)]
    assert max(took) < 0.2, took
    step = (
        "(() => { const start = performance.now(); move(1); return (performance.now() - start) / 1000; })()"
    )
    assert min(page.evaluate(step) for _ in range(5)) < 0.1
