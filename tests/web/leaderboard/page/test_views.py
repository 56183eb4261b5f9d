"""Pareto, comparison, the card of a system, data and boards, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import turn_to, wait_until
from .made_board import HOSTILE, Made
from .serving import Served

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Visit = Callable[..., Any]


def test_the_frontier_is_that_of_the_numbers(served: Served, visit: Visit) -> None:
    """The systems named as frontier are exactly those that no other beats on both, in the plot and in the table."""
    page = visit(served.board_url + "#pareto?x=usd_per_million_tokens")
    board = served.made.board
    points = {
        one.label: (one.facts.usd_per_million_tokens, board.cells["overall"][one.index].value)
        for one in board.systems
        if one.facts.usd_per_million_tokens is not None and board.cells["overall"][one.index].value is not None
    }
    expected = {
        name for name, (x, y) in points.items()
        if not any(p <= x and q >= y and (p, q) != (x, y) for p, q in points.values())
    }  # fmt: skip
    rows = page.locator("#pareto tbody tr")
    found = {row.locator("th").inner_text() for row in rows.all() if "frontier" in row.inner_text()}
    assert found == expected
    assert 0 < len(expected) < len(points) == rows.count()
    assert page.locator("#pareto .plot circle.on, #pareto .plot rect.on").count() == len(expected)
    assert page.locator("#pareto .plot circle.off").count() == len(points) - len(expected)
    assert all("dominated by" in row.inner_text() for row in rows.all()[len(expected) :])


def test_the_frontier_turns_where_more_is_better(served: Served, visit: Visit) -> None:
    """Of texts per second more is better; the choice stands in the address."""
    page = visit(served.board_url + "#pareto")
    page.get_by_label("Against", exact=True).select_option(label="Texts per second")
    assert "x=texts_per_second" in page.url
    speed = {one.label: one.facts.texts_per_second for one in served.made.board.systems}
    first = page.locator("#pareto tbody th").first.inner_text()
    ranked = page.locator("#pareto tbody th").all_inner_texts()
    assert speed[first] == max(speed[name] for name in ranked)
    assert "slower" in page.locator("#pareto .lede").inner_text()


def test_nothing_to_set_against(serve: Callable[..., Served], visit: Visit) -> None:
    """Without prices, times and sizes the view says so."""
    made = Made(6)
    made.names = ["bm25", "jaccard", "random", "random", "random", "random"]
    page = visit(serve(made).board_url + "#pareto", alive=False)
    wait_until(page, "document.querySelector('#pareto').textContent.includes('a known price, time or size')")


def test_two_systems_side_by_side(served: Served, visit: Visit) -> None:
    """The differences are the server's; swapping turns what is asked for, words follow p and direction."""
    a, b = served.made.names[0], served.made.names[6]
    page = visit(served.board_url + f"#compare?a={a}&b={b}")
    page.wait_for_selector(".forest tbody tr")
    rows = {row.title: row for row in served.made.comparison(a, b).rows}
    lines = page.locator(".forest tbody tr")
    assert lines.count() == len(rows)
    for line in lines.all():
        cells = [cell.inner_text() for cell in line.locator("td").all()]
        row = rows[line.locator("th").inner_text()]
        sign = "+" if row.difference > 0 else "−"
        assert cells[3].startswith(f"{sign}{abs(row.difference):.3f}")
        beaten = f"{a} beats {b}" if row.difference > 0 else f"{b} beats {a}"
        assert cells[-1] == (beaten if row.p_adjusted < 0.05 else "cannot be told apart")
    assert page.locator(".forest u.zero").count() == len(rows)
    page.get_by_role("button", name="Swap").click()
    wait_until(page, f"document.querySelector('#compare h1').textContent.startsWith({b!r})")
    assert page.get_by_label("A", exact=True).input_value() == b
    assert f"a={b}" in page.url


def test_a_comparison_with_a_gap_gives_its_reason(served: Served, visit: Visit) -> None:
    """Where one has no value the row says why; the same system twice is nothing to compare."""
    page = visit(served.board_url + "#compare?a=bm25&b=iris-api")
    page.wait_for_selector(".forest tbody tr")
    assert "out of memory" in page.locator(".forest tbody tr", has_text="Overall").inner_text()
    page.get_by_label("A", exact=True).select_option("iris-api")
    wait_until(page, "document.querySelector('#compare').textContent.includes('same system')")


