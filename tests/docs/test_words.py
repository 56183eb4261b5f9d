"""Phrases that no native writer would use stay out of what people read: pages, and the texts of the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from source import on_one_worker, parsed

ROOT = Path(__file__).parents[2]
NEVER = (
    "comes along", "come along", "is said in other words", "all is said in other words", "speaks like", "seen from",
    "first less second", "95% of it", "without another wording", "it is no test", "mended error", "falls nowhere",
    "is told how sure", "was paid for is kept", "would not have been seen", "for who runs", "that one speaks of",
    "answers are wanted",
)  # fmt: skip
MODULES = sorted((ROOT / "src").rglob("*.py"))
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "src").rglob("*.html")))


LEFT = {
    "bar is missed": 1, "knows nothing": 1, "reference rows": 1, "reworded": 14, "rewording": 1, "in other words": 2,
    "is asked for": 1, "are asked for": 4, "was asked for": 4, "beside the paper": 1, "typing errors": 1,
}  # fmt: skip
"""How often the program still has a word of the glossary that is not used. These numbers may only fall."""


def _found(text: str) -> set[str]:
    plain = " ".join(text.lower().split())
    return {phrase for phrase in NEVER if phrase in plain and re.search(rf"\b{re.escape(phrase)}\b", plain)}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_pages_are_in_plain_english(page: Path) -> None:
    """Also where a phrase runs over the end of a line."""
    assert not _found(page.read_text("utf-8"))


def _replaced() -> list[str]:
    """The words of the glossary that are not used: the first column of its second table, with commas between them."""
    glossary = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = glossary.partition("| Word not used | Word used |\n|---|---|\n")[2].partition("\n\n")[0].splitlines()
    return [word.strip() for row in rows for word in row.split("|")[1].split(",")]


def _together(texts: Iterable[str]) -> str:
    """Texts as one, in lower case and without ends of lines; no phrase goes over from one to the next."""
    return " ¶ ".join(" ".join(text.lower().split()) for text in texts)


def _times(word: str, text: str) -> int:
    """How often a word stands in a text of `_together`."""
    return len(re.findall(rf"\b{re.escape(word)}\b", text))


def test_pages_use_the_words_of_the_glossary() -> None:
    """README and docs; what a command printed is the program's."""
    pages = [page for page in PAGES if page.suffix == ".md"]
    prose = [re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S) for page in pages]
    text = _together(prose)
    assert len(_replaced()) > 20
    assert {word: n for word in _replaced() if (n := _times(word, text))} == {}


@on_one_worker
def test_the_program_has_no_more_of_the_words_that_are_not_used() -> None:
    """Help, messages, pages and reports; docstrings are for those who read code."""
    shown = [path.read_text("utf-8") for kind in ("html", "js") for path in (ROOT / "src").rglob(f"*.{kind}")]
    for path in MODULES:
        shown += _shown(parsed(path))
    text = _together(shown)
    more = {word: n for word in _replaced() if (n := _times(word, text)) > LEFT.get(word, 0)}
    assert not more, f"Write the words of the glossary in CONTRIBUTING.md: {more}"
    assert set(LEFT) <= set(_replaced())


def _shown(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Texts of a module but for docstrings; an f-string in its parts."""
    told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def _texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Every text of a module, docstrings too; the parts of an f-string put together."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (one.value for one in node.values if isinstance(one, ast.Constant))
            yield "".join(part for part in parts if isinstance(part, str))


@on_one_worker
def test_the_program_speaks_plain_english() -> None:
    """Messages, help, reports and docstrings."""
    found = {path.name: _found(_together(_texts(parsed(path)))) for path in MODULES}
    assert not {name: phrases for name, phrases in found.items() if phrases}


def test_a_phrase_is_found_wherever_it_stands() -> None:
    """Over lines, in capitals, in an f-string."""
    assert _found("What Comes\n  along") == {"comes along"}
    (text,) = _texts([ast.parse('f"{x} falls nowhere."').body[0].value.values[1]])  # type: ignore[attr-defined]
    assert _found(text) == {"falls nowhere"}
