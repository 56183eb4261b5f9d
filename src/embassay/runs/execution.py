"""Doing the cells of a run, and the parts of a cell, with what is finished kept whatever happens."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing import resource_tracker
from pathlib import Path
from time import perf_counter
from typing import Any, Generic, Protocol, TypeVar

from embassay.contracts import CellPartExecutor, Encoder
from embassay.errors import BudgetExceeded, EmbassayError, ModelError, TextRefused, UsageError
from embassay.machine import HANGUP
from embassay.records import TaskOutcome
from embassay.registry import describe_error_place_in_plugin
from embassay.runs.folder import (
    CellRecord,
    RunCell,
    RunFolder,
    make_failed_cell_record,
    make_finished_record,
    write_parquet_columns,
)
from embassay.runs.memory import PeakMemory

T = TypeVar("T")

_HOPELESS = 8
"""So many calls since the last answer that fail for no reason of their own mean that the model cannot be had."""


@dataclass(frozen=True)
class CallFailure:
    """A call without an answer, and why; `error` as it was raised."""

    reason: str
    error: ModelError | None = field(default=None, compare=False)


class ModelLossDetector:
    """Whether a model can still be had. What fails takes longest, so at the end of all calls failures come in a row;
    only those that were begun after the last answer say that there will be no more."""

    def __init__(self) -> None:
        self._answered = float("-inf")
        self._failures = 0

    def answered(self) -> None:
        """The model did its work, if only to refuse a text."""
        self._answered, self._failures = perf_counter(), 0

    def is_model_lost_after_failure(self, begun: float) -> bool:
        """Note a call that was begun at this `perf_counter` and failed for no reason of its own."""
        self._failures += begun > self._answered
        return self._failures >= _HOPELESS


async def run_concurrent_jobs(
    jobs: Iterable[Callable[[], Awaitable[T]]], *, at_once: int = 256, progress: Callable[[int], None] | None = None
) -> AsyncIterator[tuple[int, T | CallFailure]]:
    """Start the jobs, at most `at_once` of them at a time, and yield (position, outcome) of each as it comes.

    `progress` is called with 1 for each. No job's result is None.

    A job that fails with a ModelError is a Failure and the others go on. BudgetExceeded and other errors, and the
    ModelError of a model that cannot be had (8 since the last answer that are no matter of their job), are raised after
    what is in flight has been yielded.
    """
    waiting = enumerate(jobs)
    running: dict[asyncio.Task[T], tuple[int, float]] = {}
    # Not asyncio.wait, which goes through all that are running whenever one ends.
    ended: asyncio.Queue[asyncio.Task[T]] = asyncio.Queue()
    stop: _WorkStopSignal[T] = _WorkStopSignal()
    try:
        while True:
            # After an error nothing is begun any more, but what is in flight may be paid for: it is heard out.
            if stop.error is None:
                for position, job in islice(waiting, at_once - len(running)):
                    task: asyncio.Task[T] = asyncio.ensure_future(_call_and_await(job))
                    task.add_done_callback(ended.put_nowait)
                    running[task] = position, perf_counter()
            if not running:
                break
            task = await ended.get()
            position, begun = running.pop(task)
            outcome = stop.outcome(task, begun)
            if outcome is not None:
                if progress is not None:
                    progress(1)
                yield position, outcome
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)  # whoever closes this early leaves no task behind
    if stop.error is not None:
        raise stop.error


async def _call_and_await(job: Callable[[], Awaitable[T]]) -> T:
    return await job()  # what a job raises as it is called is its task's, too


class _WorkStopSignal(Generic[T]):
    """Whether the work is to stop, and the error that it stops with."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._hope = ModelLossDetector()

    def outcome(self, task: asyncio.Task[T], begun: float) -> T | CallFailure | None:
        """What came of the task; None for an error that is no outcome but the end."""
        error = task.exception()
        if error is None:
            self._hope.answered()
            return task.result()
        if not isinstance(error, ModelError):
            self.error = self.error or error
            return None
        if isinstance(error, TextRefused):
            self._hope.answered()
        elif self._hope.is_model_lost_after_failure(begun):
            self.error = self.error or error
        return CallFailure(str(error), error)


Advance = Callable[[int], None]
Work = Callable[[Any, Advance], TaskOutcome]
"""From a cell's job to its outcome; calls the second argument with the number of texts done, now and then. Over Ray it
is also given `spread`, where the parts of the cell are done."""


