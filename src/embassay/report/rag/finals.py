"""One question with its final list, as a reader of the golden set would see it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from embassay.errors import DataError
from embassay.protocols.rag.golden.check_file import Listed
from embassay.protocols.rag.golden.finals import read_final_list
from embassay.protocols.rag.golden.layout import QueryFolder
from embassay.protocols.rag.golden.summary import Golden, Query

LONG = 280


@dataclass(frozen=True)
class FinalList:
    """The question (by its rewriting too, where that differs) and the first places of its list."""

    query_id: str
    question: str
    rewrite: str
    passages: tuple[Listed, ...]


def final_list(run: Path, golden: Golden) -> FinalList | None:
    """That of the done question with the most passages of grade 4 and 5 among the typical ones: the median."""
    done = sorted((one for one in golden.queries if one.status == "done" and one.grades), key=_good)
    for one in done[len(done) // 2 :] + done[: len(done) // 2]:
        found = _read(run, one, golden.settings.top)
        if found is not None:
            return found
    return None


def _good(one: Query) -> tuple[int, str]:
    return sum(one.grades[3:]), one.query_id


def _read(run: Path, one: Query, top: int) -> FinalList | None:
    """None where the list is not there or cannot be read: the page shows what is."""
    try:
        found = read_final_list(one.query_id, QueryFolder(run, one.folder).ranked(top))
    except DataError:
        return None
    passages = tuple(replace(passage, text=_cut(passage.text)) for passage in found.passages)
    return FinalList(one.query_id, one.text, one.rewrite if one.rewrite != one.text else "", passages)


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONG else flat[:LONG].rsplit(" ", 1)[0] + " …"
