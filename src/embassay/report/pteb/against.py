"""Is more lost where scores were higher, or where more words were changed? A point per system and dataset."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from markupsafe import Markup

from embassay.protocols.numbers import POINTS
from embassay.protocols.pteb.analysis.drops import source_of
from embassay.report.pteb.losses import DELTA, Loss, Losses
from embassay.report.pteb.quality import TASK
from embassay.report.record import Record
from embassay.report.scale import scale_of
from embassay.report.scatter import Axis, Point, scatter

FEWEST, FEWEST_DISTANCES = 6, 3


@dataclass(frozen=True)
class Against:
    """The chart and one sentence that says what it shows."""

    svg: Markup
    summary: str
    n: int


def against_original(losses: Losses) -> Against | None:
    """Change against original score; None for under six points."""
    found = [
        loss
        for row in losses.rows
        if row.system.ranked
        for task in losses.board.tasks
        for dataset in losses.record.datasets(task.name)
        if (loss := losses.on_dataset(row, task, dataset)).drop is not None and loss.before.value is not None
    ]
    if len(found) < FEWEST:
        return None
    x = scale_of([one.before.value or 0.0 for one in found], within=(-1.0, 1.0), factor=POINTS.factor)
    y = scale_of([0.0, *(one.drop or 0.0 for one in found)], within=None, factor=POINTS.factor)
    svg = scatter(
        [_point(one) for one in found], Axis(x, "original score, points"), Axis(y, "change, points", 0.0)
    )
    most = min(found, key=lambda one: one.drop or 0.0)
    summary = (
        f"{len(found)} points: original score across, change by paraphrasing upwards. The largest loss, "
        f"{POINTS.said(-(most.drop or 0.0))} points, is that of {most.row.label} on {most.dataset}, from "
        f"{POINTS.said(most.before.value or 0.0)}."
    )
    return Against(svg, summary, len(found))


def _point(loss: Loss) -> Point:
    return Point(loss.before.value or 0.0, loss.drop or 0.0, loss.row.system.kind)


def against_distance(losses: Losses) -> Against | None:
    """Change against the edit distance of the paraphrases, by source; None where under three distances are known."""
    record, board = losses.record, losses.board
    distances = _distances(record)
    if len(set(distances.values())) < FEWEST_DISTANCES:
        return None
    several = len({source for _, source in distances}) > 1
    found = [
        (row, dataset, distance, delta.value)
        for (dataset, source), distance in distances.items()
        for row in losses.rows
        for task in board.tasks
        if row.system.ranked
        and (
            delta := record.find(
                task.name, row.system.name, DELTA, dataset=dataset, variant=source if several else ""
            )
        )
        and delta.value is not None
    ]
    if len(found) < FEWEST:
        return None
    x = scale_of([distance for _, _, distance, _ in found])
    y = scale_of([0.0, *(change for *_, change in found)], within=None, factor=POINTS.factor)
    points = [Point(distance, change, row.system.kind) for row, _, distance, change in found]
    svg = scatter(points, Axis(x, "edit distance of the paraphrases"), Axis(y, "change, points", 0.0))
    row, dataset, distance, change = min(found, key=lambda one: one[3])
    summary = (
        f"{len(found)} points: edit distance across, change by paraphrasing upwards. The lowest, "
        f"{POINTS.change(change)} points, is that of {row.label} on {dataset}, at {distance:.2f}."
    )
    return Against(svg, summary, len(found))


def _distances(record: Record) -> dict[tuple[str, str], float]:
    """The mean edit distance over runs by dataset and source."""
    found: dict[tuple[str, str], list[float]] = {}
    for (task, dataset, subset, variant, _, measure), row in record.rows.items():
        if (task, measure, subset) == (TASK, "edit_distance", "") and row.value is not None:
            found.setdefault((dataset, source_of(variant)), []).append(row.value)
    return {place: round(fmean(values), 6) for place, values in found.items()}
