"""Every view in light and dark, on a phone and at a desk, on paper and in forced colours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chromium import COLOURS

from .conftest import AXE, serious, turn_to
from .serving import Served

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Visit = Callable[..., Any]
VIEWS = ("#ranking", "#ranking?task=retrieval", "#ranking?find=brich", "#pareto", "#compare", "#data", "#boards")


def card(served: Served) -> str:
    return f"{served.board_url}system?name={served.made.names[4]}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(served: Served, visit: Visit, scheme: str) -> None:
    """No view, no open menu, no card and no error page has a finding; in dark, where only colours differ, none on
    colours."""
    page = visit(served.board_url, color_scheme=scheme)
    only = COLOURS if scheme == "dark" else AXE
    found = {}
    for view in VIEWS:
        turn_to(page, view)
        found[view] = serious(page, only)
    turn_to(page, "#ranking")
    for name in ("Columns", "Download", "Copy"):
        page.locator("summary", has_text=name).click()
        found[name] = serious(page, only)
    for address in (card(served), served.url + "b/nothing/"):
        page.goto(address)
        found[address] = serious(page, only)
    assert {view: one for view, one in found.items() if one} == {}


def test_nothing_scrolls_sideways(served: Served, visit: Visit) -> None:
    """Wide tables scroll in their own named frame, which the keyboard reaches; targets are 24 px or more."""
    page = visit(served.board_url)
    wide, small = {}, {}
    for view in (*VIEWS, None):
        if view is None:
            page.goto(card(served))
        else:
            turn_to(page, view)
        for width in (320, 390, 1232):
            page.set_viewport_size({"width": width, "height": 900})
            extent = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if extent > 0:
                wide[view, width] = extent
            small[view, width] = page.evaluate("""() => [...document.querySelectorAll('button, select, input, summary')]
              .filter((e) => e.checkVisibility() && !e.closest('.check'))
              .map((e) => [e.textContent || e.dataset.key, e.getBoundingClientRect()])
              .filter(([, box]) => box.height < 23.9 || box.width < 23.9)
              .map(([text, box]) => `${text} ${box.width}x${box.height}`)""")
            mute = page.eval_on_selector_all(
                ".frame:not([tabindex='0'][aria-label])",
                "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerHTML.slice(0, 80))",
            )
            assert mute == [], (view, width)
    assert wide == {}
    assert {view: one for view, one in small.items() if one} == {}


def test_the_table_needs_no_scrolling_at_a_desk(served: Served, visit: Visit) -> None:
    """Five tasks fit beside rank, name and score."""
    page = visit(served.board_url)
    assert page.evaluate("document.querySelector('#frame').scrollWidth <= document.querySelector('#frame').clientWidth")


def test_the_chosen_score_is_read_whole(served: Served, visit: Visit) -> None:
    """The list is as wide as what is chosen in it; what is too long for a phone stands whole over the table."""
    page = visit(served.board_url)
    for width in (390, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        if width == 390:
            page.get_by_role("button", name="Filters").click()
        for name in ("Score", "Show"):
            field = page.get_by_label(name, exact=True)
            longest = "list => [...list.options].sort((a, b) => b.text.length - a.text.length)[0].value"
            field.select_option(field.evaluate(longest))
            room = """list => {
              const drawn = document.createElement('canvas').getContext('2d'), style = getComputedStyle(list);
              drawn.font = style.font;
              return list.clientWidth - drawn.measureText(list.selectedOptions[0].text).width;
            }"""
            chosen = page.get_by_label(name, exact=True)
            is_whole = chosen.evaluate(room) >= 16
            if width == 390 and name == "Score" and not is_whole:
                words = chosen.evaluate("list => list.selectedOptions[0].text").split()
                head = page.locator("#board thead .lead")
                is_whole = head.is_visible() and all(word in head.inner_text() for word in words)
            assert is_whole, (width, name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_phone_folds_the_filters(served: Served, visit: Visit) -> None:
    """Find and score stay; the rest opens, and says how much is chosen."""
    page = visit(served.board_url, width=390)
    assert not page.get_by_label("Task", exact=True).is_visible()
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Task", exact=True).select_option(label="Retrieval")
    assert page.locator(".fold").inner_text() == "Filters (1)"
    assert page.locator(".fold").get_attribute("aria-expanded") == "true"
    row = page.locator("#board tr[data-name]").first
    assert row.locator(".rank").is_visible()
    assert row.locator(".bar .iv").is_visible()
    assert not row.locator(".task").first.is_visible()


def test_theme_is_kept(served: Served, visit: Visit) -> None:
    """The choice wins over the system's, stays after a reload and on other pages, before anything is drawn."""
    page = visit(served.board_url, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.get_by_label("Theme").select_option("dark")
    assert page.evaluate(ground) == "rgb(20, 24, 29)"
    page.goto(card(served))
    assert page.evaluate(ground) == "rgb(20, 24, 29)"
    page.get_by_label("Theme").select_option("")
    page.reload()
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


def test_it_prints_light_with_intervals(served: Served, visit: Visit) -> None:
    """On paper: no fields, intervals as numbers, all columns on the sheet."""
    page = visit(served.board_url, color_scheme="dark", width=794)
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 31, 38)"
    assert not page.locator("#bar").is_visible()
    assert page.locator("#board .ci").first.is_visible()
    assert page.evaluate("document.querySelector('#board').scrollWidth") <= 794
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


def test_forced_colours_keep_shapes(served: Served, visit: Visit) -> None:
    """Where the system's colours rule, marks are drawn in its text colour and kinds keep their shapes."""
    page = visit(served.board_url, forced_colors="active", color_scheme="dark")
    bar = "getComputedStyle(document.querySelector('#board u.iv.e'), '::before').backgroundColor"
    assert page.evaluate("getComputedStyle(document.body).color") == page.evaluate(bar)
    classical = "getComputedStyle(document.querySelector('th.c'), '::before').borderRadius"
    assert page.evaluate(classical) == "0px"


def test_nothing_moves_where_none_is_asked(served: Served, visit: Visit) -> None:
    """Reduced motion: no transition at all."""
    page = visit(served.board_url, reduced_motion="reduce")
    moves = "[...document.querySelectorAll('*')].filter(e => parseFloat(getComputedStyle(e).transitionDuration) > 0)"
    assert page.evaluate(f"{moves}.length") == 0
