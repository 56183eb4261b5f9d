"""The scores of a system among those of the others, run by run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.protocols.numbers import Unit
from embassay.report.board import Row, Value
from embassay.report.gathered import Run
from embassay.report.leading import leading
from embassay.report.record import OVERALL, Record
from embassay.report.scale import Scale, scale_of
from embassay.report.tasks import PLACES, Task
from embassay.report.verdict import Sentence, listed, plain


@dataclass(frozen=True)
class Standing:
    """A score of the system beside those of the others."""

    title: str
    value: Value
    others: tuple[float, ...]
    scale: Scale
    rank: str


@dataclass(frozen=True)
class Standings:
    """The scores of a system in one run. `place` is a sentence; `title` is empty where there is one run."""

    title: str
    place: Sentence
    scores: tuple[Standing, ...]


def standings_of(run: Run, row: Row, *, several: bool) -> Standings:
    """Those of a run; of several, and where the run has no board, the leading score alone, under the run's title."""
    if not several and run.record.kind in PLACES:
        return Standings("", _place(run, row), _scores(run, row))
    place = _place(run, row) if run.record.kind in PLACES else ()
    return Standings(run.title, place, tuple(_leading(run, row.system.name)))


def _leading(run: Run, system: str) -> Iterator[Standing]:
    """The figure that the run's table of leading scores has."""
    found = leading(run)
    own = None if found is None else found.leaders.get(system)
    if found is None or own is None:
        return
    others = [
        one.value.value
        for name, one in found.leaders.items()
        if name != system and one.kind != "reference" and one.value.value is not None
    ]
    title = found.run if found.measure == OVERALL or found.people else f"{found.run}, {found.measure}"
    yield Standing(title, own.value, tuple(others), found.scale, own.placed)


def group_of(run: Run, row: Row) -> tuple[int, str]:
    """How many systems it is ranked with, and what they are called."""
    apart = run.board.apart
    own = apart if row in apart else run.board.ranked
    kinds = {one.system.kind for one in own}
    metrics = "classical metric" if kinds == {"classical"} else "system"
    return len(own), metrics if not apart else "classical metric" if row in apart else "encoder"


def _place(run: Run, row: Row) -> Sentence:
    if not row.system.ranked:
        return ("It shows what a score is worth without understanding.",)
    record, board = run.record, run.board
    best = [
        task.short if task.short.isupper() else task.short.lower()
        for task in board.tasks
        if row.system.name in record.scope(task.name).best
    ]
    tasks = plain(listed(best))
    if row.rank:
        scope = "overall" if board.lead == OVERALL else f"on {board.lead_title.lower()}"
        place = f"Rank {row.rank} of {group_of(run, row)[0]} ranked systems {scope}"
    else:
        place = row.note.capitalize() if row.note else f"No score {board.lead_title.lower()}"
    return (f"{place}" + (f"; best or not told apart from the best on {tasks}." if best else "."),)


def _scores(run: Run, row: Row) -> tuple[Standing, ...]:
    record, board = run.record, run.board
    made = []
    if board.lead == OVERALL:
        others = [one.lead.value for one in board.ranked + board.apart if one is not row]
        made.append(_standing("Overall", row.lead, others, row.rank, board.unit))
    for i, task in enumerate(board.tasks):
        others = [one.tasks[i].value for one in board.rows if one is not row and one.system.ranked]
        made.append(_standing(task.short, row.tasks[i], others, _rank(record, task, row), task.printed))
    return tuple(made)


def _standing(title: str, value: Value, others: Sequence[float | None], rank: str, unit: Unit) -> Standing:
    known = tuple(other for other in others if other is not None)
    scale = scale_of(
        [*known, *([] if value.value is None else [value.value])],
        within=None if unit.factor != 1 else (0.0, 1.0), factor=unit.factor,
    )  # fmt: skip
    return Standing(title, value, known, scale, rank)


def _rank(record: Record, task: Task, row: Row) -> str:
    ranges = record.placed(task.name, row.system.name)
    return numbers.rank(*ranges) if ranges else ""
