"""The card of one system: who it is, where it stands, where else it is found."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.web.leaderboard.board import Made
from embassay.web.leaderboard.cells import cell_of
from embassay.web.leaderboard.contract import Card, Cell, Column, Elsewhere, Stand
from embassay.web.leaderboard.discretion import without_paths
from embassay.web.leaderboard.library import Library, View
from embassay.web.leaderboard.part import rounded, stamp_of


def make_card(library: Library, view: View, made: Made, name: str) -> Card | None:
    """The card of the system called `name`; None where the board has none of that name."""
    board = made.board
    row = next((one for one in board.systems if one.name == name), None)
    if row is None:
        return None
    member = made.members[row.index]
    stands = tuple(
        stand
        for column in board.columns
        if (stand := _stand(made, row.index, column, rounded(cell_of(member.entrant, column)))).cell.state
        != "none"
    )
    ranked = [one for one in stands if one.rank is not None and one.of > 1]
    elsewhere = tuple(_elsewhere(library, view, board.id, name))
    identity = without_paths(str(member.entrant.described.get("identity") or ""))
    return Card(
        board.id, board.title, stamp_of((board.stamp, elsewhere)), row, identity, stands,
        tuple(one.column.title for one in ranked if one.rank is not None and one.rank[0] == 1),
        tuple(one.column.title for one in ranked if one.rank is not None and one.rank[0] > 1),
        elsewhere,
    )  # fmt: skip


def _stand(made: Made, index: int, column: Column, cell: Cell) -> Stand:
    board = made.board
    rank = board.ranks[column.key][index] if column.key in board.ranks else None
    best = board.best[column.key][index] if column.key in board.best else None
    return Stand(column, cell, rank, _of(made, column, index) if rank is not None else 0, best)


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
