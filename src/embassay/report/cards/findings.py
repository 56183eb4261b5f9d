"""What the results say of one system, as clauses that go on from its name: *beats every other system on STS*."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.protocols.numbers import SCORE, Unit
from embassay.records import Result
from embassay.report.board import Value
from embassay.report.gathered import Run
from embassay.report.tasks import Task
from embassay.report.verdict import Part, Sentence


@dataclass(frozen=True)
class Finding:
    """A clause about the system, and the page of the run that says it: `run` is its title, `page` its address.

    `weight` orders findings of several runs, the gravest (or best) first.
    """

    clause: Sentence
    run: str
    page: str
    weight: float = 0.0

    @property
    def bullet(self) -> Sentence:
        """The clause as a line of its own."""
        first, *rest = self.clause
        head = first[:1].upper() + first[1:] if isinstance(first, str) else first
        return (head, *rest, ".")


def finding(run: Run, *clause: Part, weight: float = 0.0, place: str = "") -> Finding:
    """A finding of a run; `place` is a part of its page."""
    return Finding(clause, run.title, f"{place or run.record.kind}{run.ending}", weight)


def task_word(task: Task) -> str:
    """A task inside a sentence."""
    return task.short if task.short.isupper() else task.short.lower()


def valued(value: Value) -> str:
    """A value with its interval: `0.523 (0.510–0.536)`."""
    return "" if value.row is None else figure(value.row, value.unit)


def figure(row: Result, unit: Unit = SCORE) -> str:
    """The same of a row that has a value."""
    low, high = row.ci_low, row.ci_high
    ends = f" ({unit.said_interval(low, high)})" if low is not None and high is not None else ""
    return unit.said(row.value or 0.0) + ends


def percents(row: Result, unit: Unit) -> str:
    """A row that is given in percent: `23.5% (21.9–25.1)`."""
    low, high = row.ci_low, row.ci_high
    ends = f" ({unit.interval(low, high)})" if low is not None and high is not None else ""
    return f"{unit.text(row.value or 0.0)}%{ends}"


def share(row: Result) -> str:
    """A share with its count: `4 of 48 (8%)`."""
    return numbers.share(row.value or 0.0, row.n)


def known(rows: Sequence[Result | None]) -> list[Result]:
    """The rows that have a value."""
    return [row for row in rows if row is not None and row.value is not None]
