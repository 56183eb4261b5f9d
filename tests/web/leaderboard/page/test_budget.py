"""Two hundred systems with five hundred results each: what is sent, and what a press draws."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from embassay.web.leaderboard.page import read_static_files, render_board_page

from .conftest import names, wait_until
from .made_board import Made
from .serving import Served

pytestmark = [pytest.mark.browser, pytest.mark.slow]
KB = 1024
READY = "!document.querySelector('#board').textContent.includes('…')"
ACTS = {
    "sort": "document.querySelector(`[data-key='sort retrieval']`).click()",
    "find": """
      const input = document.querySelector('[data-key=find]');
      input.value = input.value ? '' : 'a';
      input.dispatchEvent(new Event('input'));
    """,
    "kind": "document.querySelector(`[data-key='kind embedding']`).click()",
}
ROWS = "[...document.querySelectorAll('#board tbody tr[data-name]')].map(row => row.dataset.name)"
WIDTHS = "[...document.querySelectorAll('#board thead th')].map(cell => Math.round(cell.getBoundingClientRect().width))"


@pytest.fixture(scope="module")
def large() -> Iterator[Served]:
    """200 systems; 5 tasks of 99 datasets, with their headlines 501 columns."""
    server = Served(Made(200, 99))
    yield server
    server.stop()


def test_the_page_is_small(large: Served) -> None:
    """The whole table zipped, and with it style and every script that it needs."""
    page = gzip.compress(render_board_page(large.made.board, large.made.boards, base="").encode(), 6)
    sizes = {name: len(gzip.compress(body, 6)) for name, body in read_static_files().items()}
    assert len(large.made.board.columns) * len(large.made.board.systems) > 100_000
    assert len(page) < 50 * KB
    assert sum(sizes.values()) < 40 * KB, sizes


@pytest.mark.parametrize("act", ACTS)
def test_a_press_is_answered_at_once(large: Served, visit: Callable[..., Any], act: str) -> None:
    """Sort, find and filter: when the press returns, the rows in sight are those asked for, some screens of 200 at
    most, and nobody was asked; the others follow."""
    page = visit(large.board_url)
    before = names(page)
    large.asked.clear()
    page.evaluate(f"() => {{ {ACTS[act]}; window.drawn = {ROWS}; }}")
    drawn = page.evaluate("drawn")
    assert drawn != before
    assert len(drawn) < 200
    wait_until(page, "!document.querySelector('#board').hasAttribute('aria-busy')")
    first = drawn[:20]
    assert names(page)[: len(first)] == first
    assert not [path for path, *_ in large.asked if "/api/" in path and "/changes" not in path]


def test_rows_out_of_sight_follow(large: Served, visit: Callable[..., Any]) -> None:
    """The rows in sight are there at once, all the others soon after, in the order asked for; the page stays where it
    was scrolled to, and columns keep their widths."""
    page = visit(large.board_url)
    before = names(page)
    page.evaluate("scrollTo(0, 900)")
    at_once = page.evaluate(
        """() => { document.querySelector("[data-key='sort name']").click();
        return [document.querySelectorAll('#board tbody tr[data-name]').length, scrollY, WIDTHS]; }""".replace(
            "WIDTHS", WIDTHS
        )
    )
    assert 20 < at_once[0] < 200
    assert at_once[1] == 900
    wait_until(page, "!document.querySelector('#board').hasAttribute('aria-busy')")
    assert sorted(names(page)) == sorted(before)
    assert all(abs(now - then) <= 1 for now, then in zip(page.evaluate(WIDTHS), at_once[2], strict=True))
    labels = page.eval_on_selector_all("#board tbody:first-of-type th.system a", "all => all.map(a => a.textContent)")
    assert labels == sorted(labels)


def test_many_columns_are_fetched_as_they_are_wanted(serve: Callable[..., Served], visit: Callable[..., Any]) -> None:
    """A task of 50 datasets shows twelve and says so; all of them on request, in parts of forty."""
    server = serve(Made(12, 50))
    page = visit(server.board_url + "#ranking?task=retrieval")
    assert page.locator("#board thead .task").count() == 12
    assert "12 of 50 columns shown" in page.locator("#shown").inner_text()
    wait_until(page, READY)
    asked = [path for path, *_ in server.asked if "/cells?" in path]
    assert sum(path.count("column=") for path in asked) == 12
    page.get_by_role("button", name="Show all columns").click()
    wait_until(page, f"document.querySelectorAll('#board thead .task').length === 50 && {READY}")
    asked = [path for path, *_ in server.asked if "/cells?" in path]
    assert sum(path.count("column=") for path in asked) == 50
    assert max(path.count("column=") for path in asked) <= 40


def test_a_long_table_is_cut_with_a_word(serve: Callable[..., Served], visit: Callable[..., Any]) -> None:
    """Over 300 rows: the first 300, and all on request; without scripts the number of the others."""
    server = serve(Made(330, 1))
    plain = visit(server.board_url, alive=False, java_script_enabled=False)
    assert re.match(r"30 more systems are in the CSV", plain.locator("#more").inner_text())
    page = visit(server.board_url)
    assert len(names(page)) == 300
    page.get_by_role("button", name="Show all 330 systems").click()
    assert len(names(page)) == 330
