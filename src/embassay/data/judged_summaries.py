"""Machine summaries that people rated, with people's own: from one row per text, or one per machine summary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from embassay.data.cells import key_of, number_of, text_of, texts_of, wrong
from embassay.data.faults import fault
from embassay.data.intake import Intake
from embassay.data.rows import Row, Source
from embassay.data.sampling import Draw
from embassay.data.views import distinct
from embassay.errors import DataError
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
