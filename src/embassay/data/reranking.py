"""Queries with candidates, from one row per query or from one row per candidate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from embassay.data.cells import key_of, number_of, text_of, texts_of, wrong
from embassay.data.faults import fault
from embassay.data.intake import Intake
from embassay.data.rows import Row, Source
from embassay.data.sampling import Draw
from embassay.data.views import distinct
from embassay.errors import DataError
from embassay.records import RerankingSet


@dataclass
class _Item:
    queries: list[str] = field(default_factory=list)
    candidates: list[str] = field(default_factory=list)
    relevance: list[float] = field(default_factory=list)


def reranking(source: Source, intake: Intake, limit: int | None, seed: int) -> RerankingSet:
    """Queries with their candidates; `limit` counts queries.

    A row is a query (a text or several) with its `positive` and `negative` texts, or a `query`, one `text`
    and its `label` (0 = not relevant); rows of one `query_id`, without it of one query, belong together.
    Skipped are queries without text, without a relevant or without an irrelevant candidate, and blank candidates.
    """
    items = _nested(source, intake) if "positive" in source.columns() else _gathered(source, intake)
    taken = intake.drawn(
        source, items, lambda key, item: _is_usable(key, item, intake), Draw[tuple[str, _Item]](limit, seed)
    )
    return RerankingSet(
        tuple(key for key, _ in taken),
        tuple(tuple(item.queries) for _, item in taken),
        tuple(tuple(item.candidates) for _, item in taken),
        tuple(np.array(item.relevance, np.float64) for _, item in taken),
    )


def _nested(source: Source, intake: Intake) -> Iterable[tuple[str, _Item]]:
    def parse(row: Row, key: str) -> _Item:
        item = _Item([query for query in texts_of(row, "query") if query])
        for column, gain in (("positive", 1.0), ("negative", 0.0)):
            for text in texts_of(row, column):
                _add(item, key, text, gain, intake)
        return item

    return intake.read(source, ["query", "positive", "negative"], parse, Draw(None, 0))


def _gathered(source: Source, intake: Intake) -> Iterable[tuple[str, _Item]]:
    key_column = "query_id" if "query_id" in source.columns() else "query"
    items: dict[str, _Item] = {}
    lang = ("lang",) if "lang" in source.columns() else ()
    for row in source.rows(distinct((key_column, "query", "text", "label", *lang))):
        try:
            if key_column == "query" and text_of(row, "query") is None:
                intake.tally.skip("queries without text", f"line {row.line}")
                continue
            key, query = key_of(row, key_column), text_of(row, "query")
            item = items.setdefault(key, _Item())
            if query is not None and query not in item.queries:
                item.queries.append(query)
            _add(item, key, text_of(row, "text"), _gain(row, key, intake), intake)
            intake.see_lang(row)
        except DataError as error:
            fault(error)
    return items.items()


def _gain(row: Row, key: str, intake: Intake) -> float | None:
    value = number_of(row, "label")
    if value is not None and value < 0:
        raise wrong(row, "label", "0 for not relevant, or a gain above it")
    if value is None:
        intake.tally.skip("candidates without a label", key)
    return value


def _add(item: _Item, key: str, text: str | None, gain: float | None, intake: Intake) -> None:
    if text is None:
        intake.tally.skip("candidates without text", key)
    elif gain is not None:
        item.candidates.append(text)
        item.relevance.append(gain)


def _is_usable(key: str, item: _Item, intake: Intake) -> bool:
    for lacking, reason in (
        (not item.queries, "queries without text"),
        (not any(gain > 0 for gain in item.relevance), "queries without a relevant candidate"),
        (not any(gain == 0 for gain in item.relevance), "queries without an irrelevant candidate"),
    ):
        if lacking:
            intake.tally.skip(reason, key)
            return False
    return True
