"""Is more lost where scores were higher? A point per system and dataset."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from semblance.report.numbers import POINTS
from semblance.report.pteb.losses import Loss, Losses
from semblance.report.scale import scale_of
from semblance.report.scatter import Axis, Point, scatter

FEWEST = 6


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
    where = f"{loss.row.label}, {loss.dataset}: {loss.before.text}, {loss.drop_text}"
    return Point(loss.before.value or 0.0, loss.drop or 0.0, loss.row.system.kind, where)
