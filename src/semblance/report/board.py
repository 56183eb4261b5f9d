"""The board: every system with its rank range, its leading score and one value per task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from semblance.records import Result
from semblance.report import numbers
from semblance.report.names import labels
from semblance.report.record import FEW, OVERALL, Cell, Record, System
from semblance.report.sage.tasks import Task, item_count, present

State = Literal["value", "failed", "running", "partial", "not run", "undefined", "none"]
WORDS: dict[State, str] = {
    "failed": "✕ failed", "running": "◔ running", "partial": "◐ partial", "not run": "not run",
    "undefined": "n/a", "none": numbers.NONE,
}  # fmt: skip


@dataclass(frozen=True)
class Value:
    """A cell of the board: a value with its interval, or the state that stands there, with its reason."""

    state: State
    row: Result | None = None
    best: bool = False
    reason: str = ""
    few: bool = False
    """Whether so few items stand behind the value that it is shown grey."""

    @property
    def value(self) -> float | None:
        """The exact value, None where there is none."""
        return self.row.value if self.row is not None else None

    @property
    def text(self) -> str:
        """The value to three decimals, or the word of its state."""
        return WORDS[self.state] if self.value is None else numbers.score(self.value)

    @property
    def interval(self) -> str:
        """The 95% interval, empty where there is none."""
        row = self.row
        return (
            ""
            if row is None or row.ci_low is None or row.ci_high is None
            else numbers.interval(row.ci_low, row.ci_high)
        )


def ends(values: Iterable[Value]) -> list[float]:
    """All values and ends of intervals, for a scale."""
    rows = [value.row for value in values if value.row is not None]
    return [end for row in rows for end in (row.value, row.ci_low, row.ci_high) if end is not None]


@dataclass(frozen=True)
class Row:
    """One system on the board; `rank` is empty for an unranked one, `note` stands in for its score."""

    system: System
    label: str
    rank: str
    lead: Value
    tasks: tuple[Value, ...]
    note: str = ""


@dataclass(frozen=True)
class Board:
    """The systems: ranked ones best first, then those with a task missing, then references.

    `lead` names the scope of the leading score: `overall`, or the first task when no system has all five.
    """

    lead: str
    lead_title: str
    tasks: tuple[Task, ...]
    ranked: tuple[Row, ...]
    unranked: tuple[Row, ...]
    references: tuple[Row, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in the order of the board."""
        return self.ranked + self.unranked + self.references

    @property
    def has_ranks(self) -> bool:
        """Whether the tests allowed ranks."""
        return any(row.rank for row in self.ranked)

    def row(self, system: str) -> Row:
        """The row of the system called `system`."""
        return next(row for row in self.rows if row.system.name == system)

    def by_task(self, name: str) -> tuple[Row, ...]:
        """The rows by their value on a task, best first; then those without one; references last."""
        place = next(i for i, task in enumerate(self.tasks) if task.name == name)

        def order(row: Row) -> tuple[bool, bool, float]:
            value = row.tasks[place].value
            return (not row.system.ranked, value is None, -(value or 0.0))

        return tuple(sorted(self.rows, key=order))


def make_board(record: Record) -> Board:
    """The board of a record."""
    tasks = present(record)
    lead = leading_scope(record)
    title = (
        "Overall" if lead == OVERALL else next((task.short for task in tasks if task.name == lead), "Overall")
    )
    label_of = labels([system.name for system in record.systems])
    rows = [_row(record, system, lead, tasks, label_of[system.name]) for system in record.systems]
    complete = [row for row in rows if row.system.ranked and row.lead.value is not None]
    order = {name: place for place, name in enumerate(record.scope(lead).systems)}
    complete.sort(key=lambda row: (order.get(row.system.name, len(order)), -(row.lead.value or 0)))
    missing = [row for row in rows if row.system.ranked and row.lead.value is None]
    references = [row for row in rows if not row.system.ranked]
    return Board(lead, title, tasks, tuple(complete), tuple(missing), tuple(references))


def leading_scope(record: Record) -> str:
    """`overall`, or in a run of fewer than five tasks the first that a ranked system has finished."""
    names = [system.name for system in record.ranked_systems]
    if any(record.value(OVERALL, name, OVERALL) is not None for name in names):
        return OVERALL
    done = (
        task.name
        for task in present(record)
        if any(record.value(task.name, name, task.headline) is not None for name in names)
    )
    return next(done, OVERALL) if _asked_for_less(record) else OVERALL


def _asked_for_less(record: Record) -> bool:
    """Whether the run has no cells for one of the five tasks, so that no system can have an overall score."""
    return len(present(record)) < 5


def task_value(record: Record, system: System, task: Task) -> Value:
    """A system's headline on a task, or the state that stands there instead."""
    row = record.find(task.name, system.name, task.headline)
    if row is not None and row.value is not None:
        best = system.ranked and system.name in record.scope(task.name).best
        return Value("value", row, best, few=item_count(record, task, system.name) < FEW)
    return missing_value(record, record.cells_of(task.name, system.name), row)


def missing_value(record: Record, cells: Sequence[Cell], row: Result | None) -> Value:
    """Why there is no value: a failed cell first, then one not done, then the measure's own reason."""
    failed = [cell for cell in cells if cell.status == "failed"]
    waiting = [cell for cell in cells if cell.status == "not run"]
    if failed:
        where = f"{failed[0].dataset}: " if len(cells) > 1 else ""
        return Value("failed", reason=where + (failed[0].reason or "no reason was recorded"))
    if waiting:
        running = record.manifest.get("status") == "running"
        state: State = "running" if running else "partial" if len(waiting) < len(cells) else "not run"
        done = f"{len(cells) - len(waiting)} of {len(cells)} datasets" if len(cells) > 1 else ""
        return Value(state, reason=done)
    if not cells and row is None:
        return Value("none", reason="not part of the run")
    return Value(
        "undefined", reason=row.reason if row is not None and row.reason else "no value was recorded"
    )


def _row(record: Record, system: System, lead: str, tasks: tuple[Task, ...], label: str) -> Row:
    values = tuple(task_value(record, system, task) for task in tasks)
    ranges = record.scope(lead).ranges.get(system.name)
    rank = numbers.rank(*ranges) if ranges and system.ranked else ""
    if lead != OVERALL:
        place = [task.name for task in tasks].index(lead)
        return Row(system, label, rank, values[place], values)
    row = record.find(OVERALL, system.name, OVERALL)
    if row is not None and row.value is not None:
        best = system.ranked and system.name in record.scope(OVERALL).best
        return Row(system, label, rank, Value("value", row, best), values)
    return Row(
        system,
        label,
        "",
        Value("undefined", reason=row.reason if row else ""),
        values,
        _partial_mean(record, system),
    )


def _partial_mean(record: Record, system: System) -> str:
    row = record.find(OVERALL, system.name, "mean_of_present")
    if row is None or row.value is None:
        return "no finished task"
    tasks = f"{row.n} finished tasks" if row.n > 1 else "one finished task"
    return f"mean of the {tasks} {numbers.score(row.value)}"
