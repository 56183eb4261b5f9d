"""Where a system beats every other one or may be first, and where all others beat it: by the tests of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.protocols import numbers
from embassay.report.board import Board, Row
from embassay.report.cards.findings import Finding, finding, task_word, valued
from embassay.report.gathered import Run
from embassay.report.record import APART, OVERALL, Scope
from embassay.report.tasks import Task, trivial_value
from embassay.report.verdict import listed, plain

MOST = 7
NO_MORE = {"robustness": "noise kept above the summary alone would give"}
"""What a task's constant is, where its label is too short for a sentence."""


def good(run: Run, row: Row) -> Iterator[Finding]:
    """Tasks on which its rank range is 1, then those where it includes 1."""
    alone = [task for task in _tasks(run, row) if _range(run, task, row) == (1, 1)]
    maybe = [
        task for task in _tasks(run, row) if _first(run, task, row) and task not in alone + untold(run, row)
    ]
    for noun, tasks in _by_field(run, row, alone):
        yield finding(run, f"beats every other {noun} on {_values(run, row, tasks)}", weight=3)
    if maybe:
        yield finding(run, f"may be first on {_values(run, row, maybe)}", weight=2)


def bad(run: Run, row: Row) -> Iterator[Finding]:
    """Tasks on which every other system of its field beats it, and those on which a reference does as well."""
    last = [task for task in _tasks(run, row) if _is_last(_scope(run, task.name, row), row)]
    for noun, tasks in _by_field(run, row, last):
        yield finding(run, f"is beaten by every other {noun} on {_values(run, row, tasks)}", weight=4)
    for i, task in enumerate(run.board.tasks):
        value, trivial = row.tasks[i], trivial_value(run.record, task)
        if (
            value.value is None
            or trivial is None
            or value.value > trivial
            or _is_constant(task, value.value, trivial)
        ):
            continue
        what = NO_MORE.get(task.name) or (
            f"the reference {task.trivial_system}" if task.trivial_system else task.trivial_label
        )
        said = (
            f"scores {valued(value)} on {task_word(task)}, no more than {what} ({task.printed.said(trivial)})"
        )
        yield finding(run, said, weight=6 if task.trivial_system else 2)


def overall(run: Run, row: Row) -> str:
    """`rank 1–2 of 6 systems overall`; empty without a rank."""
    scope = _scope(run, run.board.lead, row)
    ranges = scope.ranges.get(row.system.name)
    if ranges is None:
        return ""
    where = "overall" if run.board.lead == OVERALL else f"on {run.board.lead_title.lower()}"
    of = numbers.counted(len(scope.systems), _noun(run.board, scope, row))
    return f"rank {numbers.rank(*ranges)} of {of} {where}"


def untold(run: Run, row: Row) -> list[Task]:
    """The tasks on which the tests allow it every place: they say nothing of it."""
    return [
        task
        for task in _tasks(run, row)
        if _range(run, task, row) == (1, len(_scope(run, task.name, row).systems))
    ]


def _is_constant(task: Task, value: float, trivial: float) -> bool:
    """Whether it reaches a constant exactly: robustness of 1/3 is what its first relation allows."""
    return not task.trivial_system and value > trivial - 1e-9


def _tasks(run: Run, row: Row) -> list[Task]:
    """The tasks of the board on which it has a rank among two or more."""
    return [task for task in run.board.tasks if _range(run, task, row) is not None]


def _scope(run: Run, name: str, row: Row) -> Scope:
    """The field that it was compared in."""
    for scope in (run.record.scope(name), run.record.scope(name + APART)):
        if row.system.name in scope.ranges:
            return scope
    return run.record.scope(name)


def _range(run: Run, task: Task, row: Row) -> tuple[int, int] | None:
    scope = _scope(run, task.name, row)
    return scope.ranges.get(row.system.name) if len(scope.systems) > 1 else None


def _first(run: Run, task: Task, row: Row) -> bool:
    ranges = _range(run, task, row)
    return ranges is not None and ranges[0] == 1


def _is_last(scope: Scope, row: Row) -> bool:
    last = len(scope.systems)
    return scope.ranges.get(row.system.name) == (last, last)


def _by_field(run: Run, row: Row, tasks: Sequence[Task]) -> Iterator[tuple[str, list[Task]]]:
    """Tasks together that have the same kind of field: all systems, encoders alone, classical metrics alone."""
    found: dict[str, list[Task]] = {}
    for task in tasks:
        found.setdefault(_noun(run.board, _scope(run, task.name, row), row), []).append(task)
    yield from found.items()


def _noun(board: Board, scope: Scope, row: Row) -> str:
    kinds = {board.row(name).system.kind for name in scope.systems}
    every = {one.system.kind for one in board.rows if one.system.ranked}
    if kinds == every or len(kinds) > 1:
        return "system"
    return "classical metric" if row.system.kind == "classical" else "encoder"


def _values(run: Run, row: Row, tasks: Sequence[Task]) -> str:
    """`STS 81.4 (78.0–84.2) and retrieval 60.1 (55.0–64.9)`."""
    place = {task.name: i for i, task in enumerate(run.board.tasks)}
    said = [f"{task_word(task)} {valued(row.tasks[place[task.name]])}" for task in tasks[:MOST]]
    more = [f"{len(tasks) - MOST} more"] if len(tasks) > MOST else []
    return plain(listed([*said, *more]))
