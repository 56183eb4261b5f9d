"""Phrases that no native writer would use stay out of what people read: pages, and the texts of the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEVER = (
    "comes along", "come along", "is said in other words", "all is said in other words", "speaks like", "seen from",
    "first less second", "95% of it", "without another wording", "it is no test", "mended error", "falls nowhere",
    "is told how sure", "was paid for is kept", "would not have been seen", "for who runs", "that one speaks of",
    "answers are wanted",
)  # fmt: skip
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "src").rglob("*.html")))


def _found(text: str) -> set[str]:
    plain = " ".join(text.lower().split())
    return {phrase for phrase in NEVER if re.search(rf"\b{re.escape(phrase)}\b", plain)}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_pages_are_in_plain_english(page: Path) -> None:
    """Also where a phrase runs over the end of a line."""
    assert not _found(page.read_text("utf-8"))


def _texts(tree: ast.AST) -> Iterator[str]:
    """Every text of a module, docstrings too; the parts of an f-string put together."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (one.value for one in node.values if isinstance(one, ast.Constant))
            yield "".join(part for part in parts if isinstance(part, str))


def test_the_program_speaks_plain_english() -> None:
    """Messages, help, reports and docstrings."""
    wrong = {
        f"{path.relative_to(ROOT)}: {phrase}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for text in _texts(ast.parse(path.read_text("utf-8")))
        for phrase in _found(text)
    }
    assert not wrong


def test_a_phrase_is_found_wherever_it_stands() -> None:
    """Over lines, in capitals, in an f-string."""
    assert _found("What Comes\n  along") == {"comes along"}
    (text,) = _texts(ast.parse('f"{x} falls nowhere."').body[0].value.values[1])  # type: ignore[attr-defined]
    assert _found(text) == {"falls nowhere"}
