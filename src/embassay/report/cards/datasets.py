"""On which datasets a system beats every other one, or all others beat it, where a task has several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from embassay.protocols.compare import Field, fields, read_values
from embassay.protocols.numbers import unit_of
from embassay.report.board import Row
from embassay.report.cards.findings import Finding, figure, finding, task_word
from embassay.report.gathered import Run
from embassay.report.tasks import present
from embassay.report.verdict import listed, plain

FILE = "headlines.parquet"
MOST_BYTES = 20_000_000
"""A larger file of headlines is left to `embassay compare`: a report must be written in seconds."""
MOST = 3


def good(run: Run, row: Row) -> Iterator[Finding]:
    """The datasets on which its rank is 1, by the same tests as on tasks."""
    own = [(field, one) for field, one in _places(run, row) if one == (1, 1)]
    if own:
        yield finding(run, f"beats every other system of its field on {_said(run, row, own)}", weight=2.5)


def bad(run: Run, row: Row) -> Iterator[Finding]:
    """The datasets on which every other one beats it."""
    own = [(field, one) for field, one in _places(run, row) if one == (len(field.entrants),) * 2]
    if own:
        yield finding(
            run, f"is beaten by every other system of its field on {_said(run, row, own)}", weight=3.5
        )


Placed = tuple[Field, tuple[int, int]]


def _places(run: Run, row: Row) -> Iterator[Placed]:
    """The fields of single datasets, of tasks that have several, in which it has a rank."""
    several = {
        task.name: task.headline for task in present(run.record) if len(run.record.datasets(task.name)) > 1
    }
    path = run.record.path / FILE
    if not several or not path.is_file() or path.stat().st_size > MOST_BYTES:
        return
    state = path.stat()
    for field in _fields(run.record.path, state.st_mtime_ns, state.st_size):
        if not field.dataset or several.get(field.task) != field.measure:
            continue
        for one in field.entrants:
            if one.system == row.system.name and one.rank_low is not None and one.rank_high is not None:
                yield field, (one.rank_low, one.rank_high)


def _said(run: Run, row: Row, own: Sequence[Placed]) -> str:
    word = {task.name: task_word(task) for task in present(run.record)}
    said = []
    for field, _ in own[:MOST]:
        one = run.record.find(field.task, row.system.name, field.measure, dataset=field.dataset)
        value = figure(one, unit_of(run.record.kind)) if one is not None else ""
        said.append(f"{word[field.task]} of {field.dataset} {value}")
    return plain(listed([*said, *([f"{len(own) - MOST} more"] if len(own) > MOST else [])]))


@lru_cache(maxsize=2)
def _fields(folder: Path, _written: int, _size: int) -> tuple[Field, ...]:
    return tuple(fields(read_values(folder)))
