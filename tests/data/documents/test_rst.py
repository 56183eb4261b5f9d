"""reStructuredText as Markdown: what people read stays, what steers a page does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data.documents import open_document_folder
from embassay.data.documents.rst import convert_rst_to_markdown, read_restructured_text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Title\n=====\n\nPart\n----\n\nText.", "# Title\n\n## Part\n\nText.\n"),
        ("=====\nTitle\n=====\n\nPart\n====\n\nText.", "# Title\n\n## Part\n\nText.\n"),
        ("See :ref:`the guide <guide>`, :py:func:`~a.b` and `here\n<https://example.org>`_.",
         "See the guide, a.b and here.\n"),
        ("Use ``make -j``, see Includes_ [1]_.", "Use `make -j`, see Includes.\n"),
        (".. note:: Begins here\n   and goes on.\n\nEnd.", "Begins here\nand goes on.\n\nEnd.\n"),
        (".. versionadded:: 3.13\n   The option exists.", "The option exists.\n"),
        (".. toctree::\n   :maxdepth: 2\n\n   guide\n   other\n\nEnd.", "End.\n"),
        (".. code-block:: sh\n   :caption: Run\n\n   make\n\n   make all\n\nEnd.",
         "```\nmake\n\nmake all\n```\n\nEnd.\n"),
        ("Run this::\n\n    make\n\nEnd.", "Run this:\n\n```\nmake\n```\n\nEnd.\n"),
        (">>> 1 + 1\n2\n\nEnd.", "```\n>>> 1 + 1\n2\n```\n\nEnd.\n"),
        ("term\n  Its definition.\nother\n  Its own.", "term\n\nIts definition.\n\nother\n\nIts own.\n"),
        (".. _target: https://example.org\n.. |name| replace:: Embassay\n.. a comment\n\nBy |name|.",
         "By Embassay.\n"),
        (".. function:: make(all)\n\n   Makes all.", "`make(all)`\n\nMakes all.\n"),
        ("#. One.\n#. Two.", "1. One.\n1. Two.\n"),
        ("==== ====\nName Text\n==== ====\na    b c\n==== ====\n\nEnd.", "| Name Text |\n| a | b c |\n\nEnd.\n"),
    ],
)  # fmt: skip
def test_what_becomes_of_it(text: str, read: str) -> None:
    """Headings, references, notes, code, tables, definitions, and what is left out."""
    assert convert_rst_to_markdown(text) == read


@given(st.text("ab.:`_|=-* \n>#<", max_size=200) | st.text(max_size=200))
def test_any_text(text: str) -> None:
    """Nothing fails, and what is read is read again the same way from its bytes."""
    content = text.encode("utf-8", "surrogatepass")
    if "\0" not in text and text.isprintable():
        assert read_restructured_text(content, Path("a.rst")).text == convert_rst_to_markdown(text)
    convert_rst_to_markdown(text)


def test_a_folder_of_it(tmp_path: Path) -> None:
    """Passages are under their sections, with the headings once; licences and notices of others are left out."""
    (tmp_path / "a.rst").write_text("Guide\n=====\n\nFirst text.\n\nPart\n----\n\nSecond text.\n")
    (tmp_path / "copyright").write_text("Copyright by nobody.")
    (tmp_path / "ThirdPartyNotices.txt").write_text("Copyright by others.")
    dataset = open_document_folder(tmp_path)
    rows = list(dataset.parts["corpus"].source.rows(("title", "text")))
    assert [(row.cells["title"], row.cells["text"]) for row in rows] == [
        ("Guide", "First text."), ("Guide > Part", "Second text.")
    ]  # fmt: skip
    assert [(left.reason, left.count) for left in dataset.skipped] == [("licences", 2)]
