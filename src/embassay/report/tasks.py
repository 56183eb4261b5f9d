"""What the report says of a task, whatever its protocol: names, units, what a score does not mean."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from embassay.protocols.numbers import SCORE, Unit
from embassay.report.record import Record

PLACES = {
    "sage": "embassay.report.sage.tasks",
    "pteb": "embassay.report.pteb.tasks",
    "original": "embassay.report.pteb.tasks",
}


@dataclass(frozen=True)
class Task:
    """One task in words. `trivial` is a value that needs no understanding, a constant or a reference's; `printed` says
    how values are written."""

    name: str
    title: str
    short: str
    headline: str
    unit: str
    items: str
    superlative: str
    how: str
    caution: str = ""
    trivial: float | None = None
    trivial_label: str = ""
    trivial_system: str = ""
    printed: Unit = SCORE


def all_tasks(record: Record) -> tuple[Task, ...]:
    """Every task of the run's protocol, in the order of its page."""
    if record.kind not in PLACES:
        return ()
    place = import_module(PLACES[record.kind])
    tasks: tuple[Task, ...] = place.tasks_of(record) if hasattr(place, "tasks_of") else place.TASKS
    return tasks


def present(record: Record) -> tuple[Task, ...]:
    """The tasks that the run has, in the order of the page."""
    return tuple(task for task in all_tasks(record) if record.datasets(task.name))


def trivial_value(record: Record, task: Task) -> float | None:
    """The dashed line of the task's panel: its constant, or the score of a reference system."""
    if task.trivial is not None:
        return task.trivial
    return record.value(task.name, task.trivial_system, task.headline)


def item_count(record: Record, task: Task, system: str) -> int:
    """How many items a system's score on a task rests on: the sum over its datasets."""
    rows = (
        record.find(task.name, system, task.headline, dataset=dataset)
        for dataset in record.datasets(task.name)
    )
    return sum(row.n for row in rows if row is not None and row.value is not None)