class RunListener(Protocol):
    """Hears how a run goes on."""

    def started(self, cell: RunCell) -> None:
        """A cell is in work."""
        ...

    def advanced(self, cell: RunCell, texts: int) -> None:
        """So many more texts of the cell are done; fewer than none where a lost machine took them along."""
        ...

    def ended(self, cell: RunCell, record: CellRecord) -> None:
        """A cell is done or has failed."""
        ...


class CellEngine(Protocol):
    """An engine that does cells and keeps each as it ends; one that fails is a record with its reason."""

    def do(self, cells: Sequence[RunCell], work: Work, listener: RunListener) -> Iterator[CellRecord]:
        """The record of each cell as it ends, in any order. Closing the iterator stops what is in work."""
        ...


@dataclass(frozen=True)
class ProcessWorkers:
    """Cells side by side in `count` processes of this machine; with 1 they are done in this one."""

    name = "local"
    count: int = 1


@dataclass(frozen=True)
class RayWorkers:
    """Cells on a Ray cluster: the one at `address` (HOST:PORT, or "auto" for the one this machine is part of), or with
    None one of this machine alone, started for the run and stopped after it."""

    name = "ray"
    address: str | None = None


Workers = int | ProcessWorkers | RayWorkers
"""Who does the cells; a number is so many processes of this machine."""


def convert_workers_to_settings(workers: Workers) -> ProcessWorkers | RayWorkers:
    """The same in its long form. UsageError for fewer than one process."""
    chosen = ProcessWorkers(workers) if isinstance(workers, int) else workers
    if isinstance(chosen, ProcessWorkers) and chosen.count < 1:
        raise UsageError(f"There are {chosen.count} workers.", mend="Use 1 or more.")
    return chosen


@dataclass(frozen=True)
class CellAttempt:
    """What came of a cell: its outcome, or the reason why there is none, with the traceback; the seconds it took and
    the most memory its process held meanwhile."""

    outcome: TaskOutcome | None
    reason: str
    log: str
    seconds: float
    peak_bytes: int | None = None


def attempt_cell_evaluation(work: Callable[..., TaskOutcome], job: Any, advance: Advance, **how: Any) -> CellAttempt:
    """Evaluate a cell. A failure is an attempt too, the end of the money is not."""
    start, memory = time.perf_counter(), PeakMemory()
    try:
        outcome = work(job, advance, **how)
    except BudgetExceeded:
        raise
    except (Exception, SystemExit) as error:  # what is evaluated may call exit(), which is not ours to follow
        return _make_failed_attempt(error, time.perf_counter() - start)
    return CellAttempt(outcome, "", "", time.perf_counter() - start, memory.bytes)


def save_cell_attempt(cell: RunCell, tried: CellAttempt, folder: RunFolder) -> CellRecord:
    """Write the items of a cell and its record, or the log of its failure and the record of that. OSError where the
    folder takes no more: that is no failure of the cell."""
    if tried.outcome is not None:
        try:
            record = make_finished_record(cell, tried.outcome, tried.seconds, tried.peak_bytes)
            _write_cell_items(cell, tried.outcome, folder)
            folder.write_cell_record(cell, record)
            return record
        except OSError:
            raise
        except Exception as error:
            tried = _make_failed_attempt(error, tried.seconds)
    folder.write_cell_failure_log(cell, tried.log)
    record = make_failed_cell_record(cell, tried.reason, tried.seconds)
    folder.write_cell_record(cell, record)
    return record


def make_attempt_of_dead_cell_process(reason: str) -> CellAttempt:
    """Make the attempt of a cell whose process died, or whose machines did, without a word."""
    return CellAttempt(None, reason, f"{reason}\n", 0.0)


def _make_failed_attempt(error: BaseException, seconds: float) -> CellAttempt:
    return CellAttempt(None, describe_error(error), "".join(traceback.format_exception(error)), seconds)


def _write_cell_items(cell: RunCell, outcome: TaskOutcome, folder: RunFolder) -> None:
    for suffix, columns in (("", outcome.items), (".rankings", outcome.rankings)):
        if columns:
            where = (cell.task, cell.dataset, cell.system, suffix)
            write_parquet_columns(folder.locate_cell_items(*where, variant=cell.variant), columns)


