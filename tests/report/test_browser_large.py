"""The explorer over a run of ten thousand documents and six systems: what is left out is said, and little is drawn."""

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
DRAWN = """(act) => {
  const seen = new MutationObserver(() => {});
  seen.observe(document.body, { subtree: true, childList: true });
  if (act === "move") move(1); else change(act);
  const added = seen.takeRecords().flatMap((one) => [...one.addedNodes]).filter((one) => one.nodeType === 1);
  seen.disconnect();
  const all = added.flatMap((one) => [one, ...one.querySelectorAll("*")]);
  return [all.length, now.i, all.filter((one) => one.matches("#item-list li")).length];
}"""
"""Acts, and gives the elements drawn anew by the time it returns, the item shown, and the rows among them."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Made(systems=SYSTEMS, tasks=("robustness",), documents=10_000)
    return write_report(write_run(tmp_path_factory.mktemp("large") / "run", made))


def test_it_says_what_it_leaves_out(visit: Go, report: Path) -> None:
    """Two thousand of the worst and as many by chance, inside ten megabytes; sixty rows are drawn."""
    page = visit(report, "items")
    page.wait_for_selector("#item-list li")
    said = page.locator("#items").get_by_text("4,000 of 10,000 documents, half of them the worst by every measure")
    assert said.is_visible()
    assert page.evaluate("JSON.stringify(items).length") < 10_000_000
    assert page.locator("#item-list li").count() == 60
    assert "4000 documents" in page.locator("#item-count").inner_text()


def test_an_act_draws_little_and_at_once(visit: Go, report: Path) -> None:
    """Filter, order, system and item: what is seen is there when the act returns, sixty rows of it at most, and a step
    to the next item draws that item alone."""
    page = visit(report, "items")
    page.wait_for_selector("#item-list li")
    acts: list[dict[str, Any]] = [
        {"q": "fish"}, {"q": ""}, {"order": "all"}, {"order": "difference"}, {"b": 3}, {"b": 2},
        {"bin": "4"}, {"bin": ""},
    ]  # fmt: skip
    for act in acts:
        drawn, item, rows = page.evaluate(DRAWN, act)
        assert 0 < drawn < 1_500, act
        assert rows <= 60, act
        assert page.locator("#item h2 bdi").inner_text() == item, act
    drawn, item, rows = page.evaluate(DRAWN, "move")
    assert 0 < drawn < 500
    assert rows == 0
    assert page.locator("#item h2 bdi").inner_text() == item
