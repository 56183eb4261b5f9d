"""Sections by headings: contiguous, complete, and with the path that leads to them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.text.chunking import Headings, split_sections

LINES = st.lists(st.sampled_from(["# A", "## B", "### C", "text", "", "```", "#tag", "RESULTS", "  ## D ##"]))


def sections(text: str, headings: Headings = "markdown") -> list[tuple[tuple[str, ...], str]]:
    return [(one.path, text[one.start : one.end]) for one in split_sections(text, headings)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", [((), "plain")]),
        ("# A\nx\n## B\ny\n# C\nz", [(("A",), "# A\nx\n"), (("A", "B"), "## B\ny\n"), (("C",), "# C\nz")]),
        ("x\n# A\ny", [((), "x\n"), (("A",), "# A\ny")]),
        ("# A\n\n## B\r\nx", [(("A", "B"), "# A\n\n## B\r\nx")]),
        ("# A\nx\n# B\n", [(("A",), "# A\nx\n# B\n")]),
        ("# A\n# B\n", [(("B",), "# A\n# B\n")]),
        ("### C\nx\n# A\ny", [(("C",), "### C\nx\n"), (("A",), "# A\ny")]),
        ("```\n# no\n```\n# A #\nx", [((), "```\n# no\n```\n"), (("A",), "# A #\nx")]),
        ("~~~\n```\n# no\n~~~\n# A\nx", [((), "~~~\n```\n# no\n~~~\n"), (("A",), "# A\nx")]),
        ("#tag is not a heading\n#\nx", [((), "#tag is not a heading\n#\nx")]),
        ("", []),
    ],
)
def test_markdown(text: str, expected: list[tuple[tuple[str, ...], str]]) -> None:
    """Levels nest, empty sections join the next, code is left alone."""
    assert sections(text) == expected


def test_capitals() -> None:
    """Lines of capitals are headings where that is asked for, of one level."""
    text = "BACKGROUND\nseeds.\nRESULTS\nDNA\n1234567\nmore.\n"
    assert sections(text, "capitals") == [
        (("BACKGROUND",), "BACKGROUND\nseeds.\n"),
        (("RESULTS",), "RESULTS\nDNA\n1234567\nmore.\n"),
    ]
    assert sections(text) == sections(text, "none") == [((), text)]


@given(LINES.map("\n".join), st.sampled_from(["markdown", "capitals", "none"]))
def test_sections_are_the_text(text: str, headings: Headings) -> None:
    """No character is lost or doubled, and no section is only headings and blanks unless all of the text is."""
    found = split_sections(text, headings)
    assert "".join(text[one.start : one.end] for one in found) == text
    assert all(one.end == other.start for one, other in pairwise(found))


@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("unit", ["#", "# a\n", "A", "A B\n", " ", "```\n", "# \n"])
def test_takes_linear_time(unit: str) -> None:
    """200,000 characters that almost match are no trap."""
    for headings in ("markdown", "capitals"):
        split_sections(unit * (200_000 // len(unit)), headings)  # type: ignore[arg-type]
