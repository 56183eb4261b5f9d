"""Somebody who annotates a study in a browser, by keyboard, and knows what is right: for pages that ask for it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Known = dict[tuple[str, ...], Any]


def right_answers(study: Path) -> Known:
    """The texts of an item -> its gold."""
    gold = {row["id"]: row["gold"] for row in _rows(study / "gold.jsonl")}
    return {_texts(row["payload"]): gold[row["id"]] for row in _rows(study / "items.jsonl")}


def annotate(browser: Any, link: str, known: Known, wrong: Callable[[int], bool] = lambda place: False) -> int:
    """Answer all tasks of labels and ratings from the welcome page to the last *Finish*; the number of answers.

    At the places that are `wrong` the next label or a rating off by two is chosen.
    """
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    page = context.new_page()
    page.goto(link)
    page.wait_for_selector("h1")
    answered = 0
    page.keyboard.press("Enter")
    _until(page, "location.hash === '#tasks'")
    while page.get_by_role("button", name="Begin").count() or page.get_by_role("link", name="Begin").count():
        page.get_by_text("Begin", exact=True).first.click()
        _until(page, "location.hash.startsWith('#told/')")
        page.get_by_text("Skip the practice").click()
        _until(page, "location.hash.startsWith('#item/')")
        while page.evaluate("location.hash").startswith("#item/"):
            place = page.evaluate("location.hash")
            page.wait_for_timeout(200)
            page.keyboard.press(_key(page, known, wrong(answered)))
            page.wait_for_timeout(60)
            page.keyboard.press("Enter")
            _until(page, f"location.hash !== {place!r}")
            answered += 1
        _until(page, "document.querySelector('#saved[aria-busy=false]')?.textContent === '✓ saved'")
        page.get_by_text("Finish this task").click()
        _until(page, "document.querySelector('h1').textContent === 'Thank you'")
        page.evaluate("location.hash = 'tasks'")
        _until(page, "document.querySelector('h1').textContent === 'Your tasks'")
    context.close()
    return answered


def _key(page: Any, known: Known, wrong: bool) -> str:
    """The key of the right answer to the item that is shown, or of a wrong one."""
    shown = tuple(" ".join(text.split()) for text in page.locator("section.text .data").all_inner_texts())
    gold = known[shown]
    if isinstance(gold, str):
        names = [one.split("\n")[-1].strip() for one in page.locator("label").all_inner_texts()]
        names = [one for one in names if one]
        return str((names.index(gold) + wrong) % len(names) + 1)
    level = round(float(gold))
    return str(level if not wrong else level + 2 if level < 3 else level - 2)


def _until(page: Any, condition: str, seconds: float = 20) -> None:
    # Not by the browser's own waiting, which the page's policy forbids.
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"never: {condition}; {page.evaluate('location.hash')}"
        page.wait_for_timeout(30)


def _texts(payload: dict[str, Any]) -> tuple[str, ...]:
    return tuple(" ".join(value.split()) for value in payload.values() if isinstance(value, str))


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
