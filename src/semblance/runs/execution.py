"""Doing cells: here or in worker processes, with what is finished kept whatever happens.

A cell that fails is a record with its reason and the others go on. The parent only collects; the process that
evaluates a cell writes its files, so a killed run loses the cells in work and nothing else.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Protocol

from semblance.errors import BudgetExceeded, SemblanceError
from semblance.records import TaskOutcome
from semblance.runs.cells import Cell, CellRecord, failed, finished
from semblance.runs.folder import RunFolder, write_columns
from semblance.runs.memory import PeakMemory

Advance = Callable[[int], None]
Work = Callable[[Any, Advance], TaskOutcome]
"""From a cell's job to its outcome; calls the second argument with the number of texts done, now and then."""


class Listener(Protocol):
    """Hears how a run goes on."""

    def started(self, cell: Cell) -> None:
        """A cell is in work."""
        ...

    def advanced(self, cell: Cell, texts: int) -> None:
        """So many more texts of the cell are done."""
        ...

    def ended(self, cell: Cell, record: CellRecord) -> None:
        """A cell is done or has failed."""
        ...


def execute(
    cells: Sequence[Cell],
    work: Work,
    folder: RunFolder,
    *,
    workers: int,
    listener: Listener,
    remote: Work | None = None,
) -> Iterator[CellRecord]:
    """Do the cells and yield each one's record as it ends, in any order.

    Cells that wait for a server come last, so that what is free is done when the money ends, and always in this
    process, where `remote` keeps the accounts: many of their calls are in flight at once anyway. BudgetExceeded ends
    the run.
    """
    here = [cell for cell in cells if not cell.remote]
    if workers <= 1 or len(here) <= 1:
        yield from _in_this_process(here, work, folder, listener)
    else:
        yield from _in_workers(here, work, folder, workers, listener)
    yield from _in_this_process([cell for cell in cells if cell.remote], remote or work, folder, listener)


def do_cell(cell: Cell, work: Work, folder: RunFolder, advance: Advance) -> CellRecord:
    """Evaluate one cell and write its items and its record; a failure becomes a record too, the end of the money
    does not."""
    start, memory = time.perf_counter(), PeakMemory()
    try:
        outcome = work(cell.job, advance)
        _write_items(cell, outcome, folder)
        record = finished(cell, outcome, time.perf_counter() - start, memory.bytes)
    except BudgetExceeded:
        raise
    except Exception as error:
        folder.write_log(cell, traceback.format_exc())
        record = failed(cell, _in_words(error), time.perf_counter() - start)
    folder.write_cell(cell, record)
    return record


def _write_items(cell: Cell, outcome: TaskOutcome, folder: RunFolder) -> None:
    for suffix, columns in (("", outcome.items), (".rankings", outcome.rankings)):
        if columns:
            where = (cell.task, cell.dataset, cell.system, suffix)
            write_columns(folder.items_path(*where, variant=cell.variant), columns)


def _in_words(error: Exception) -> str:
    if isinstance(error, SemblanceError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory"
    first_line = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__


def _in_this_process(
    cells: Sequence[Cell], work: Work, folder: RunFolder, listener: Listener
) -> Iterator[CellRecord]:
    for cell in cells:
        listener.started(cell)
        record = do_cell(cell, work, folder, lambda texts, cell=cell: listener.advanced(cell, texts))  # type: ignore[misc]
        listener.ended(cell, record)
        yield record


def _in_workers(
    cells: Sequence[Cell], work: Work, folder: RunFolder, workers: int, listener: Listener
) -> Iterator[CellRecord]:
    """Cells in a pool; if a worker dies, what it may have held is done again one by one, to find the culprit."""
    by_key = {cell.key: cell for cell in cells}
    left = list(cells)
    size = workers
    while left:
        alone = left if size > 1 else left[:1]
        with _Pool(size, folder, work, by_key, listener) as pool:
            for cell, record in pool.do(alone):
                left.remove(cell)
                listener.ended(cell, record)
                yield record
        if pool.broken and size == 1:
            cell = left.pop(0)
            record = failed(cell, "the worker process died, most likely for lack of memory", 0.0)
            folder.write_cell(cell, record)
            listener.ended(cell, record)
            yield record
        size = 1 if pool.broken else size


class _Pool:
    """A process pool whose workers report what they start and how far they are."""

    def __init__(
        self, size: int, folder: RunFolder, work: Work, by_key: dict[str, Cell], listener: Listener
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.broken = False
        self._events = context.SimpleQueue()
        self._executor = ProcessPoolExecutor(
            size,
            mp_context=context,
            initializer=_start_worker,
            initargs=(self._events, str(folder.path), work),
        )
        self._by_key, self._listener = by_key, listener
        self._reader = threading.Thread(target=self._hear, daemon=True)

    def __enter__(self) -> _Pool:
        self._reader.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for process in list((self._executor._processes or {}).values()):
                process.terminate()
        self._executor.shutdown(cancel_futures=True)
        self._events.put(None)
        self._reader.join(timeout=5)

    def do(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, CellRecord]]:
        pending: dict[Future[CellRecord], Cell] = {}
        try:
            pending = {self._executor.submit(_do_in_worker, cell): cell for cell in cells}
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield pending.pop(future), future.result()
        except BrokenProcessPool:
            self.broken = True

    def _hear(self) -> None:
        while (event := self._events.get()) is not None:
            key, texts = event
            cell = self._by_key[key]
            if texts is None:
                self._listener.started(cell)
            else:
                self._listener.advanced(cell, texts)


_worker: dict[str, Any] = {}


def _start_worker(events: Any, folder: str, work: Work) -> None:
    # Ctrl-C reaches the whole group; only the parent answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker.update(events=events, folder=RunFolder(Path(folder)), work=work)


def _do_in_worker(cell: Cell) -> CellRecord:
    events = _worker["events"]
    events.put((cell.key, None))
    return do_cell(cell, _worker["work"], _worker["folder"], lambda texts: events.put((cell.key, texts)))
