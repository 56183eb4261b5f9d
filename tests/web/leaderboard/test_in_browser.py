"""Pages and server together, in a browser: behind a prefix, live, with a report in its sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from embassay.protocols.kernel import tables as numbers
from embassay.report import write_report
from embassay.web.leaderboard.folders import display_system_name
from leaderboard_runs import EARLY, Running, write_sage

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SCRIPT = "<img src=x onerror=alert(1)>"
LOCAL = "st:/srv/someone/models/own"


@pytest.fixture
def page(browser) -> Any:
    """A page whose complaints fail the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("dialog", lambda dialog: heard.append(f"dialog: {dialog.message}"))
    yield page
    context.close()
    assert heard == []


def test_a_page_follows_its_board(tmp_path, serve, page) -> None:
    """A cell that ends shows without loading the page again; comparison, card and downloads work below a prefix."""
    write_sage(tmp_path / "before", {"known": 0.6, SCRIPT: 0.5, LOCAL: 0.4}, updated=EARLY)
    running = Running(tmp_path / "now", ["fresh"])
    server = serve(tmp_path, "--root-path", "/boards")
    base = f"http://127.0.0.1:{server.port}/boards/"
    page.goto(base)
    row = page.locator("#board tbody tr", has_text="fresh")
    running.end_cell("fresh", "preference", 0.8)
    value = numbers.format_score(server.until(lambda: server.board()["cells"]["preference"][-1][0]))
    assert value not in row.inner_text()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    row.get_by_text(value).first.wait_for(timeout=60_000)
    assert page.locator("img[src=x]").count() == 0
    assert page.get_by_text(SCRIPT).count() > 0
    assert "/srv/someone" not in page.content()
    board = server.board()["id"]
    for address in (
        f"b/{board}/",
        f"b/{board}/system?name=known",
        f"b/{board}/#a=known&b={display_system_name(LOCAL)}",
    ):
        page.goto(base + address)
        page.wait_for_load_state("networkidle")
        assert page.locator("h1").first.inner_text()


def test_a_report_works_in_its_sandbox(tmp_path, serve, page) -> None:
    """Its own script runs, its views change, and it asks for nothing."""
    write_sage(tmp_path / "r", {"one": 0.6, "two": 0.5})
    write_report(tmp_path / "r")
    server = serve(tmp_path)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"http://127.0.0.1:{server.port}/runs/r/report.html")
    assert page.evaluate("document.documentElement.classList.contains('js')")
    page.locator("nav a").nth(1).click()
    assert page.evaluate("origin") == "null"
    assert len(asked) == 1
