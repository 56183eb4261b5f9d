"""A board as files: CSV and JSON in full precision, and a LaTeX table of what is shown first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from embassay.interchange.papers import value_with_interval
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import SCORE, Unit, csv_row, escape, inert
from embassay.web.leaderboard.board import Made
from embassay.web.leaderboard.contract import Cell, Column, as_plain
from embassay.web.leaderboard.table import Member, cell_of

FIELDS = (
    "system", "kind", "group", "run", "task", "dataset", "lang", "measure", "value", "ci_low", "ci_high", "n",
    "rank_low", "rank_high", "state", "reason",
)  # fmt: skip


def as_csv(made: Made) -> str:
    """One line per system and column; empty where there is no value, with the state and the reason. A text that a
    spreadsheet would take for a formula begins with an apostrophe."""
    lines = [csv_row(FIELDS)]
    for index, member, column, cell in _entries(made):
        names = (member.name, member.kind, member.group, member.entrant.run.name)
        where = (column.task, column.dataset, column.lang, column.measure)
        figures = (
            _exact(cell.value),
            _exact(cell.low),
            _exact(cell.high),
            cell.n,
            *_rank(made, index, column),
        )
        lines.append(csv_row([*map(inert, (*names, *where)), *figures, cell.state, inert(cell.reason)]))
    return "".join(lines)


def as_json(made: Made) -> str:
    """The board's record with the cells of all columns, by system."""
    plain: dict[str, Any] = as_plain(made.board)
    cells: dict[str, dict[str, Any]] = {}
    for _, member, column, cell in _entries(made):
        cells.setdefault(column.key, {})[member.name] = dict(zip(Cell._fields, cell, strict=True))
    names = [one.name for one in made.members]
    for name in ("ranks", "best"):
        plain[name] = {key: dict(zip(names, own, strict=True)) for key, own in plain[name].items()}
    del plain["top"], plain["alike"]
    return json.dumps({**plain, "cells": cells}, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def as_tex(made: Made) -> str:
    """A table of what is shown first, to be read with `\\input`: ranks, values with intervals; bold is the first of a
    column and all that no test tells apart from it."""
    board = made.board
    shown = [one for one in board.columns if one.overview]
    lines = [
        r"% Needs \usepackage{booktabs,graphicx}.", rf"% {escape(board.title)}, version {board.version}.",
        rf"% {escape(board.method)}", r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{rl{'r' * len(shown)}}}", r"\toprule",
        " & ".join(["Rank", "System", *(escape(one.title) for one in shown)]) + r" \\", r"\midrule",
    ]  # fmt: skip
    for row in board.systems:
        rank = board.ranks[board.lead][row.index] if board.lead in board.ranks else None
        values = [_value(made, one, row.index) for one in shown]
        placed = escape(numbers.rank(*rank)) if rank else ""
        lines.append(" & ".join([placed, escape(row.name), *values]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", ""])


def _value(made: Made, column: Column, index: int) -> str:
    cell = made.board.cells[column.key][index]
    if cell.value is None:
        return escape({"none": "–", "undefined": "n/a"}.get(cell.state, cell.state))
    unit = Unit(column.factor, column.decimals, column.decimals) if column.factor != 1 else SCORE
    return value_with_interval(
        cell.value, cell.low, cell.high, unit, bold=index in made.board.top[column.key]
    )


def _entries(made: Made) -> Iterator[tuple[int, Member, Column, Cell]]:
    for index, member in enumerate(made.members):
        for column in made.board.columns:
            yield index, member, column, _exact_cell(made, index, column)


def _exact_cell(made: Made, index: int, column: Column) -> Cell:
    """All digits of the value; the interval where the row was written without one is the board's."""
    cell = cell_of(made.members[index].entrant, column)
    if cell.low is not None or column.key not in made.board.cells:
        return cell
    shown = made.board.cells[column.key][index]
    return cell._replace(low=shown.low, high=shown.high)


def _rank(made: Made, index: int, column: Column) -> tuple[int | str, int | str]:
    ranks = made.board.ranks.get(column.key)
    return (ranks[index] if ranks is not None else None) or ("", "")


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)
