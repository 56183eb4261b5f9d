"""What engines and those who use them promise each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from embassay.errors import UsageError
from embassay.records import TaskOutcome
from embassay.runs.cells import Cell, CellRecord

Advance = Callable[[int], None]
Work = Callable[[Any, Advance], TaskOutcome]
"""From a cell's job to its outcome; calls the second argument with the number of texts done, now and then. Over Ray it
is also given `spread`, where the parts of the cell are done."""


class Listener(Protocol):
    """Hears how a run goes on."""

    def started(self, cell: Cell) -> None:
        """A cell is in work."""
        ...

    def advanced(self, cell: Cell, texts: int) -> None:
        """So many more texts of the cell are done; fewer than none where a lost machine took them along."""
        ...

    def ended(self, cell: Cell, record: CellRecord) -> None:
        """A cell is done or has failed."""
        ...


class Engine(Protocol):
    """Does cells and keeps each as it ends. A cell that fails is a record with its reason, and the others go on."""

    def do(self, cells: Sequence[Cell], work: Work, listener: Listener) -> Iterator[CellRecord]:
        """The record of each cell as it ends, in any order. Closing the iterator stops what is in work."""
        ...


@dataclass(frozen=True)
class Processes:
    """Cells side by side in `count` processes of this machine; with 1 they are done in this one."""

    name = "local"
    count: int = 1


@dataclass(frozen=True)
class Ray:
    """Cells on a Ray cluster: the one at `address` (HOST:PORT, or "auto" for the one this machine is part of), or with
    None one of this machine alone, started for the run and stopped after it."""

    name = "ray"
    address: str | None = None


Workers = int | Processes | Ray
"""Who does the cells; a number is so many processes of this machine."""


def crew(workers: Workers) -> Processes | Ray:
    """The same in its long form. UsageError for fewer than one process."""
    chosen = Processes(workers) if isinstance(workers, int) else workers
    if isinstance(chosen, Processes) and chosen.count < 1:
        raise UsageError(f"There are {chosen.count} workers.", mend="Use 1 or more.")
    return chosen
