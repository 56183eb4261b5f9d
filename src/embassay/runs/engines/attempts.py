"""Doing one cell and keeping it: what does it may be on another machine, what keeps it is where the run's folder is."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from embassay.errors import BudgetExceeded, EmbassayError
from embassay.records import TaskOutcome
from embassay.runs.cells import Cell, CellRecord, failed, finished
from embassay.runs.engines.contract import Advance, Listener, Work
from embassay.runs.folder import RunFolder, write_columns
from embassay.runs.memory import PeakMemory


@dataclass(frozen=True)
class Attempt:
    """What came of a cell: its outcome, or the reason why there is none, with the traceback; the seconds it took and
    the most memory its process held meanwhile."""

    outcome: TaskOutcome | None
    reason: str
    log: str
    seconds: float
    peak_bytes: int | None = None


def attempt(work: Callable[..., TaskOutcome], job: Any, advance: Advance, **how: Any) -> Attempt:
    """Evaluate a cell. A failure is an attempt too, the end of the money is not."""
    start, memory = time.perf_counter(), PeakMemory()
    try:
        outcome = work(job, advance, **how)
    except BudgetExceeded:
        raise
    except Exception as error:
        return _without_outcome(error, time.perf_counter() - start)
    return Attempt(outcome, "", "", time.perf_counter() - start, memory.bytes)


def keep(cell: Cell, tried: Attempt, folder: RunFolder) -> CellRecord:
    """Write the items of a cell and its record, or the log of its failure and the record of that. OSError where the
    folder takes no more: that is no failure of the cell."""
    if tried.outcome is not None:
        try:
            record = finished(cell, tried.outcome, tried.seconds, tried.peak_bytes)
            _write_items(cell, tried.outcome, folder)
            folder.write_cell(cell, record)
            return record
        except OSError:
            raise
        except Exception as error:
            tried = _without_outcome(error, tried.seconds)
    folder.write_log(cell, tried.log)
    record = failed(cell, tried.reason, tried.seconds)
    folder.write_cell(cell, record)
    return record


def lost(reason: str) -> Attempt:
    """A cell whose process died, or whose machines did, without a word."""
    return Attempt(None, reason, f"{reason}\n", 0.0)


def _without_outcome(error: Exception, seconds: float) -> Attempt:
    return Attempt(None, in_words(error), "".join(traceback.format_exception(error)), seconds)


def _write_items(cell: Cell, outcome: TaskOutcome, folder: RunFolder) -> None:
    for suffix, columns in (("", outcome.items), (".rankings", outcome.rankings)):
        if columns:
            where = (cell.task, cell.dataset, cell.system, suffix)
            write_columns(folder.items_path(*where, variant=cell.variant), columns)


def in_words(error: BaseException) -> str:
    """What went wrong, in one line."""
    if isinstance(error, EmbassayError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory"
    first_line = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__


class InThisProcess:
    """The simplest engine; also the one for cells that wait for a server, whatever does the others."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder

    def do(self, cells: Sequence[Cell], work: Work, listener: Listener) -> Iterator[CellRecord]:
        """The records, in the order of the cells."""
        for cell in cells:
            listener.started(cell)
            record = keep(cell, attempt(work, cell.job, partial(listener.advanced, cell)), self._folder)
            listener.ended(cell, record)
            yield record
