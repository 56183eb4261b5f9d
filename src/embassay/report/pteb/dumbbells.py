"""The drop of a system on every dataset: original score, the score of every run, the drop; sorted by drop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols.numbers import POINTS
from embassay.report.board import Row
from embassay.report.marks import CLASSES, grid, percent
from embassay.report.pteb.losses import Loss, Losses
from embassay.report.scale import Scale, scale_of


@dataclass(frozen=True)
class Dumbbell:
    """One row of a chart: `name` is the dataset and `sub` its task; the other way round where there is one dataset."""

    name: str
    sub: str
    loss: Loss
    mark: Markup


@dataclass(frozen=True)
class Dumbbells:
    """The chart of one system, which its title names; rows without a drop stand last. Of `several` datasets each row
    says the task beside its dataset; the only one is not repeated."""

    title: str
    id: str
    row: Row
    scale: Scale
    rows: tuple[Dumbbell, ...]
    several: bool = True


def side_by_side(charts: Sequence[Dumbbells]) -> tuple[tuple[Dumbbell, tuple[Dumbbell | None, ...]], ...]:
    """A row per dataset of the first chart, in its order, with that of every chart; None where one has it not."""
    found = [{(one.name, one.sub): one for one in chart.rows} for chart in charts]
    keys = dict.fromkeys(key for own in found for key in own)
    return tuple(
        (next(own[key] for own in found if key in own), tuple(own.get(key) for own in found)) for key in keys
    )


def dumbbells(losses: Losses) -> tuple[Dumbbells, ...]:
    """A chart per ranked system, in the order of the board, each on its own scale."""
    rows = [row for row in losses.rows if row.system.ranked]
    found = {row.system.name: _of(losses, row) for row in rows}
    several = len({one.dataset for of in found.values() for one in of}) > 1
    return tuple(
        _chart(row, found[row.system.name], several=several) for row in rows if found[row.system.name]
    )


def _chart(row: Row, found: list[Loss], *, several: bool) -> Dumbbells:
    values = [value for one in found for value in _values(one)]
    scale = scale_of(values, within=(-1.0, 1.0), most=5, factor=POINTS.factor)
    ordered = sorted(found, key=_order)
    drawn = tuple(_drawn(one, scale, several=several) for one in ordered)
    return Dumbbells(row.label, f"drops-{row.system.index}", row, scale, drawn, several=several)


def mark(loss: Loss, scale: Scale) -> Markup:
    """A hollow circle at the original score, a line to the mean, a tick at every run.

    Line and ticks are one path in a drawing that stretches (its strokes do not).
    """
    before, after = loss.before.value, loss.after.value
    path = "".join(f"M{scale.at(run):.1f} 1v14" for run in loss.runs)
    if before is not None and after is not None:
        path = f"M{scale.at(before):.1f} 8H{scale.at(after):.1f}{path}"
    circle = "" if before is None else f'<circle class="w" cx="{percent(scale.at(before))}" cy="8" r="5"/>'
    return Markup(
        f'<svg class="iv {grid(scale)} k{CLASSES[loss.row.system.kind]}" aria-hidden="true">'
        f'<svg viewBox="0 0 100 16" preserveAspectRatio="none"><path d="{path}"/></svg>{circle}</svg>'
    )


def _of(losses: Losses, row: Row) -> list[Loss]:
    return [
        losses.on_dataset(row, task, dataset)
        for task in losses.board.tasks
        for dataset in losses.record.datasets(task.name)
    ]


def _drawn(loss: Loss, scale: Scale, *, several: bool) -> Dumbbell:
    task = loss.task.short if loss.task else ""
    names = (loss.dataset, task) if several else (task, loss.dataset)
    return Dumbbell(*names, loss, mark(loss, scale))


def _values(loss: Loss) -> Sequence[float]:
    known = (loss.before.value, loss.after.value, *loss.runs)
    return [value for value in known if value is not None]


def _order(loss: Loss) -> tuple[bool, float]:
    return loss.drop is None, loss.drop or 0.0
