"""Several boards on the real server: overview, what people agree on, limits; on a phone and at a desk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from chromium import COLOURS
from leaderboard_runs import STUDY, write_hume, write_sage

from .conftest import AXE, columns, names, serious, turn_to, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TRUST = {"topic": "high", "news": "low", "groups": "medium", "pairs": "high"}
LEVELS = {
    "flat": dict.fromkeys(STUDY, 0.6),
    "sure": {"topic": 0.8, "news": 0.3, "groups": 0.3, "pairs": 0.8},
    "gap": {"topic": 0.7, "groups": 0.9, "pairs": 0.7},
}
FACTS = {
    "flat": {"dims": 384, "weights_mb": 90.0}, "sure": {"dims": 1024, "weights_mb": 1300.0}, "gap": {"dims": 256},
}  # fmt: skip
EXTENT = "document.documentElement.scrollWidth - innerWidth"
SCROLLING = """[...document.querySelectorAll('.frame, nav')].filter(e => e.checkVisibility()
  && e.scrollWidth > e.clientWidth).map(e => e.ariaLabel)"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study of few items, and two versions of SAGE."""
    runs = tmp_path / "runs"
    write_hume(runs / "study", LEVELS, TRUST, items=7, facts=FACTS)
    levels = {f"some-organisation-model-{i}": 0.7 - i / 50 for i in range(9)}
    kinds = {"bm25": "classical", "random": "reference"}
    facts = {"dims": 384, "licence": "MIT"}
    write_sage(runs / "sage", levels | {"bm25": 0.4, "random": 0.2}, kinds=kinds, facts=facts)
    write_sage(runs / "old", {"one": 0.6}, fingerprint="old", updated="2026-10-01T08:00:00+00:00")
    return runs


def _boards(base: str) -> dict[str, str]:
    """The newest boards' addresses by protocol."""
    with urlopen(f"{base}api/boards") as answer:
        told = json.load(answer)["boards"]
    return {one["protocol"]: f"{base}b/{one['id']}/" for one in told if one["newer"] is None}


def test_what_people_agree_on_alone(base: str, visit: Callable[..., Any]) -> None:
    """A switch that the keyboard turns; order, columns and words follow, the address keeps it; not on other boards."""
    boards = _boards(base)
    page = visit(boards["hume"])
    assert names(page) == ["flat", "sure", "gap"]
    switch = page.get_by_role("switch", name="High agreement only")
    switch.focus()
    page.keyboard.press("Space")
    wait_until(page, "document.querySelector('#board tbody tr').dataset.name === 'sure'")
    assert page.url.endswith("#ranking?agree=high")
    assert switch.is_checked()
    assert page.evaluate("document.activeElement.dataset.key") == "agree"
    assert names(page) == ["sure", "gap", "flat"]
    assert columns(page) == ["Overall, high agreement", "Classification · topic", "STS · pairs"]
    assert page.locator("#board td.rank").all_inner_texts() == [f"{i}\nn = 14" for i in (1, 2, 3)]
    assert "over 2 of 4 datasets" in page.locator("#shown").inner_text()
    assert "mean of 2 of 4 datasets" in page.locator("#board th.lead").inner_text()
    assert serious(page, AXE) == []
    again = visit(page.url)
    wait_until(again, "document.querySelector('#board tbody tr').dataset.name === 'sure'")
    again.get_by_role("button", name="Show all datasets").click()
    assert again.url.endswith("#ranking")
    assert names(again) == ["flat", "sure", "gap"]
    assert visit(boards["sage"]).get_by_role("switch").count() == 0


def test_where_people_agree_nowhere_nothing_is_hidden(folder: Path, base: str, visit: Callable[..., Any]) -> None:
    """And that is said."""
    write_hume(folder / "study", LEVELS, dict.fromkeys(STUDY, "low"), items=7)
    page = visit(_boards(base)["hume"], alive=False)
    board = page.evaluate("document.body.dataset.board")
    asked = f"""fetch('{base}api/boards/{board}').then(answer => answer.json())
      .then(told => told.columns.some(one => one.parts.length))"""
    for _ in range(200):
        if not page.evaluate(asked):
            break
        page.wait_for_timeout(50)
    page.goto(f"{base}b/{board}/#ranking?agree=high")
    page.reload()
    page.wait_for_selector("[data-alive]", state="attached")
    assert names(page) == ["flat", "sure", "gap"]
    assert "No dataset on this board has high agreement" in page.locator("#shown").inner_text()


