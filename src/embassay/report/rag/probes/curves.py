"""Curves of similarity over levels of noise, one drawing per dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols.numbers import SCORE
from embassay.protocols.rag.probes.noise.levels import LEVELS
from embassay.protocols.rag.probes.noise.measured import COSINE
from embassay.protocols.rag.probes.noise.outcome import HEADLINE
from embassay.protocols.rag.probes.noise.wordings import NOISIEST, level_name
from embassay.records import Result
from embassay.report.lines import Series, lines
from embassay.report.names import labels
from embassay.report.plot import MOST_LINES
from embassay.report.rag.probes.where import Where
from embassay.report.record import System
from embassay.report.scale import scale_of

CHARTS = 4


@dataclass(frozen=True)
class Curves:
    """The curves of a dataset: drawing, title and what it says in a sentence."""

    title: str
    chart: Markup
    summary: str
    left_out: int


def curves(where: Where) -> Iterator[Curves]:
    """A drawing per dataset: the systems as asked; with one or two systems, as rewritten too."""
    for dataset, lang in where.datasets[:CHARTS]:
        series = _series(where, dataset)
        if not series:
            continue
        ends = [
            end for one in series[:MOST_LINES] for _, row in one.points
            for end in (row.value, row.ci_low, row.ci_high) if end is not None
        ]  # fmt: skip
        ticks = [(level / NOISIEST, str(level)) for level in range(len(LEVELS))]
        said = "; ".join(f"{one.name} from {_at(one, 0)} to {_at(one, -1)}" for one in series[:MOST_LINES])
        name = where.said(dataset, lang)
        yield Curves(
            name, lines(series, ticks, scale_of(ends), "Level of noise"), f"{name}: {said}.",
            max(0, len(series) - MOST_LINES),
        )  # fmt: skip


def _at(one: Series, place: int) -> str:
    return SCORE.text(one.points[place][1].value or 0.0)


def _series(where: Where, dataset: str) -> list[Series]:
    systems = [
        system for system in where.systems if where.value(dataset, system.name, "", HEADLINE) is not None
    ]
    models = [system for system in systems if system.kind == "embedding"] or systems
    ways = ("", *where.rewriters[:1]) if len(models) <= 2 else ("",)
    called = labels(where.rewriters)
    return [
        Series(where.labels[system.name] + (f", {called[way]}" if way else ""), points)
        for way in ways
        for system in models
        if (points := tuple(_points(where, dataset, system, way)))
    ]


def _points(where: Where, dataset: str, system: System, rewriter: str) -> Iterator[tuple[float, Result]]:
    for level in range(len(LEVELS)):
        row = where.find(dataset, system.name, level_name(level, rewriter), COSINE)
        if row is not None and row.value is not None:
            yield level / NOISIEST, row
