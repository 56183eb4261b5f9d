"""Machine summaries that people rated, and the comparisons that follow from ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from embassay.data.intake import Intake
from embassay.data.rows import Row, Source, fault, key_of, missing_column, number_of, text_of, texts_of, wrong
from embassay.data.sampling import Draw
from embassay.data.views import View, distinct
from embassay.errors import DataError
from embassay.randomness import random_bytes
from embassay.records import JudgedSummaries


@dataclass
class _Item:
    text: str
    references: list[str]
    summaries: list[str] = field(default_factory=list)
    relevance: list[float] = field(default_factory=list)


def summaries(source: Source, intake: Intake, limit: int | None, seed: int) -> JudgedSummaries:
    """Texts with people's summaries and rated machine summaries; `limit` counts texts.

    A row is a text with its `references`, its `summaries` and their `relevance`, all lists, or a text with
    its `references`, one `summary` and its `relevance`; rows of one `doc_id`, without it of one text, belong
    together. Skipped are texts that lack either kind, and machine summaries that are blank or not rated.
    """
    items = _nested(source, intake) if "summaries" in source.columns() else _gathered(source, intake)
    taken = intake.drawn(
        source, items, lambda key, item: _is_usable(key, item, intake), Draw[tuple[str, _Item]](limit, seed)
    )
    return JudgedSummaries(
        tuple(key for key, _ in taken),
        tuple(item.text for _, item in taken),
        tuple(tuple(item.references) for _, item in taken),
        tuple(tuple(item.summaries) for _, item in taken),
        tuple(np.array(item.relevance, np.float64) for _, item in taken),
    )


def _nested(source: Source, intake: Intake) -> Iterable[tuple[str, _Item]]:
    def parse(row: Row, key: str) -> _Item | None:
        item = _item(row, key, intake)
        written, rated = row.cells.get("summaries"), row.cells.get("relevance")
        if not isinstance(written, list):
            raise wrong(row, "summaries", "a list of texts")
        if not isinstance(rated, list) or len(rated) != len(written):
            raise wrong(row, "relevance", f"a list of {len(written)} numbers, one per summary")
        if item is not None:
            for summary, relevance in zip(written, rated, strict=True):
                _add(item, key, _cells(row, summary, relevance), intake)
        return item

    return intake.read(source, ["text", "references", "summaries", "relevance"], parse, Draw(None, 0))


def _gathered(source: Source, intake: Intake) -> Iterable[tuple[str, _Item]]:
    key_column = "doc_id" if "doc_id" in source.columns() else "text"
    items: dict[str, _Item | None] = {}
    lang = ("lang",) if "lang" in source.columns() else ()
    for row in source.rows(distinct((key_column, "text", "references", "summary", "relevance", *lang))):
        try:
            if key_column == "text" and text_of(row, "text") is None:
                intake.tally.skip("no text", f"line {row.line}")
                continue
            key = key_of(row, key_column)
            if key not in items:
                items[key] = _item(row, key, intake)
            item = items[key]
            if item is not None:
                _add(item, key, row, intake)
                intake.see_lang(row)
        except DataError as error:
            fault(error)
    return [(key, item) for key, item in items.items() if item is not None]


def _item(row: Row, key: str, intake: Intake) -> _Item | None:
    texts = intake.texts(row, key, "text")
    return None if texts is None else _Item(texts[0], [one for one in texts_of(row, "references") if one])


def _cells(row: Row, summary: Any, relevance: Any) -> Row:
    return Row(row.path, row.line, {"summary": summary, "relevance": relevance})


def _add(item: _Item, key: str, row: Row, intake: Intake) -> None:
    summary, relevance = text_of(row, "summary"), number_of(row, "relevance")
    if summary is None or relevance is None:
        intake.tally.skip("summaries without text" if summary is None else "summaries without a rating", key)
        return
    item.summaries.append(summary)
    item.relevance.append(relevance)


def _is_usable(key: str, item: _Item, intake: Intake) -> bool:
    if item.references and item.summaries:
        return True
    kind = "reference" if not item.references else "rated summary"
    intake.tally.skip(f"texts without a {kind}", key)
    return False


@dataclass(frozen=True)
class Paired(View):
    """Every two rows that agree on the `group` columns; the lower `rank` (1 = best) is preferred.

    Which summary is first is decided by a hash of the two ids, so neither position is favoured. Equal or
    missing ranks give a choice of None, which is dropped and counted where comparisons are read.
    """

    group: tuple[str, ...]
    rank: str

    def __post_init__(self) -> None:
        for column in (*self.group, self.rank, "id", "text", "summary"):
            if column not in self.source.columns():
                raise missing_column(self.source, column)

    def columns(self) -> tuple[str, ...]:
        """The columns of a comparison."""
        lang = ("lang",) if "lang" in self.source.columns() else ()
        return ("id", "text", "summary_1", "summary_2", "choice", *lang)

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """One row per pair, group by group in the order of first appearance."""
        lang = ("lang",) if "lang" in columns else ()
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.source.rows(distinct(("id", "text", "summary", *lang, *self.group, self.rank))):
            groups.setdefault(tuple(key_of(row, column) for column in self.group), []).append(row)
        for members in groups.values():
            for one, other in combinations(members, 2):
                yield self._compared(one, other)

    def _compared(self, one: Row, other: Row) -> Row:
        ids = key_of(one, "id"), key_of(other, "id")
        swapped = random_bytes(1, 0, "pairs", *ids)[0] & 1
        first, second = (other, one) if swapped else (one, other)
        cells = {
            **first.cells,
            "id": f"{key_of(first, 'id')} + {key_of(second, 'id')}",
            "summary_1": first.cells["summary"],
            "summary_2": second.cells["summary"],
            "choice": self._choice(first, second),
        }
        return Row(first.path, max(first.line, second.line), cells)

    def _choice(self, first: Row, second: Row) -> int | None:
        ranks = number_of(first, self.rank), number_of(second, self.rank)
        if ranks[0] is None or ranks[1] is None or ranks[0] == ranks[1]:
            return None
        return int(ranks[0] > ranks[1])
