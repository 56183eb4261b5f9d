"""The lists of keys, which the pages and their help read, and the pure parts of groups and marks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
GROUPS = "const {readId, writeId, groupsOf, freeNumber, byName, offered, clean} = await import('/static/groups.js');"
MARKS = "const {marksOf, answerOf, nextOpen} = await import('/static/marks.js');"


@pytest.fixture
def inside(serve: Callable[..., Any], visit: Callable[..., Any]) -> Callable[[str], Any]:
    """Run JavaScript that ends in a value, in a page of the study."""
    page = visit(serve("pairs").link).page
    return lambda script: page.evaluate(f"async () => {{ {script} }}")


def test_no_key_has_two_meanings(inside: Callable[[str], Any]) -> None:
    """In no view does a key do two things, and none is one that works everywhere."""
    keys = inside("const {KEYS, EVERYWHERE} = await import('/static/keys.js'); return {...KEYS, EVERYWHERE};")
    everywhere = [press for presses, _, _ in keys.pop("EVERYWHERE") for press in presses]
    assert set(keys) == {"sts", "classification", "reranking", "clustering", "page"}
    for view, rows in keys.items():
        pressed = [press for presses, _, _ in rows for press in presses] + everywhere
        assert len(pressed) == len(set(pressed)), view
        assert all(does for _, _, does in rows)


def test_every_listed_key_does_something(inside: Callable[[str], Any]) -> None:
    """Digits, arrows, Enter and Backspace only: no chord with Ctrl, Alt or Meta, and letters only to type a name."""
    keys = inside("const {KEYS} = await import('/static/keys.js'); return KEYS;")
    pressed = {press for rows in keys.values() for presses, _, _ in rows for press in presses}
    arrows = {"ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"}
    assert pressed == {str(n) for n in range(10)} | arrows | {"Enter", "Shift+Enter", "Backspace", "letter"}


def test_what_was_pressed(inside: Callable[[str], Any]) -> None:
    """Digits by place in every layout, on the pad too; nothing with a modifier of the system or while composing."""
    events = """[
      {code: 'Digit1', key: '&'}, {code: 'Digit2', key: '٢'}, {code: 'Numpad3', key: '3'},
      {code: 'Numpad1', key: 'End'},
      {code: 'Digit1', key: '1', ctrlKey: true}, {code: 'KeyA', key: 'a', isComposing: true}, {code: 'KeyA', key: 'ф'},
      {code: 'Enter', key: 'Enter', shiftKey: true}, {code: 'NumpadEnter', key: 'Enter'}, {code: 'Slash', key: '؟'},
      {code: 'Space', key: ' '}, {code: 'PageDown', key: 'PageDown'}, {code: 'ArrowUp', key: 'ArrowUp', shiftKey: true},
    ]"""
    found = inside(
        "const {pressOf} = await import('/static/keys.js');"
        f"return {events}.map((init) => pressOf(new KeyboardEvent('keydown', init)));"
    )
    assert found == [
        "1", "2", "3", None, None, None, "letter", "Shift+Enter", "Enter", "?", None, None, None,
    ]  # fmt: skip


def test_groups_are_read_from_answers(inside: Callable[[str], Any]) -> None:
    """A group has its number and the name that was given last; the lowest free number is the next."""
    found = inside(
        GROUPS
        + """
        const answers = {a: '2 stars', b: '1', c: '2 galaxies', d: null, e: 'odd'};
        const groups = groupsOf(answers, (id) => ({a: 1, c: 5}[id] || 0));
        return [groups.map(({number, name, members}) => [number, name, members]), freeNumber(groups),
                byName(groups, ' GALAXIES ').number, offered(groups, 'gal').length, offered(groups, ' ').length];"""
    )
    assert found == [[[1, "", ["b"]], [2, "galaxies", ["a", "c"]], [3, "odd", ["e"]]], 4, 2, 1, 0]


def test_ids_of_groups_go_both_ways(inside: Callable[[str], Any]) -> None:
    """Whatever a group is called, its id gives number and name back; names are cut and made plain."""
    names = ["", "stars", "3 body", "  wide   gap ", "نجوم", "x" * 99]
    found = inside(GROUPS + f"return {names!r}.map((name) => readId(writeId(12, name)));")
    assert [one["number"] for one in found] == [12] * len(names)
    assert [one["name"] for one in found] == ["", "stars", "3 body", "wide gap", "نجوم", "x" * 60]


def test_marks(inside: Callable[[str], Any]) -> None:
    """An open document is never "not relevant": a draft until all are decided, nothing while all are open."""
    found = inside(
        MARKS
        + """return [
          answerOf([null, null]), answerOf([1, null]), answerOf([0, 0]), marksOf(null, 2),
          marksOf({draft: [1, null]}, 2),
          marksOf([1, 0], 2), marksOf([1, 0, 1], 2),
          nextOpen([1, null, 0, null], 1), nextOpen([null, 1, 0], 0), nextOpen([1], 0),
        ];"""
    )
    assert found == [None, {"draft": [1, None]}, [0, 0], [None, None], [1, None], [1, 0], [None, None], 3, 0, -1]


def test_levels(inside: Callable[[str], Any]) -> None:
    """Steps add up without the dust of floating point."""
    found = inside(
        "const {levels} = await import('/static/rating.js');"
        "return [[0, 5, 1], [1, 4, .5], [0, 1, .1]].map(([low, high, step]) => levels({low, high, step}));"
    )
    assert found == [[0, 1, 2, 3, 4, 5], [1, 1.5, 2, 2.5, 3, 3.5, 4], [n / 10 for n in range(11)]]


def test_practice_of_groups(inside: Callable[[str], Any]) -> None:
    """Groups agree when the same texts are together, whatever they are called."""
    found = inside(
        """const {agrees} = await import('/static/practice.js');
        const one = {payload: {texts: ['x', 'y', 'z']}, answer: ['m', 'g', 'g']}, task = {family: 'clustering'};
        return [agrees(task, one, {p0: '1 a', p1: '2', p2: '2'}), agrees(task, one, {p0: '1', p1: '1', p2: '2'})];"""
    )
    assert found == [True, False]


def test_the_documentation_lists_the_keys(inside: Callable[[str], Any], root: Path) -> None:
    """Every key of every view is in the table of the documentation with the same words, and no other is."""
    keys = inside("const {KEYS, EVERYWHERE} = await import('/static/keys.js'); return {...KEYS, EVERYWHERE};")
    page = (root / "docs" / "hume_annotating.md").read_text("utf-8")
    told = {tuple(cells) for cells in re.findall(r"^\| ([\w ]+) \| .+? \| (.+) \|$", page, re.MULTILINE)}
    told -= {("Family", "What it does")}
    names = {"sts": "STS", "classification": "Classification", "reranking": "Reranking", "clustering": "Clustering"}
    meant = {(names[view], does) for view in names for _, _, does in keys[view]}
    meant |= {("everywhere", does) for _, _, does in keys["EVERYWHERE"]}
    shared = set.intersection(*({does for _, _, does in keys[view]} for view in ("sts", "classification", "reranking")))
    meant = {one for one in meant if one[1] not in shared} | {("all others", does) for does in shared}
    assert told == meant
