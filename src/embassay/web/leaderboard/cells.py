"""A system in a column: its value, or the word that stands there, with its reason."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols import numbers
from embassay.protocols.standings import OVERALL
from embassay.web.leaderboard.columns import place_of
from embassay.web.leaderboard.contract import Cell, Column, State
from embassay.web.leaderboard.joining import Entrant
from embassay.web.leaderboard.reading import Place, Score, Work


def cell_of(entrant: Entrant, column: Column) -> Cell:
    """The cell of a system in a column."""
    place = place_of(column)
    score = entrant.score(place) or _on_its_only_dataset(entrant, place)
    if score is not None:
        value, low, high, n, reason = score
        if value is not None:
            return Cell(value, low, high, n, "done", "")
        if not _waiting(_behind(entrant, place)) and not _failed(_behind(entrant, place)):
            return Cell(None, None, None, n, "undefined", reason or "no value was recorded")
    return _missing(entrant, _behind(entrant, place), place)


def _on_its_only_dataset(entrant: Entrant, place: Place) -> Score | None:
    """While a run goes on, a task of one dataset has its value there: a mean of one."""
    task, dataset, measure = place
    if dataset or task == OVERALL or not entrant.run.running:
        return None
    only = {one.dataset for one in entrant.work if one.task == task}
    return entrant.score((task, only.pop(), measure)) if len(only) == 1 else None


def _behind(entrant: Entrant, place: Place) -> Sequence[Work]:
    """The cells of the run that the value is made of."""
    task, dataset, _ = place
    return [
        one
        for one in entrant.work
        if (task == OVERALL or one.task == task) and (not dataset or one.dataset == dataset)
    ]


def _waiting(work: Sequence[Work]) -> list[Work]:
    return [one for one in work if one.status == "not run"]


def _failed(work: Sequence[Work]) -> list[Work]:
    return [one for one in work if one.status == "failed"]


def _missing(entrant: Entrant, work: Sequence[Work], place: Place) -> Cell:
    """Why there is no value: a failed cell first, then one not done, then that there is nothing to be."""
    failed, waiting = _failed(work), _waiting(work)
    if failed:
        where = f"{failed[0].task}, {failed[0].dataset}: " if len(work) > 1 else ""
        return _none("failed", where + (failed[0].reason or "no reason was recorded"))
    if waiting:
        done = f"{numbers.count(len(work) - len(waiting))} of {numbers.counted(len(work), 'cell')}"
        if entrant.run.running:
            return _none("running", done)
        return _none("partial" if len(waiting) < len(work) else "not run", done)
    if work and entrant.run.running:
        return _none("running", "its cells are done; the mean is made when the run ends")
    if work and place[0] == OVERALL:
        return _none("undefined", "no mean over all tasks")
    return _none("none", "not part of its run")


def _none(state: State, reason: str) -> Cell:
    return Cell(None, None, None, 0, state, reason)
