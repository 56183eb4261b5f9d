"""The page about reading numbers: the words of the report's own page, and what goes beyond them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from embassay.document.blocks import DefinedTerm
from embassay.document.blocks import convert_sentence_to_text as words
from embassay.report import kinds
from reference_pages.markdown import plain

HERE = Path(__file__).parent
ALPHA, CORRECTION = 0.05, "Holm"


def reading_page() -> str:
    """The whole page."""
    head, tail = ((HERE / f"reading_{part}.md").read_text("utf-8").rstrip() for part in ("head", "tail"))
    parts = [
        head,
        f"## Marks and numbers\n\n{_listed(kinds._iterate_glossary_of_interval_marks(CORRECTION))}",
        f"## Words with one meaning\n\n{_listed(kinds._explain_report_verbs(ALPHA))}",
        f"## Where a value is missing\n\n{_listed(kinds.STATES)}",
        tail,
    ]
    return "\n\n".join(parts) + "\n"


def _listed(terms: Iterable[DefinedTerm]) -> str:
    return "\n".join(f"- **{plain(words(one.title))}**: {plain(words(one.means))}" for one in terms)