def describe_error(error: BaseException) -> str:
    """What went wrong, in one line, and where, if it was in code that was registered from outside."""
    if isinstance(error, EmbassayError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, SystemExit):
        return (
            f"it called exit({'' if error.code is None else repr(error.code)}){describe_error_place_in_plugin(error)}"
        )
    first_line = str(error).strip().partition("\n")[0]
    where = describe_error_place_in_plugin(error)
    return (f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__) + where


class InProcessCellEngine:
    """The engine that does cells in this process; also for cells that wait for a server."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder

    def do(self, cells: Sequence[RunCell], work: Work, listener: RunListener) -> Iterator[CellRecord]:
        """The records, in the order of the cells."""
        for cell in cells:
            listener.started(cell)
            record = save_cell_attempt(
                cell, attempt_cell_evaluation(work, cell.job, partial(listener.advanced, cell)), self._folder
            )
            listener.ended(cell, record)
            yield record


A = TypeVar("A")
B = TypeVar("B")


class LocalCellPartExecutor:
    """An executor that does the parts of a cell here, one after another, without spreading them."""

    def map(self, work: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Map `work` over the items by the builtin, each as it is asked for."""
        return map(work, items)

    def encoder(self, encoder: Encoder, made: Callable[[], Encoder]) -> Encoder:
        """The encoder itself."""
        del made
        return encoder

    def open_encoder_remotely(self, made: Callable[[], Encoder], accelerated: bool, /) -> None:
        """Leave the encoder to be opened here: None."""
        del made, accelerated

    def cache(self, opened: Callable[[], A], /) -> A:
        """What `opened` opens."""
        return opened()


HERE: CellPartExecutor = LocalCellPartExecutor()


_NONE: Mapping[str, str] = {}


class LazyCellEngine:
    """Who does the cells of a run: an engine that is opened when there is work for it, and serves until `close`.
    `files` are read by the cells: the machines of a cluster must see them; `identities` of the systems, by name, are
    what they must be there."""

    def __init__(
        self, workers: Workers, folder: RunFolder, files: Sequence[Path] = (), identities: Mapping[str, str] = _NONE
    ) -> None:
        self.chosen, self._folder = convert_workers_to_settings(workers), folder
        self._files, self._identities = files, identities
        self._facts: dict[str, Any] = {}
        self._held = ExitStack()
        self._cluster: CellEngine | None = None

    def do(
        self, cells: Sequence[RunCell], work: Work, listener: RunListener, remote: Work | None = None
    ) -> Iterator[CellRecord]:
        """Do the cells and yield each one's record as it ends, in any order.

        Cells that wait for a server come last, so that what is free is done when the money ends, and always in this
        process, where `remote` keeps the accounts: many of their calls are in flight at once anyway. BudgetExceeded
        ends the run.
        """
        if free := [cell for cell in cells if not cell.remote]:
            # Closed at once where the caller stops: workers would go on until a collection of garbage.
            with closing(self._open_cell_engine(len(free)).do(free, work, listener)) as done:  # type: ignore[type-var]
                yield from done
        paid = [cell for cell in cells if cell.remote]
        yield from InProcessCellEngine(self._folder).do(paid, remote or work, listener)

    def close(self) -> None:
        """Leave the cluster, or stop it where it was started for the run."""
        self._cluster = None
        self._held.close()

    @property
    def facts(self) -> dict[str, Any]:
        """What a manifest says of the engine: its name, and of a cluster what it offered."""
        chosen = self.chosen
        if isinstance(chosen, RayWorkers):
            return {"name": chosen.name, "address": chosen.address, **self._facts}
        return {"name": chosen.name, "workers": chosen.count}

    @property
    def worker_count(self) -> int:
        """How many cells the workers do side by side; 0 where that is not known yet."""
        return self._facts.get("cpus", 0) if isinstance(self.chosen, RayWorkers) else self.chosen.count

    def _open_cell_engine(self, cells: int) -> CellEngine:
        chosen = self.chosen
        if isinstance(chosen, RayWorkers):
            if self._cluster is None:
                from embassay.runs.cluster.engine import join_ray_cluster

                cluster = self._held.enter_context(
                    join_ray_cluster(chosen, self._folder, self._files, self._identities)
                )
                self._cluster, self._facts = cluster, cluster.facts
            return self._cluster
        # A process takes seconds to start, and one cell gains nothing by it.
        if chosen.count == 1 or cells == 1:
            return InProcessCellEngine(self._folder)

        return MultiProcessCellEngine(self._folder, chosen.count)


