"""The report of the demo of all five protocols, as `embassay demo` writes it: its size and its elements."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import turn_to

pytestmark = [pytest.mark.slow, pytest.mark.browser]
BYTES = 440_000
NODES = 6_700
"""The design asks for under 5,000 of ten pages, about 470 each; the report has fourteen, and HTEB's tables beside
PTEB's. What is left are cells of tables with their marks, of which none repeats another: systems stand side by side in
one table where they had one each, and what runs share is said once."""


@pytest.fixture
def page(visit: Callable[..., Any], demo: Any) -> Any:
    return visit(demo.folder / "report.html", "")


def test_its_last_table_and_its_report_agree(page: Any, demo: Any) -> None:
    """Every figure with interval and rank that the demo prints at its end stands in the overview and on the card."""
    from embassay.cli.demo import HEADED
    from embassay.report.headlines import format_headline_value_and_rank, iterate_headlines_of_runs
    from embassay.report.runs import read_report_runs

    said = demo.said
    found = list(iterate_headlines_of_runs(read_report_runs([demo.folder / name for name in HEADED])))
    assert [one.run for one in found] == ["SAGE", "PTEB", "HTEB", "RAG", "HUME"]
    end = said[said.rindex("\nSystem ") - 1_500 :]
    table = page.inner_text("#together")
    compared = 0
    for run in found:
        for name, leader in run.leaders.items():
            value, rank = format_headline_value_and_rank(run, name)
            if name not in table or leader.value.value is None:
                continue
            assert re.search(rf"^{re.escape(name)} .*{re.escape(value)} +{re.escape(rank)}(?: |$)", end, re.M), name
            row = page.locator("#together tr", has=page.locator(f"th a:text-is('{name}')")).inner_text()
            ranked = f"\nrank {leader.rank_range}" if leader.rank else ""
            assert f"{leader.value.text}\n{leader.value.interval}{ranked}" in row
            card = page.locator(".model", has=page.locator(f"h2:text-is('{name}')"))
            if leader.rank:
                parts = f"{leader.value.text}\t{leader.value.interval}\trank {leader.rank_range}"
                rows = "table => [...table.rows].map(row => [...row.cells].map(one => one.textContent).join('\\t'))"
                assert any(one.endswith(parts) for one in card.locator(".standing").evaluate(rows))
            compared += 1
    assert compared > 20


def test_it_is_small(demo: Any) -> None:
    """Everything in one file: pages, style, script and items."""
    assert (demo.folder / "report.html").stat().st_size < BYTES


def test_it_has_few_elements_on_opening(page: Any) -> None:
    """Of all views together; what the script adds to a view is added when it is first shown."""
    assert page.evaluate("document.querySelectorAll('*').length") < NODES


def test_a_view_costs_little_more_than_it_holds(page: Any) -> None:
    """Opening every view adds buttons and fields, not a second page."""
    before = page.evaluate("document.querySelectorAll('*').length")
    for place in page.eval_on_selector_all(".top nav a", "all => all.map(one => one.hash)"):
        turn_to(page, place[1:])
    assert page.evaluate("document.querySelectorAll('*').length") < before + 1_200


def test_the_explorer_opens_on_a_difference(page: Any) -> None:
    """On the first group in which the two systems differ, not on one where there is nothing to see."""
    turn_to(page, "items")
    assert float(page.locator("#item-list b").first.inner_text().replace("−", "-")) != 0
    page.evaluate("() => { location.hash = 'items?g=0'; }")
    page.wait_for_function("document.querySelector('#item-fields select').value === '0'")
