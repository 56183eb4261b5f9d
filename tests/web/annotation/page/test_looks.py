"""Every view in light and dark, on a phone and at a desk: readable, reachable, nothing to scroll sideways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chromium import COLOURS, axe_findings

pytestmark = [pytest.mark.browser, pytest.mark.slow]
VIEWS = (
    "welcome", "tasks", "told/emotion", "practice/emotion/0", "item/pairs/0", "item/halves/0", "item/emotion/0",
    "item/tones/0", "item/news/0", "item/arabic/0", "sort/topics", "check/pairs",
)  # fmt: skip
DIALOGS = ("Keys", "Settings", "Flag")


def _serious(page: Any, scheme: str) -> list[str]:
    pytest.importorskip("axe_playwright_python")
    tags = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
    return axe_findings(page, only=COLOURS if scheme == "dark" else tags, least="moderate")


def _with_answers(person: Any) -> None:
    """Some answers, so that views show what they show then."""
    person.at("item/pairs/0")
    person.press("2")
    person.at("item/news/0")
    person.press("1", "2")
    person.at("item/emotion/0")
    person.press("5")
    person.at("sort/topics")
    person.type("stars")
    person.press("Enter", "1")
    person.is_saved()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(serve: Callable[..., Any], visit: Callable[..., Any], scheme: str) -> None:
    """No view and no dialog has a finding of WCAG 2.2 A or AA; in dark, where only colours differ, none on colours."""
    person = visit(serve().link, color_scheme=scheme)
    found = {"welcome": _serious(person.page, scheme)}
    _with_answers(person)
    for view in VIEWS:
        person.at(view)
        found[view] = _serious(person.page, scheme)
    person.at("item/pairs/0")
    for name in DIALOGS:
        person.page.get_by_role("button", name=name).first.click()
        person.page.wait_for_selector("dialog[open]")
        found[name] = _serious(person.page, scheme)
        person.press("Escape")
    assert {view: one for view, one in found.items() if one} == {}


def test_nothing_scrolls_sideways(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    """No view is wider than the window, down to a desk at 400% zoom, and what is tapped is big enough."""
    person = visit(serve().link)
    _with_answers(person)
    wide, small = {}, {}
    for view in VIEWS:
        for width, height in ((320, 640), (390, 780), (1232, 800), (320, 256)):
            person.page.set_viewport_size({"width": width, "height": height})
            # A view is made for the window that it opens in.
            person.at("tasks" if view != "tasks" else "welcome")
            person.at(view)
            extent = person.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if extent > 0:
                wide[view, width] = extent
            small[view, width] = person.page.evaluate(
                """() => [...document.querySelectorAll('button, .option, input[type=text], .choice, summary')]
                  .filter((e) => e.offsetParent !== null && !e.closest('.links') && innerWidth < 600)
                  .map((e) => [e.innerText, e.getBoundingClientRect()])
                  .filter(([, box]) => box.width < 43.9 || box.height < 43.9)
                  .map(([text, box]) => `${text} ${box.width}x${box.height}`)"""
            )
    assert wide == {}
    assert {view: one for view, one in small.items() if one} == {}


def test_the_dock_never_moves(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    """The answers stand at the same place for every item and before and after a choice."""
    person = visit(serve().link, width=390, height=780)
    for task, keys in (("pairs", "24"), ("halves", "2"), ("emotion", "15"), ("tones", "1"), ("news", "12")):
        person.at(f"item/{task}/0")
        tops = {person.page.evaluate("document.querySelector('#dock').getBoundingClientRect().top")}
        for key in keys:
            person.press(key)
            tops.add(person.page.evaluate("document.querySelector('#dock').getBoundingClientRect().top"))
        person.press("ArrowRight")
        tops.add(person.page.evaluate("document.querySelector('#dock').getBoundingClientRect().top"))
        person.at(f"item/{task}/1")
        tops.add(person.page.evaluate("document.querySelector('#dock').getBoundingClientRect().top"))
        assert len(tops) == 1, task


@pytest.mark.parametrize("width", [390, 900])
def test_the_dock_of_groups_never_moves(serve: Callable[..., Any], visit: Callable[..., Any], width: int) -> None:
    """Also while names are typed, groups appear and texts are chosen."""
    person = visit(serve("topics").link + "#sort/topics", width=width)
    person.page.wait_for_selector(".card")
    top = "document.querySelector('#dock').getBoundingClientRect().top"
    tops = {person.page.evaluate(top)}
    for text in ("stars", "a rather long name for a group of papers", "third"):
        person.type(text)
        tops.add(person.page.evaluate(top))
        person.press("Enter", "ArrowDown")
        tops.add(person.page.evaluate(top))
    person.press("1", "Backspace")
    tops.add(person.page.evaluate(top))
    person.page.locator(".group .card").first.click()
    tops.add(person.page.evaluate(top))
    person.page.get_by_role("button", name="Take out").click()
    tops.add(person.page.evaluate(top))
    assert person.page.locator(".unsorted h2").inner_text() == "To sort: 4 left"
    assert max(tops) - min(tops) < 0.5


def test_right_to_left(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    """Arabic texts say their language and run from the right; the page around them does not."""
    person = visit(serve("arabic").link + "#item/arabic/0")
    person.page.wait_for_selector(".data")
    data = person.page.locator(".data p").first
    assert person.page.locator(".data").first.get_attribute("lang") == "ar"
    assert data.evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert person.page.locator("#dock").evaluate("e => getComputedStyle(e).direction") == "ltr"
    box, text = data.evaluate("""e => {
      const range = document.createRange();
      range.selectNodeContents(e);
      return [e.getBoundingClientRect().right, range.getBoundingClientRect().right];
    }""")
    assert abs(box - text) < 2


def test_focus_is_seen(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    """Whatever Tab reaches is not under the dock or the pinned header, and has a ring."""
    person = visit(serve().link + "#sort/topics", height=500)
    person.page.wait_for_selector(".card")
    hidden = []
    for _ in range(30):
        person.page.keyboard.press("Tab")
        found = person.page.evaluate("""() => {
          const e = document.activeElement, box = e.getBoundingClientRect();
          if (e === document.body) return '';
          const at = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
          const ring = getComputedStyle(e).outlineStyle !== 'none';
          return (e.contains(at) || at?.contains(e)) && ring ? '' : e.outerHTML.slice(0, 90);
        }""")
        if found:
            hidden.append(found)
    assert hidden == []


def test_theme_and_motion(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    """The chosen colours win over the system's and are there again after a reload; no motion when none is asked."""
    person = visit(serve("pairs").link + "#item/pairs/0", color_scheme="light", reduced_motion="reduce")
    person.page.wait_for_selector(".option")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = person.page.evaluate(ground)
    person.page.get_by_role("button", name="Settings").click()
    person.page.get_by_label("Dark").check()
    dark = person.page.evaluate(ground)
    assert dark != light
    person.settle()
    person.page.reload()
    person.page.wait_for_selector(".option")
    assert person.page.evaluate(ground) == dark
    seconds = "parseFloat(getComputedStyle(e).transitionDuration)"
    moves = f"[...document.querySelectorAll('*')].filter(e => {seconds} > 0).length"
    assert person.page.evaluate(moves) == 0
