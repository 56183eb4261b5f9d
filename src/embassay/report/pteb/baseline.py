"""Every system against the baseline on the same paraphrases: differences in points, pooled and averaged over runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from embassay.protocols.numbers import POINTS
from embassay.report.board import Board, Row
from embassay.report.marks import difference_mark
from embassay.report.record import APART, OVERALL, Record
from embassay.report.scale import Scale, scale_of

ANALYSES = (("averaged", "averaged over runs"), ("pooled", "every run by itself: optimistic"))


@dataclass(frozen=True)
class Compared:
    """One system by one analysis. `shift` is the system less the baseline: negative = the baseline is better."""

    row: Row
    analysis: str
    shift: float
    low: float | None
    high: float | None
    p: float
    n: int
    method: str
    sure: bool
    mark: Markup

    @property
    def interval(self) -> str:
        """The 95% interval in points; empty where the analysis has none."""
        return "" if self.low is None or self.high is None else POINTS.interval(self.low, self.high)

    @property
    def exact(self) -> str:
        """The shift in points, and its interval, for CSV."""
        ends = (self.shift, self.low, self.high)
        return ",".join(f"{100 * end:.6g}" for end in ends if end is not None)


@dataclass(frozen=True)
class BaselinePlot:
    """One scope; `missing` are systems without a comparison, each with its reason."""

    title: str
    id: str
    baseline: Row
    datasets: int
    scale: Scale
    rows: tuple[Compared, ...]
    missing: tuple[tuple[Row, str], ...]


def baseline_plots(record: Record, board: Board) -> tuple[BaselinePlot, ...]:
    """A plot per scope of two datasets or more (of one, if there is no other), the leading scope first."""
    scopes: Mapping[str, Any] = record.compared.get("baseline", {}).get("scopes", {})
    titles = {OVERALL: "All tasks"} | {task.name: task.title for task in board.tasks}
    titles |= {name + APART: f"{title}, classical metrics" for name, title in titles.items()}
    names = sorted(scopes, key=lambda name: name != board.lead)
    plots = [_plot(record, board, titles.get(name, name), name, scopes[name]) for name in names]
    found = [plot for plot in plots if plot is not None]
    return tuple([plot for plot in found if plot.datasets > 1] or found[:1])


def _plot(
    record: Record, board: Board, title: str, name: str, plain: Mapping[str, Any]
) -> BaselinePlot | None:
    if plain.get("reason") or not plain.get("systems"):
        return None
    found = [
        (board.row(one["system"]), key, words, one[key])
        for one in plain["systems"]
        for key, words in ANALYSES
        if one.get(key)
    ]
    edges = [
        -end for *_, one in found for end in (one["shift"], one["ci_low"], one["ci_high"]) if end is not None
    ]
    scale = scale_of([*edges, 0.0], within=None, factor=POINTS.factor)
    missing = tuple(
        (board.row(one["system"]), one["reason"]) for one in plain["systems"] if one.get("reason")
    )
    rows = tuple(_compared(record, row, words, one, scale) for row, _, words, one in found)
    place = name.replace(":", "-")
    return BaselinePlot(
        title, f"baseline-{place}", board.row(plain["baseline"]), len(plain["datasets"]), scale, rows, missing
    )


def _compared(record: Record, row: Row, words: str, one: Mapping[str, Any], scale: Scale) -> Compared:
    # The protocol's shift is baseline less system; here, as in every other plot, it is system less baseline.
    shift = -one["shift"]
    low, high = (None if one[end] is None else -one[end] for end in ("ci_high", "ci_low"))
    ends = (low, high) if low is not None and high is not None else (None, None)
    mark = difference_mark(ends[0], shift, ends[1], row.system.kind, scale)
    sure = one["p_holm"] < record.alpha
    return Compared(row, words, shift, ends[0], ends[1], one["p_holm"], one["n"], one["method"], sure, mark)
