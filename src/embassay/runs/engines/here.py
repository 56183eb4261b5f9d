"""Cells done in this process, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.runs.cells import Cell, CellRecord
from embassay.runs.engines.attempt import do_cell
from embassay.runs.engines.contract import Listener, Work
from embassay.runs.folder import RunFolder


class InThisProcess:
    """The simplest engine; also the one for cells that wait for a server, whatever does the others."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder

    def do(self, cells: Sequence[Cell], work: Work, listener: Listener) -> Iterator[CellRecord]:
        """The records, in the order of the cells."""
        for cell in cells:
            listener.started(cell)
            record = do_cell(
                cell,
                work,
                self._folder,
                lambda texts, cell=cell: listener.advanced(cell, texts),  # type: ignore[misc]
            )
            listener.ended(cell, record)
            yield record