DIED = "the worker process died, most likely because it ran out of memory"


class MultiProcessCellEngine:
    """So many worker processes; if one dies, what it may have held is done again one by one, to find the culprit."""

    def __init__(self, folder: RunFolder, count: int) -> None:
        self._folder, self._count = folder, count

    def do(self, cells: Sequence[RunCell], work: Work, listener: RunListener) -> Iterator[CellRecord]:
        """The records as they come."""
        todo, size = list(cells), self._count
        while todo:
            # After a death one cell a pool: only then it is certain whose process died.
            alone = todo if size > 1 else todo[:1]
            with _CellProcessPool(size, self._folder, work, alone, listener) as pool:
                for cell, record in pool.do(alone):
                    todo.remove(cell)
                    listener.ended(cell, record)
                    yield record
            if pool.broken and size == 1:
                cell = todo.pop(0)
                record = save_cell_attempt(cell, make_attempt_of_dead_cell_process(DIED), self._folder)
                listener.ended(cell, record)
                yield record
            size = 1 if pool.broken else size


class _CellProcessPool:
    """A process pool whose workers report what they start and how far they are."""

    def __init__(
        self, size: int, folder: RunFolder, work: Work, cells: Sequence[RunCell], listener: RunListener
    ) -> None:
        # A fork would copy locks that the threads of numeric libraries hold, but not the threads.
        context = multiprocessing.get_context("spawn")
        _start_semaphore_tracker()
        self.broken = False
        # Written by the worker itself: a Queue has a thread for that, which dies with its last words.
        self._events = context.SimpleQueue()
        self._executor = ProcessPoolExecutor(
            size, mp_context=context, initializer=_set_up_worker, initargs=(self._events, str(folder.path), work)
        )
        self._by_key, self._listener = {cell.key: cell for cell in cells}, listener
        self._reader = threading.Thread(target=self._relay_events, daemon=True)

    def __enter__(self) -> _CellProcessPool:
        self._reader.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # Not public, but a pool has no other way to end a cell in its midst.
            for process in list((self._executor._processes or {}).values()):
                process.terminate()
        self._executor.shutdown(cancel_futures=True)
        self._events.put(None)
        self._reader.join(timeout=5)  # a worker that was killed while it wrote may hold the queue's lock for ever

    def do(self, cells: Sequence[RunCell]) -> Iterator[tuple[RunCell, CellRecord]]:
        pending: dict[Future[CellRecord], RunCell] = {}
        try:
            pending = {self._executor.submit(_evaluate_and_save_cell_in_worker, cell): cell for cell in cells}
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield pending.pop(future), future.result()
        except BrokenProcessPool:
            self.broken = True

    def _relay_events(self) -> None:
        while (event := self._events.get()) is not None:
            key, texts = event
            cell = self._by_key[key]
            if texts is None:
                self._listener.started(cell)
            else:
                self._listener.advanced(cell, texts)


def _start_semaphore_tracker() -> None:
    """Start the library's process that looks after semaphores, which knows of Ctrl-C and TERM, but would die of a
    terminal that closes. A signal that is ignored now stays so in what is started."""
    if threading.current_thread() is not threading.main_thread():
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in HANGUP}
    try:
        resource_tracker.ensure_running()
    finally:
        for number, answer in before.items():
            signal.signal(number, answer)


_worker: dict[str, Any] = {}


def _set_up_worker(events: Any, folder: str, work: Work) -> None:
    tie_worker_to_parent()
    _worker.update(events=events, folder=RunFolder(Path(folder)), work=work)


def tie_worker_to_parent() -> None:
    """Leave Ctrl-C and a terminal that closes to the parent, and end when it ends, however it does."""
    # Both reach the whole group; only the parent answers them.
    for number in (signal.SIGINT, *HANGUP):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed can tell nobody, but the pipe that it held is closed. A worker that went on would keep
    memory, and write into a folder that the next session holds."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _evaluate_and_save_cell_in_worker(cell: RunCell) -> CellRecord:
    events = _worker["events"]
    events.put((cell.key, None))
    tried = attempt_cell_evaluation(_worker["work"], cell.job, lambda texts: events.put((cell.key, texts)))
    return save_cell_attempt(cell, tried, _worker["folder"])
