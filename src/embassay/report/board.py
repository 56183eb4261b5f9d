"""The board: every system with its rank range, its leading score and one value per task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from embassay.protocols import numbers
from embassay.protocols.numbers import SCORE, Unit
from embassay.records import Result
from embassay.report.names import labels
from embassay.report.record import APART, FEW, OVERALL, Cell, Record, System
from embassay.report.tasks import Task, item_count, present

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
    unit: Unit = SCORE

    @property
    def value(self) -> float | None:
        """The exact value, None where there is none."""
        return self.row.value if self.row is not None else None

    @property
    def text(self) -> str:
        """The value with the decimals of its unit, or the word of its state."""
        return WORDS[self.state] if self.value is None else self.unit.text(self.value)

    @property
    def interval(self) -> str:
        """The 95% interval, empty where there is none."""
        row = self.row
        return (
            ""
            if row is None or row.ci_low is None or row.ci_high is None
            else self.unit.interval(row.ci_low, row.ci_high)
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
    """The systems: ranked ones best first, those ranked apart because another method stands behind their score, those
    with a task missing, references.

    `lead` names the scope of the leading score: `overall`, or the first task when no system can have that.
    """

    lead: str
    lead_title: str
    tasks: tuple[Task, ...]
    ranked: tuple[Row, ...]
    unranked: tuple[Row, ...]
    references: tuple[Row, ...]
    apart: tuple[Row, ...] = ()
    unit: Unit = SCORE

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in the order of the board."""
        return self.ranked + self.apart + self.unranked + self.references

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
    complete = _in_order(record, lead, complete)
    aside = () if record.scope(lead).name.endswith(APART) else record.scope(lead + APART).systems
    missing = [row for row in rows if row.system.ranked and row.lead.value is None]
    references = [row for row in rows if not row.system.ranked]
    return Board(
        lead, title, tasks,
        tuple(row for row in complete if row.system.name not in aside),
        tuple(missing), tuple(references),
        tuple(row for row in complete if row.system.name in aside),
        tasks[0].printed if tasks else SCORE,
    )  # fmt: skip


def _in_order(record: Record, lead: str, rows: list[Row]) -> list[Row]:
    """Complete rows in the order of their scope, then by value."""
    names = (*record.scope(lead).systems, *record.scope(lead + APART).systems)
    order = {name: place for place, name in reversed(list(enumerate(names)))}
    return sorted(rows, key=lambda row: (order.get(row.system.name, len(order)), -(row.lead.value or 0)))


def leading_scope(record: Record) -> str:
    """`overall`; in a run whose tasks are too few for one, the first that a ranked system has finished."""
    tasks, names = present(record), [system.name for system in record.ranked_systems]
    if len(tasks) >= (5 if record.kind == "sage" else 2):
        return OVERALL
    done = (
        task.name
        for task in tasks
        if any(record.value(task.name, name, task.headline) is not None for name in names)
    )
    return next(done, OVERALL)


def task_value(record: Record, system: System, task: Task) -> Value:
    """A system's headline on a task, or the state that stands there instead."""
    row = record.find(task.name, system.name, task.headline)
    if row is not None and row.value is not None:
        best = system.ranked and system.name in record.scope(task.name).best
        few = item_count(record, task, system.name) < FEW
        return Value("value", row, best, few=few, unit=task.printed)
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
    ranges = record.placed(lead, system.name)
    rank = numbers.rank(*ranges) if ranges and system.ranked else ""
    if lead != OVERALL:
        place = [task.name for task in tasks].index(lead)
        return Row(system, label, rank, values[place], values)
    row = record.find(OVERALL, system.name, OVERALL)
    if row is not None and row.value is not None:
        best = system.ranked and system.name in record.scope(OVERALL).best
        unit = tasks[0].printed if tasks else SCORE
        return Row(system, label, rank, Value("value", row, best, unit=unit), values)
    return Row(
        system,
        label,
        "",
        Value("undefined", reason=row.reason if row else ""),
        values,
        _partial_mean(record, system, tasks, values),
    )


def _partial_mean(record: Record, system: System, tasks: tuple[Task, ...], values: tuple[Value, ...]) -> str:
    row = record.find(OVERALL, system.name, "mean_of_present")
    if row is None or row.value is None:
        if finished := sum(one.value is not None for one in values):
            return f"{finished} of {numbers.counted(len(tasks), 'task')} finished"
        headlines = {one.name: one.headline for one in tasks}
        some = any(
            dataset and not variant and name == system.name and headlines.get(of) == measure
            for (of, dataset, _, variant, name, measure), found in record.rows.items()
            if found.value is not None
        )
        return "no task has all its datasets" if some else "no finished task"
    counted = f"{row.n} finished tasks" if row.n > 1 else "one finished task"
    return f"mean of the {counted} {numbers.score(row.value)}"
