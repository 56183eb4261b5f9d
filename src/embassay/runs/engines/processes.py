"""Cells done in worker processes. The process that evaluates a cell writes its files, so a killed run loses the cells
in work and nothing else; the parent only collects."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from embassay.runs.cells import Cell, CellRecord
from embassay.runs.engines.attempts import attempt, keep, lost
from embassay.runs.engines.contract import Listener, Work
from embassay.runs.folder import RunFolder

DIED = "the worker process died, most likely for lack of memory"


class InProcesses:
    """So many worker processes; if one dies, what it may have held is done again one by one, to find the culprit."""

    def __init__(self, folder: RunFolder, count: int) -> None:
        self._folder, self._count = folder, count

    def do(self, cells: Sequence[Cell], work: Work, listener: Listener) -> Iterator[CellRecord]:
        """The records as they come."""
        left, size = list(cells), self._count
        while left:
            alone = left if size > 1 else left[:1]
            with _Pool(size, self._folder, work, alone, listener) as pool:
                for cell, record in pool.do(alone):
                    left.remove(cell)
                    listener.ended(cell, record)
                    yield record
            if pool.broken and size == 1:
                cell = left.pop(0)
                record = keep(cell, lost(DIED), self._folder)
                listener.ended(cell, record)
                yield record
            size = 1 if pool.broken else size


class _Pool:
    """A process pool whose workers report what they start and how far they are."""

    def __init__(
        self, size: int, folder: RunFolder, work: Work, cells: Sequence[Cell], listener: Listener
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
        self._by_key, self._listener = {cell.key: cell for cell in cells}, listener
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
    be_a_worker()
    _worker.update(events=events, folder=RunFolder(Path(folder)), work=work)


def be_a_worker() -> None:
    """Leave Ctrl-C to the parent, and end when it ends, however it does."""
    # Ctrl-C reaches the whole group; only the parent answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed can tell nobody, but the pipe that it held is closed. A worker that went on would keep
    memory, and write into a folder that the next session holds."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do_in_worker(cell: Cell) -> CellRecord:
    events = _worker["events"]
    events.put((cell.key, None))
    tried = attempt(_worker["work"], cell.job, lambda texts: events.put((cell.key, texts)))
    return keep(cell, tried, _worker["folder"])
