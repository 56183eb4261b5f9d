"""How much RA-nWG hangs on its constants: the grid of spec rag 1.8, a row per setting."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain

from embassay.measures import sensitivity_grid
from embassay.measures.sensitivity import Cell
from embassay.protocols.rag.scoring.placed import Board
from embassay.protocols.rag.scoring.record import SensitivityCell


def sensitivity(board: Board, cutoffs: Iterable[int], unjudged: str) -> tuple[SensitivityCell, ...]:
    """24 cells for each cutoff: the value of every run, their order, its tau against the default's, and the change."""
    return tuple(chain.from_iterable(_cells(board, k, unjudged) for k in cutoffs))


def _cells(board: Board, k: int, unjudged: str) -> Iterable[SensitivityCell]:
    grid = sensitivity_grid({run.name: run.graded for run in board.runs}, k, unjudged=unjudged)  # type: ignore[arg-type]
    usual = grid.cells[grid.default]
    for i, cell in enumerate(grid.cells):
        yield SensitivityCell(
            k, cell.alpha, cell.cap4, cell.cap3, {name: _known(value) for name, value in cell.scores.items()},
            cell.order, _known(cell.tau), _change(cell, usual), i == grid.default,
        )  # fmt: skip


def _change(cell: Cell, usual: Cell) -> float | None:
    changes = [abs(cell.scores[name] - usual.scores[name]) for name in cell.scores]
    return max((change for change in changes if not math.isnan(change)), default=None)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
