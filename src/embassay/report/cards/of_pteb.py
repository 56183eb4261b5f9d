"""What PTEB says of one system: what paraphrasing takes, and where it takes most."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.protocols.numbers import POINTS
from embassay.records import Result
from embassay.report.board import Row
from embassay.report.cards.findings import Finding, figure, finding, task_word
from embassay.report.gathered import Run
from embassay.report.pteb.losses import Loss, Losses, only_control
from embassay.report.pteb.verdict import TEXTS
from embassay.report.verdict import listed, plain

LITTLE = 0.02
"""Two points: a larger loss must lie outside the interval for a system to be good at keeping its score."""


def good(run: Run, row: Row) -> Iterator[Finding]:
    """That little can be lost, over all or on some tasks: the interval says so, not only that 0 lies in it."""
    losses = Losses(run.record, run.board)
    every = losses.leading(row)
    if _held(every):
        clause = f"loses little or nothing {_when(run)}: {_changed(every.delta)}"
        yield finding(run, clause, weight=2, place="pteb-drops")
        return
    held = [
        f"{task_word(task)} {_changed(loss.delta)}"
        for task in run.board.tasks
        if (loss := losses.on_task(row, task)).delta is not None and _held(loss)
    ]
    if held:
        clause = f"loses little or nothing {_when(run)} on {plain(listed(held[:4]))}"
        yield finding(run, clause, weight=1, place="pteb-drops")


def unknown(run: Run, row: Row) -> Iterator[str]:
    """That nobody knows whether it loses much or nothing: an interval over both."""
    every = Losses(run.record, run.board).leading(row)
    if every.delta is not None and every.delta.ci_low is not None and not _held(every) and not _lost(every):
        yield f"Whether it loses points {_when(run)} is open: {_changed(every.delta)}."


def bad(run: Run, row: Row) -> Iterator[Finding]:
    """The loss over all, and the dataset that loses most, where intervals lie below 0."""
    losses = Losses(run.record, run.board)
    every = losses.leading(row)
    if _lost(every):
        yield finding(run, f"loses {_points(every)} {_when(run)}", weight=5, place="pteb-drops")
    worst = [
        loss
        for task in run.board.tasks
        for dataset in run.record.datasets(task.name)
        if _lost(loss := losses.on_dataset(row, task, dataset))
    ]
    if worst:
        most = min(worst, key=lambda loss: loss.drop or 0.0)
        where = task_word(most.task) if most.task is not None else ""
        where += f" of {most.dataset}" if len({loss.dataset for loss in worst}) > 1 else ""
        clause = f"loses most {_when(run)} on {where}, {_points(most)}"
        yield finding(run, clause, weight=4, place="pteb-drops")


def _when(run: Run) -> str:
    """`when texts are paraphrased`, or what the run's only control does instead."""
    return TEXTS[only_control(run.record)][0]


def _held(loss: Loss) -> bool:
    """Whether its interval leaves out all but a little loss."""
    change = loss.delta
    return (
        change is not None
        and change.value is not None
        and change.ci_low is not None
        and change.ci_low >= -LITTLE
    )


def _lost(loss: Loss) -> bool:
    """Whether its interval lies below 0."""
    change = loss.delta
    return (
        change is not None and change.value is not None and change.ci_high is not None and change.ci_high < 0
    )


def _points(loss: Loss) -> str:
    """`4.1 points (3.3–4.9)`: a loss without its sign."""
    change = loss.delta
    if change is None or change.value is None or change.ci_low is None or change.ci_high is None:
        return ""
    return f"{POINTS.said(-change.value)} points ({POINTS.said_interval(-change.ci_high, -change.ci_low)})"


def _changed(change: Result | None) -> str:
    """`−1.7 points (−5.4 to 2.0)`."""
    return "" if change is None else figure(change, POINTS).replace(" (", " points (", 1)
