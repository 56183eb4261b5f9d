"""Does a freer paraphraser cost more? Figure 8: the drop against the mean edit distance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from embassay.measures import spearman
from embassay.protocols.pteb.analysis.drops import drops, is_run, source_of
from embassay.records import Result, Skipped


@dataclass(frozen=True)
class DistancePoint:
    """One system on one dataset with one paraphraser or prompt.

    `source` is as in variants (`by=NAME`, `prompt=NAME`; empty where the run has one), `edit_distance` the mean over
    the distinct texts and runs (0 to 1), `delta` the mean over runs as a fraction, with its interval where the run
    has one. `distances` is how many wordings are behind the edit distance.
    """

    source: str
    task: str
    dataset: str
    system: str
    edit_distance: float
    distances: int
    delta: float
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class AgainstDistance:
    """The points of figure 8, and per system Spearman's correlation of edit distance and delta over its points (NaN
    where it is undefined)."""

    points: tuple[DistancePoint, ...]
    correlations: tuple[tuple[str, float, int], ...]
    missing: tuple[Skipped, ...]


def against_distance(rows: Iterable[Result]) -> AgainstDistance:
    """The drop of every system, dataset and source against the source's edit distance there.

    The distances are the rows of the task `paraphrases`; languages count by their texts. What has no distance or no
    drop is counted.
    """
    rows = list(rows)
    distances = _distances(rows)
    intervals = {
        (row.variant, row.task, row.dataset, row.system): (row.ci_low, row.ci_high)
        for row in rows
        if row.measure == "delta" and not is_run(row.variant) and not row.subset
    }
    points, without = [], []
    missing: list[Skipped] = []
    for source in dict.fromkeys(source_of(row.variant) for row in rows if is_run(row.variant)):
        found = drops(rows, source=source)
        missing += found.missing
        for drop in found.rows:
            if (distance := distances.get((source, drop.dataset))) is None:
                without.append(f"{drop.system} {drop.place} {source}".strip())
                continue
            low, high = intervals.get((source, drop.task, drop.dataset, drop.system), (None, None))
            points.append(
                DistancePoint(source, drop.task, drop.dataset, drop.system, *distance, drop.delta, low, high)
            )
    if without:
        missing.append(Skipped("no edit distance", len(without), tuple(without[:5])))
    return AgainstDistance(tuple(points), _correlations(points), tuple(missing))


def _distances(rows: Sequence[Result]) -> dict[tuple[str, str], tuple[float, int]]:
    """(source, dataset) -> mean edit distance and the wordings behind it."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.task == "paraphrases" and row.measure == "edit_distance" and is_run(row.variant):
            if row.value is None or not row.dataset:
                continue
            total = sums.setdefault((source_of(row.variant), row.dataset), [0.0, 0.0])
            total[0] += row.value * row.n
            total[1] += row.n
    return {key: (total / n, int(n)) for key, (total, n) in sums.items() if n}


def _correlations(points: Sequence[DistancePoint]) -> tuple[tuple[str, float, int], ...]:
    found = []
    for system in dict.fromkeys(point.system for point in points):
        own = [point for point in points if point.system == system]
        value = spearman([point.edit_distance for point in own], [point.delta for point in own])
        found.append((system, float(value), len(own)))
    return tuple(found)