def test_a_limit_of_memory(base: str, visit: Callable[..., Any]) -> None:
    """Megabytes of weights and of vectors; whoever states none is counted and shown on request."""
    page = visit(_boards(base)["hume"])
    page.locator("summary", has_text="Limits").click()
    page.get_by_label("Memory for weights, at most").fill("500")
    wait_until(page, "document.querySelectorAll('#board tr[data-name]').length === 1")
    assert names(page) == ["flat"]
    assert "1 without a weight size is hidden." in page.locator("#shown").inner_text()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Show it").click()
    assert set(names(page)) == {"flat", "gap"}
    turn_to(page, "#ranking?most=vectors_mb:1100")
    assert names(page) == ["gap"]


def test_ranks_are_drawn_on_one_scale(base: str, visit: Callable[..., Any]) -> None:
    """The mark of the first is the same on the overview, on its board with and without scripts, and on its card."""
    page = visit(base, alive=False)
    mark = "u => u.className"
    drawn = {
        row.locator("a").inner_text(): row.locator("u.rk").evaluate(mark)
        for row in page.locator(".overview tbody tr").all()
    }
    assert len(drawn) == 2
    for title, first in drawn.items():
        for scripts in (False, True):
            board = visit(base, alive=False, java_script_enabled=scripts)
            board.locator(".overview").get_by_role("link", name=title, exact=True).click()
            board.wait_for_selector("[data-alive]" if scripts else "#board", state="attached")
            assert board.locator("#board u.rk").first.evaluate(mark) == first
            board.locator("#board .system a").first.click()
            board.wait_for_selector("#overview")
            assert board.locator("#overview u.rk").first.evaluate(mark) == first


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_nothing_overflows(base: str, visit: Callable[..., Any], width: int) -> None:
    """Neither page nor navigation; on a phone one list of the overview scrolls, and says so; at a desk no table does,
    and Columns stands in the row of the fields."""
    page = visit(base, alive=False, width=width)
    assert page.evaluate(EXTENT) <= 0
    assert page.evaluate(SCROLLING) == (["Boards"] if width == 390 else [])
    assert page.locator(".sideways").is_visible() == (width == 390)
    if width == 390:
        edge = page.locator("nav a", has_text="All boards").bounding_box()
        assert edge["x"] + edge["width"] <= 390
        assert page.locator(".overview tr").nth(1).evaluate("row => getComputedStyle(row).display") == "block"
    for address in _boards(base).values():
        page.goto(address)
        page.wait_for_selector("[data-alive]", state="attached")
        assert page.evaluate(EXTENT) <= 0
        assert page.evaluate(SCROLLING) == []
        if width == 390:
            page.get_by_role("button", name="Filters").click()
        for tool in ("Limits", "Columns", "Download", "Copy"):
            page.locator("#bar summary", has_text=tool).click()
            assert page.evaluate(EXTENT) <= 0
            page.keyboard.press("Escape")
        if width == 1440:
            tops = [
                page.locator(one).bounding_box()
                for one in ("[data-key='open columns']", "[data-key=find]", "[data-key='open downloads']")
            ]
            assert len({round(box["y"] + box["height"]) for box in tops}) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_overview(base: str, visit: Callable[..., Any], scheme: str) -> None:
    """At a desk and on a phone."""
    for width in (390, 1440):
        page = visit(base, alive=False, width=width, color_scheme=scheme)
        assert serious(page, COLOURS if scheme == "dark" else AXE) == []


def test_few_items_are_said_on_the_overview(base: str, visit: Callable[..., Any]) -> None:
    """28 items of the study stand beside its rank, the 60 of SAGE do not."""
    page = visit(base, alive=False)
    every = page.locator(".overview tbody tr").all()
    rows = {"HUME" in row.inner_text(): row.locator(".places").inner_text() for row in every}
    assert rows[True].split() == ["1", "of", "2", "n", "=", "28"]
    assert "n =" not in rows[False]
