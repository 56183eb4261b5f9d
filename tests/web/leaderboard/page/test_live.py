"""The page while the board changes: in place, small, and honest where nobody answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import WATCHED, names, settled, wait_until
from .made_board import Made
from .serving import Served

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Visit = Callable[..., Any]


@pytest.fixture
def server(serve: Callable[..., Served]) -> Served:
    return serve(Made(40))


@pytest.fixture
def page(server: Served, browser: Any) -> Any:
    """A page whose clock the test turns."""
    context = browser.new_context(viewport={"width": 1232, "height": 700})
    opened = context.new_page()
    opened.add_init_script(WATCHED)
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.clock.install()
    opened.goto(server.board_url)
    opened.clock.run_for(50)
    opened.wait_for_selector("[data-alive]", state="attached")
    yield opened
    context.close()
    assert complaints == []


def turn(page: Any, seconds: float) -> None:
    """Let time pass, and what it starts end."""
    page.clock.run_for(int(seconds * 1000))
    settled(page)
    page.clock.run_for(60)


def minute(page: Any) -> None:
    """A little more than one, in steps in which answers can come."""
    for _ in range(7):
        turn(page, 10.5)


def test_without_change_little_is_asked(server: Served, page: Any) -> None:
    """Every ten seconds one small question; what is known is not sent again."""
    turn(page, 10.5)
    server.asked.clear()
    for _ in range(3):
        turn(page, 10.5)
    assert [path.partition("?")[0] for path, *_ in server.asked] == [f"/api/boards/{server.made.board.id}/changes"] * 3
    assert {status for _, status, _ in server.asked} == {304}


def test_a_change_is_drawn_in_place(server: Served, page: Any) -> None:
    """A system that moves up stands where it belongs; places, ranks and values are those of a new page."""
    other = names(page)[20]
    server.made.move(other, 0.9)
    server.asked.clear()
    turn(page, 10.5)
    assert names(page)[0] == other
    (update,) = [size for path, status, size in server.asked if "/changes" in path and status == 200]
    assert update < 64_000
    text = "document.querySelector('#board').innerText"
    kept = page.evaluate(text)
    page.reload()
    page.clock.run_for(50)
    page.wait_for_selector("[data-alive]", state="attached")
    assert page.evaluate(text) == kept


def test_the_readers_row_stays(server: Served, page: Any) -> None:
    """Rows that come in above push nothing: what one reads stays at its height, with the focus."""
    row = page.locator("#board tr[data-name]").nth(25)
    name = row.get_attribute("data-name")
    row.locator("a").focus()
    page.evaluate("name => document.querySelector(`tr[data-name='${name}']`).scrollIntoView({block: 'center'})", name)
    at = "name => document.querySelector(`tr[data-name='${name}']`).getBoundingClientRect().top"
    before = page.evaluate(at, name)
    server.made.move(names(page)[35], 0.95)
    turn(page, 10.5)
    assert names(page).index(name) == 26
    assert abs(page.evaluate(at, name) - before) < 1
    assert page.evaluate("document.activeElement.closest('tr').dataset.name") == name


def test_a_choice_outlives_an_update(server: Served, page: Any) -> None:
    """Filter, sort, an open menu and a text being typed are as they were."""
    page.get_by_label("Find a system").type("large")
    page.locator("summary", has_text="Columns").click()
    shown = names(page)
    server.made.move(shown[-1], 0.9)
    page.get_by_label("Find a system").focus()
    turn(page, 10.5)
    assert names(page)[0] == shown[-1]
    assert set(names(page)) == set(shown)
    assert page.get_by_label("Find a system").input_value() == "large"
    assert page.evaluate("document.activeElement.type") == "search"
    assert page.locator(".tool[data-key=columns]").get_attribute("open") is not None


def test_announcements_are_rare(server: Served, page: Any) -> None:
    """Two changes within a minute are said once, politely; the next one after a minute is said again."""
    said = "document.querySelector('#said').textContent"
    minute(page)
    server.made.move(names(page)[5], 0.9)
    turn(page, 10.5)
    assert "Scores updated" in page.evaluate(said)
    page.evaluate("document.querySelector('#said').textContent = ''")
    server.made.move(names(page)[7], 0.91)
    turn(page, 10.5)
    assert names(page)[0] != ""
    assert page.evaluate(said) == ""
    minute(page)
    server.made.move(names(page)[9], 0.92)
    turn(page, 10.5)
    assert "Scores updated" in page.evaluate(said)
    assert page.locator("#said").get_attribute("aria-live") == "polite"


def test_a_server_that_is_gone(server: Served, page: Any) -> None:
    """After three missed updates the dot goes and the page says so; the data stay; it recovers by itself."""
    assert page.locator("#live").inner_text() == "● live"
    server.fails = True
    turn(page, 10.5)
    turn(page, 10.5)
    assert page.locator("#live").inner_text() == "● live"
    turn(page, 10.5)
    assert page.locator("#live").inner_text().startswith("◌ Last update ")
    assert page.locator("#live").inner_text().endswith("UTC, server not responding")
    assert len(names(page)) == 40
    server.fails = False
    server.made.move(names(page)[4], 0.9)
    turn(page, 10.5)
    assert page.locator("#live").inner_text() == "● live"


def test_a_newer_version_is_told(server: Served, page: Any) -> None:
    """When other data get results, the page keeps its own and links to the new one."""
    server.newer = "sage-77777777"
    minute(page)
    assert page.locator("#newer a").get_attribute("href").endswith("b/sage-77777777/")
    assert len(names(page)) == 40


def test_a_page_that_cannot_load_its_record_still_reads(server: Served, browser: Any) -> None:
    """The server's table is there before any script; when the record comes later the page comes alive."""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(WATCHED)
    page.clock.install()
    page.route("**/api/**", lambda route: route.abort())
    page.goto(server.board_url)
    page.clock.run_for(100)
    settled(page)
    assert page.locator("#board tbody tr").count() > 40
    page.unroute("**/api/**")
    for _ in range(3):
        turn(page, 3)
    wait_until(page, "document.querySelectorAll('#bar select').length > 1")
    context.close()
