"""What drops go with: the original score, the language, the edit distance, the length of the text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from embassay.protocols.pteb.analysis import (
    Contrast,
    Group,
    against_distance,
    against_original,
    by_language,
    drops,
)
from embassay.protocols.pteb.tables.given import Given, is_control, points
from embassay.protocols.tables import Column, ColumnTable, Value
from embassay.records import Result
from embassay.stats import Estimate

_GROUPED = (
    Column("group", "text"), Column("delta", "signed"), Column("ci_low", "signed"), Column("ci_high", "signed"),
    Column("cells", decimals=0), Column("datasets", decimals=0),
)  # fmt: skip


def relation_tables(given: Given) -> Iterator[ColumnTable]:
    """The tables of the analyses. References are left out, as their drops say nothing, and from all but the edit
    distance also controls."""
    every = [row for row in given.rows if given.kinds.get(row.system) != "reference"]
    rows = [row for row in every if not is_control(row.variant)]
    if not (found := drops(rows).rows):
        return
    original = against_original(found)
    lines = [
        *_groups(original.bins),
        *_contrast(original.above, f"above {points(original.high):g} less the others"),
    ]
    related = "" if math.isnan(original.correlation) else f"Spearman of the two: {original.correlation:.2f}. "
    note = related + original.caution
    yield ColumnTable("drop_by_score", "Drop in points by original score", _GROUPED, tuple(lines), note)
    yield _languages(rows)
    if (distances := against_distance(every)).points:
        lines = [
            (
                one.source,
                one.task,
                one.dataset,
                one.system,
                one.edit_distance,
                *_points(one.delta, one.ci_low, one.ci_high),
            )
            for one in distances.points
        ]
        columns = (
            *(Column(name, "text") for name in ("source", "task", "dataset", "system")), Column("edit_distance"),
            *_GROUPED[1:4],
        )  # fmt: skip
        yield ColumnTable("drop_by_edit_distance", "Drop in points and edit distance", columns, tuple(lines))
    if given.lengths:
        yield _lengths(given)


def _languages(rows: Sequence[Result]) -> ColumnTable:
    found = by_language(drops(rows, by_language=True).rows)
    lines = [
        *_groups(found.languages), *_groups(found.groups),
        *_contrast(found.difference, "English less other languages"),
        *_contrast(found.same_datasets, "the same within datasets that have both"),
    ]  # fmt: skip
    return ColumnTable("drop_by_language", "Drop in points by language", _GROUPED, tuple(lines))


def _lengths(given: Given) -> ColumnTable:
    rows: list[tuple[Value, ...]] = []
    for where, bins in given.lengths.items():
        for one in bins:
            scores = (points(one.original), points(one.paraphrased))
            rows.append((*where, one.label, one.n, *scores, *_estimate(one.delta), one.lost, one.reason))
    columns = (
        *(Column(name, "text") for name in ("task", "dataset", "system", "words")), Column("n", decimals=0),
        Column("orig"), Column("pteb"), *_GROUPED[1:4], Column("lost", decimals=0), Column("reason", "text"),
    )  # fmt: skip
    return ColumnTable("drop_by_length", "Drop in points by length in words", columns, tuple(rows))


def _groups(groups: Sequence[Group]) -> Iterator[tuple[Value, ...]]:
    for group in groups:
        yield (group.name, *_estimate(group.delta), group.delta.n, group.datasets)


def _contrast(contrast: Contrast, name: str) -> Iterator[tuple[Value, ...]]:
    if contrast.difference is not None:
        yield (name, *_estimate(contrast.difference), contrast.difference.n, None)


def _estimate(found: Estimate | None) -> tuple[float | None, ...]:
    return _points(found.estimate, found.low, found.high) if found else (None, None, None)


def _points(*values: float | None) -> tuple[float | None, ...]:
    return tuple(None if value is None or math.isnan(value) else points(value) for value in values)
