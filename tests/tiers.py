"""Which tests belong to which tier: `quick.txt` and `nightly.txt` list places, of which everything else is made."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def read_places(name: str) -> tuple[str, ...]:
    """The places that a file beside this one lists, one a line; lines that begin with # are comments."""
    lines = (HERE / name).read_text("utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def is_listed(test: str, places: tuple[str, ...]) -> bool:
    """Whether a test lies at one of the places: folders, files, tests, or the beginning of a test's parameters.

    >>> is_listed("tests/text/test_words.py::test_it[x-1]", ("tests/text/test_words.py::test_it[x", "tests/web"))
    True
    >>> is_listed("tests/text/test_words.py::test_it[xy]", ("tests/text/test_words.py::test_it[x", "tests/te"))
    False
    """
    # What follows a place ends a whole name: of a folder, a file, a test, or a parameter.
    return any(test.startswith(place) and test[len(place) :][:1] in "/:[- ]" for place in places)
