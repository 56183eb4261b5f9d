"""The report of the demo of all four protocols, as `embassay demo` writes it: its size, its elements, its speed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.browser]
BYTES = 400_000
NODES = 5_400
"""The design asks for under 5,000 of ten pages, about 470 each; the report has thirteen. What is left are cells of
tables with their marks, of which none repeats another: systems stand side by side in one table where they had one each,
and what runs share is said once."""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The report of a demo made here, and what was printed; EMBASSAY_DEMO names the folder of one that is there
    already."""
    made = os.environ.get("EMBASSAY_DEMO")
    folder = Path(made) if made else tmp_path_factory.mktemp("demo") / "out"
    command = [sys.executable, "-m", "embassay", "demo", "--out", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, timeout=1_800)
    return (folder / "report.html").absolute(), done.stdout.decode()


@pytest.fixture
def demo(printed: tuple[Path, str]) -> Path:
    """The report."""
    return printed[0]


@pytest.fixture
def page(browser: Any, demo: Path) -> Any:
    opened = browser.new_context(offline=True).new_page()
    opened.goto(demo.as_uri())
    return opened


def test_its_last_table_and_its_report_agree(page: Any, printed: tuple[Path, str]) -> None:
    """Every figure with interval and rank that the demo prints at its end stands in the overview and on the card."""
    from embassay.cli.demo import HEADED
    from embassay.report.gathered import read_runs
    from embassay.report.headlines import cells
    from embassay.report.leading import leading_of

    report, said = printed
    found = list(leading_of(read_runs([report.parent / name for name in HEADED])))
    assert [one.run for one in found] == ["SAGE", "PTEB", "RAG", "HUME"]
    end = said[said.rindex("\nSystem ") - 1_500 :]
    table = page.inner_text("#together")
    compared = 0
    for run in found:
        for name, leader in run.leaders.items():
            value, rank = cells(run, name)
            if name not in table or leader.value.value is None:
                continue
            assert re.search(
                rf"^{re.escape(name)} .*{re.escape(value)} +{re.escape(rank)}(?: |$)", end, re.M
            ), name
            row = page.locator("#together tr", has=page.locator(f"th a:text-is('{name}')")).inner_text()
            ranked = f"\nrank {leader.placed}" if leader.rank else ""
            assert f"{leader.value.text}\n{leader.value.interval}{ranked}" in row
            card = page.locator(".model", has=page.locator(f"h2:text-is('{name}')"))
            if leader.rank:
                parts = f"{leader.value.text}\t{leader.value.interval}\trank {leader.placed}"
                rows = "table => [...table.rows].map(row => [...row.cells].map(one => one.textContent).join('\\t'))"
                assert any(one.endswith(parts) for one in card.locator(".standing").evaluate(rows))
            compared += 1
    assert compared > 20


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


def test_the_explorer_opens_on_a_difference(page: Any) -> None:
    """On the first group in which the two systems differ, not on one where there is nothing to see."""
    page.evaluate("() => { location.hash = 'items'; }")
    page.wait_for_selector("#item-list li")
    assert float(page.locator("#item-list b").first.inner_text().replace("−", "-")) != 0
    page.evaluate("() => { location.hash = 'items?g=0'; }")
    page.wait_for_function("document.querySelector('#item-fields select').value === '0'")