def test_the_card_of_a_system(served: Served, visit: Visit) -> None:
    """Where it stands on every column, what is known of it, and ways on; all without scripts."""
    system = served.made.board.systems[2]
    page = visit(served.board_url, alive=False, java_script_enabled=False)
    page.get_by_role("link", name=system.label).click()
    assert page.locator("h1").inner_text() == system.label
    assert page.locator("#overview tbody tr").count() == 6
    assert page.locator("#details tbody tr").count() == 15
    assert "Apache-2.0" in page.locator("dl").inner_text() or system.kind == "classical"
    page.get_by_role("link", name=served.made.board.title).first.click()
    assert page.locator("#board").is_visible()


def test_data_versions_and_boards(served: Served, visit: Visit) -> None:
    """Datasets with language and n, runs, history, all boards and what cannot be read."""
    page = visit(served.board_url)
    page.get_by_role("link", name="Data", exact=True).click()
    assert page.locator("#data tbody").first.locator("tr").count() == 3
    assert "99aa00bb" in page.locator("#data").inner_text()
    page.get_by_role("link", name="Boards (3)").click()
    # The mark moves when the page hears of the new address, which may be after the table is there.
    page.locator("[aria-current=page]", has_text="Boards (3)").wait_for()
    assert page.locator("#boards tbody tr").count() == 3
    assert "the manifest cannot be read" in page.locator("#boards").inner_text()


def test_an_unknown_address_leads_back(served: Served, visit: Visit) -> None:
    """A page that is not there says so and names the way."""
    page = visit(served.url + "b/nothing/", alive=False)
    page.get_by_role("link", name="All boards").click()
    page.locator("#board").wait_for(state="visible")


def test_script_in_names_and_reasons_stays_text(serve: Callable[..., Served], visit: Visit) -> None:
    """In a model's name, a dataset's, a reason and a title: seen as it is, nothing runs, nothing is asked for."""
    server = serve(Made(hostile=True))
    page = visit(server.board_url)
    for place in ("#ranking", "#ranking?task=retrieval", "#pareto", "#compare", "#data", "#boards"):
        turn_to(page, place)
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 2
        assert page.evaluate("document.body.textContent.split('onerror=alert(1)').length") > 3, place
    assert not [path for path, *_ in server.asked if path.endswith("/x")]


def test_script_on_a_card_stays_text(serve: Callable[..., Served], visit: Visit) -> None:
    """The page of a system with such a name is reached by its link."""
    server = serve(Made(hostile=True))
    page = visit(server.board_url)
    page.locator("#board .system a", has_text="onerror").last.click()
    page.wait_for_selector("#overview")
    assert HOSTILE in page.locator("main").inner_text()
    assert page.locator("img").count() == 0
    page.get_by_role("link", name="Compare with another").click()
    page.wait_for_selector(".forest tbody tr")
    assert page.get_by_label("A", exact=True).input_value().startswith(HOSTILE[:20])


def test_limits_leave_what_keeps_them_and_count_what_says_nothing(served: Served, visit: Visit) -> None:
    """Size and price at most; whoever states none is left out, counted, and shown on request; all in the address."""
    board = served.made.board
    page = visit(served.board_url)
    page.locator("summary", has_text="Limits").click()
    page.get_by_label("Dimensions, at most").fill("384")
    page.get_by_label("Price per million tokens, at most").fill("0.5")
    wait_until(page, "location.hash.includes('usd_per_million_tokens')")
    asked = [one for one in board.systems if one.kind != "reference"]
    dims = {one.name: one.facts.dims for one in asked}
    usd = {one.name: one.facts.usd_per_million_tokens for one in asked}
    fits = {name for name in dims if None not in (dims[name], usd[name]) and dims[name] <= 384 and usd[name] <= 0.5}
    silent = {
        name for name in dims
        if None in (dims[name], usd[name]) and not (dims[name] or 0) > 384 and not (usd[name] or 0) > 0.5
    }  # fmt: skip
    assert fits
    assert silent
    references = len(board.systems) - len(asked)

    def wait_for_rows(n: int) -> None:
        wait_until(page, f"document.querySelectorAll('#board tbody tr:not(.group)').length === {n}")

    wait_for_rows(len(fits) + references)
    assert f"{len(silent)} without a price or dimensions are hidden." in page.locator("#shown").inner_text()
    address = page.url
    page.keyboard.press("Escape")  # the panel stands over the way back
    page.get_by_role("button", name="Show them").click()
    wait_for_rows(len(fits | silent) + references)
    assert page.locator("[data-fact=dims]").input_value() == "384"
    page.goto(address)
    wait_until(page, "document.querySelector('[data-fact=dims]')?.value === '384'")
    page.get_by_role("button", name="Clear filters").click()
    wait_for_rows(len(board.systems))
