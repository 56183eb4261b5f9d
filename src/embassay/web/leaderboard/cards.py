"""The card of one system, and two systems of a board side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from embassay.errors import EmbassayError
from embassay.protocols.compare import Contrast, compare_systems
from embassay.protocols.kernel.comparisons import ALPHA
from embassay.protocols.kernel.tables import Unit
from embassay.web.leaderboard.board import Made, rounded, stamp_of
from embassay.web.leaderboard.contract import Card, Cell, Column, Comparison, ContrastRow, Elsewhere, Stand
from embassay.web.leaderboard.folders import Place, without_paths
from embassay.web.leaderboard.library import Library, View
from embassay.web.leaderboard.ranking import values_of
from embassay.web.leaderboard.table import Member, cell_of, place_of


def make_card(library: Library, view: View, made: Made, name: str) -> Card | None:
    """The card of the system called `name`; None where the board has none of that name."""
    board = made.board
    row = next((one for one in board.systems if one.name == name), None)
    if row is None:
        return None
    stands = tuple(
        stand
        for column in board.columns
        if not column.parts
        and (stand := _stand(made, row.index, column, _cell(made, row.index, column))).cell.state != "none"
    )
    ranked = [one for one in stands if one.rank is not None and one.of > 1]
    elsewhere = tuple(_elsewhere(library, view, board.id, name))
    identity = without_paths(str(made.members[row.index].entrant.described.get("identity") or ""))
    return Card(
        board.id, board.title, stamp_of((board.stamp, elsewhere)), row, identity, stands,
        tuple(one.column.title for one in ranked if one.rank is not None and one.rank[0] == 1),
        tuple(one.column.title for one in ranked if one.rank is not None and one.rank[0] > 1),
        elsewhere,
    )  # fmt: skip


def _cell(made: Made, index: int, column: Column) -> Cell:
    """As the board has it, with the interval of its replicates; as the run has it where the board shows it later."""
    shown = made.board.cells.get(column.key)
    return shown[index] if shown is not None else rounded(cell_of(made.members[index].entrant, column))


def _stand(made: Made, index: int, column: Column, cell: Cell) -> Stand:
    board = made.board
    rank = board.ranks[column.key][index] if column.key in board.ranks else None
    best = board.best[column.key][index] if column.key in board.best else None
    of = _of(made, column, index) if rank is not None else 0
    return Stand(column, cell, rank, of, best, board.ranked(column.key))


def _of(made: Made, column: Column, index: int) -> int:
    """How many are ranked in the system's group."""
    board = made.board
    group = board.systems[index].group
    ranks = board.ranks[column.key]
    return sum(
        rank is not None and one.group == group for rank, one in zip(ranks, board.systems, strict=True)
    )


def _elsewhere(library: Library, view: View, here: str, name: str) -> Iterator[Elsewhere]:
    """Its leading value on the other boards, newest first."""
    for line in view.boards.boards:
        if line.id == here or not any(name in run.systems for run in view.joined[line.id].runs):
            continue
        made = library.board(line.id, view)
        row = next((one for one in made.board.systems if one.name == name), None) if made else None
        if made is None or row is None or made.joined.lead is None:
            continue
        column = next(one for one in made.board.columns if one.key == made.board.lead)
        stand = _stand(made, row.index, column, made.board.cells[column.key][row.index])
        yield Elsewhere(line.id, line.title, line.version, column, stand.cell, stand.rank, stand.of)


def compare(made: Made, a: str, b: str) -> Comparison | None:
    """`a` against `b` in every column in which one of them has a value; None where the board has not both."""
    members = {one.name: one for one in made.members}
    if a not in members or b not in members or a == b:
        return None
    contrasts, paired, reason = _contrasts(members[a], members[b])
    rows = []
    for column in (one for one in made.board.columns if not one.parts):
        cells = cell_of(members[a].entrant, column), cell_of(members[b].entrant, column)
        if any(cell.value is not None for cell in cells):
            contrast = _contrast_at(contrasts, place_of(column), (members[a], members[b]))
            rows.append(_row(column, cells, contrast, reason))
    labels = {one.name: one.label for one in made.board.systems}
    return Comparison(a, b, _title(labels[a], labels[b], rows, made.board.lead), paired, reason, tuple(rows))


def _contrasts(a: Member, b: Member) -> tuple[Mapping[Place, Contrast], bool, str]:
    """Contrasts by place; none, with the reason, where the runs keep nothing to test."""
    first, second = a.entrant.run, b.entrant.run
    if first.running or second.running:
        return {}, False, "the run is still going on; tests are made when it ends"
    try:
        other = None if first is second else values_of(second)
        found = compare_systems(values_of(first), first.name_of(a.name), second.name_of(b.name), other)
    except (EmbassayError, OSError, ValueError):
        return {}, False, "nothing is kept that the two could be compared by"
    by_place = {(one.task, one.dataset, one.measure): one for one in found.contrasts}
    return by_place, found.pairing.paired, found.pairing.reason


def _contrast_at(
    contrasts: Mapping[Place, Contrast], place: Place, pair: tuple[Member, Member]
) -> Contrast | None:
    """The contrast at a place; on the only dataset of a task that of the task, which is kept once."""
    task, dataset, measure = place
    own = {one.dataset for member in pair for one in member.entrant.work if one.task == task}
    return contrasts.get(place) or (contrasts.get((task, "", measure)) if own == {dataset} else None)


def _row(column: Column, cells: tuple[Cell, Cell], found: Contrast | None, reason: str) -> ContrastRow:
    values = cells[0].value, cells[1].value
    difference = None if values[0] is None or values[1] is None else values[0] - values[1]
    why = next((cell.reason or cell.state for cell in cells if cell.value is None), "")
    if found is None:
        why = why or reason or "no test: nothing is kept to resample"
        low = high = p = adjusted = smallest = None
    else:
        why = why or without_paths(found.reason)
        low, high, smallest = _known(found.low), _known(found.high), _known(found.smallest)
        p, adjusted = _known(found.p), _known(found.p_adjusted)
    return ContrastRow(
        column.key, column.title, column.task, column.dataset, column.measure, column.unit, column.factor,
        column.decimals, column.higher_is_better, *values, difference, low, high, p, adjusted, smallest,
        min(cell.n for cell in cells), why,
    )  # fmt: skip


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _title(a: str, b: str, rows: Sequence[ContrastRow], lead: str) -> str:
    """The finding on the leading column."""
    row = next((one for one in rows if one.key == lead), None)
    on = f" on {row.title}" if row is not None and row.title != "Overall" else ""
    if row is None or row.difference is None:
        return f"{a} and {b} have no value in common{on}"
    if row.p_adjusted is None:
        return f"No test compares {a} and {b}{on}"
    if row.p_adjusted >= ALPHA:
        return f"{a} cannot be told apart from {b}{on}"
    better = (row.difference > 0) == row.higher_is_better
    first, second = (a, b) if better else (b, a)
    unit = Unit(row.factor, row.decimals, 1 if row.unit == "points" else row.decimals)
    return f"{first} beats {second} by {unit.said(abs(row.difference))}{on}"
