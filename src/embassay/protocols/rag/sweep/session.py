"""A sweep from request to finished folder, cell by cell, resuming what is there."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from embassay.errors import BudgetExceeded, ModelError, UsageError
from embassay.protocols.manifest import manifest, moment, sessions, spent
from embassay.protocols.rag.sweep.bench import Bench, Encoded
from embassay.protocols.rag.sweep.cell import IndexedBench, skipped_all
from embassay.protocols.rag.sweep.configuration import NONE, Configuration
from embassay.protocols.rag.sweep.counting import Counting
from embassay.protocols.rag.sweep.findings import conclude, result_rows
from embassay.protocols.rag.sweep.footprint import Room
from embassay.protocols.rag.sweep.parts import Parts, SweepEncoder
from embassay.protocols.rag.sweep.plan import CellJob, SweepPlan
from embassay.protocols.rag.sweep.prices import PriceList
from embassay.protocols.rag.sweep.reading import TIMINGS, is_whole, read_sweep
from embassay.protocols.rag.sweep.stacks import TASK, Found, write_found
from embassay.protocols.rag.sweep.stopwatch import Stopwatch
from embassay.protocols.session import Accounts, read_previous
from embassay.runs.cells import Cell, CellRecord
from embassay.runs.engines.attempt import in_words
from embassay.runs.folder import RunFolder
from embassay.runs.memory import PeakMemory
from embassay.runs.promise import check
from embassay.runs.store import index_folder
from embassay.search.indexes import INDEXES
from embassay.systems import sized


@dataclass
class SweepSession:
    """One attempt at a sweep."""

    folder: RunFolder
    plan: SweepPlan
    parts: Parts
    prices: PriceList
    accounts: Accounts
    command: str
    records: dict[str, CellRecord] = field(default_factory=dict)
    done_now: int = 0

    def __post_init__(self) -> None:
        self.previous = read_previous(self.folder, self.plan.systems)
        self.watch = Stopwatch(self.folder.path / TIMINGS, self.plan.request.latency)
        self.room = Room(self.parts.tokenizer)
        self._clock = time.perf_counter()

    def begin(self, *, force: bool) -> None:
        """Find what is done, and write down what is asked."""
        if force:
            for folder in ("cells", "stacks", TIMINGS, "items", "rankings"):
                for path in sorted((self.folder.path / folder).rglob("*")):
                    if path.is_file():
                        path.unlink()
        for cell in self.plan.cells:
            record = self.folder.read_cell(cell)
            if record is not None and record.done and is_whole(self.folder, cell, self.watch):
                self.records[cell.key] = record
        self.write_manifest("running")

    def do(self) -> None:
        """All cells that are not done, dataset by dataset and encoder by encoder: vectors of one are in memory."""
        waiting = [cell for cell in self.plan.cells if cell.key not in self.records]
        self.parts.listener.planned(self.plan, waiting, {})
        for _, own in groupby(waiting, key=lambda cell: _bench_of(cell.job)):
            cells = list(own)
            job: CellJob = cells[0].job
            bench = Bench(self.parts, job.collection, job.head.chunk, job.head.rewrite)
            try:
                bench.rewrite_queries()
            except Exception as error:
                self._all_failed(cells, error)
                continue
            for _, some in groupby(cells, key=lambda cell: _source_of(cell.job.head)):
                self._encoder(bench, list(some))

    def _encoder(self, bench: Bench, cells: Sequence[Cell]) -> None:
        """The cells of one encoder; where it fails, all of them fail."""
        counting = Counting(self.parts)
        try:
            head = cells[0].job.head
            encoder = self.parts.encoder(head.encoder, head.dims)
            cells = [cell for cell in cells if self._fits(cell, bench, encoder)]
            if not cells:
                return
            encoded = Encoded.of(bench, encoder)
        except Exception as error:
            self._all_failed(cells, error)
            return
        for cell in cells:
            self._cell(cell, encoded, counting)

    def _fits(self, cell: Cell, bench: Bench, encoder: SweepEncoder) -> bool:
        """Whether the cell keeps the promise of memory, if there is one; it has failed otherwise."""
        job: CellJob = cell.job
        try:
            check(self.room.needed(job.collection, job.configurations, encoder.system, made=bench.made))
        except UsageError as error:
            self._failed(cell, str(error), 0.0)
            return False
        return True

    def _all_failed(self, cells: Sequence[Cell], error: Exception) -> None:
        for cell in cells:
            self._broken(cell, error, 0.0)

    def _broken(self, cell: Cell, error: Exception, seconds: float) -> None:
        """The cell has failed, whatever went wrong; the end of the money is no failure of a cell."""
        if isinstance(error, BudgetExceeded):
            raise error
        self.folder.write_log(cell, "".join(traceback.format_exception(error)))
        self._failed(cell, error.message if isinstance(error, ModelError) else in_words(error), seconds)

    def _cell(self, cell: Cell, encoded: Encoded, counting: Counting) -> None:
        job: CellJob = cell.job
        began, memory, listener = time.perf_counter(), PeakMemory(), self.parts.listener
        listener.started(cell)
        try:
            with self._indexed(job, encoded, counting) as bench:
                found = bench.measure(
                    job.configurations, lambda queries: listener.advanced(cell, queries), loaded=self._loaded
                )
        except _Unfit as error:
            # The combination makes no sense, and nothing has failed.
            found = Found((), tuple(self._skipped(job, str(error), failed=False)))
        except Exception as error:
            if isinstance(error, ModelError) and _is_server(job.head.index):
                self.parts.give_up("index", job.head.index, error)
            self._broken(cell, error, time.perf_counter() - began)
            return
        self._keep(cell, found, time.perf_counter() - began, counting.taken(), memory.bytes, encoded.warnings)

    @contextmanager
    def _indexed(self, job: CellJob, encoded: Encoded, counting: Counting) -> Iterator[IndexedBench]:
        self.parts.check("index", job.head.index)
        kept = index_folder()
        try:
            bench = IndexedBench.of(encoded, job.head.dims, job.head.index, self.watch, kept)
        except UsageError as error:
            raise _Unfit(error.message) from error
        counting.index(bench.index.facts)
        try:
            yield bench
        finally:
            bench.close()

    def _loaded(self, one: Configuration) -> bool:
        """Whether it is timed with several queries in flight: at full dimensions, and with a reranker on the first
        index only, which is then a small share of the time."""
        return one.dims is None and (one.reranker == NONE or one.index == self.plan.request.index[0])

    def _skipped(self, job: CellJob, reason: str, *, failed: bool) -> Iterator[Any]:
        return skipped_all(job.configurations, job.collection.name, reason, failed=failed)

    def _failed(self, cell: Cell, reason: str, seconds: float) -> None:
        found = Found((), tuple(self._skipped(cell.job, reason, failed=True)))
        self._keep(cell, found, seconds, {}, None)

    def _keep(
        self,
        cell: Cell,
        found: Found,
        seconds: float,
        counts: Mapping[str, int],
        peak: int | None,
        warnings: Sequence[str] = (),
    ) -> None:
        job: CellJob = cell.job
        failure = next((one.reason for one in found.skipped if one.failed), "")
        record = CellRecord(
            cell.key, cell.task, cell.dataset, cell.system, "failed" if failure else "done", failure, seconds, (), {},
            counts={**counts, "configurations": len(found.stacks)}, peak_bytes=peak, warnings=tuple(warnings),
        )  # fmt: skip
        write_found(self.folder, cell, job.collection.query_ids, found)
        self.folder.write_cell(cell, record)
        self.records[cell.key] = record
        self.done_now += record.done
        self.parts.listener.ended(cell, record)

    def end(self) -> None:
        """Write what follows from all that is measured, whatever has happened."""
        self.parts.close()
        self.accounts.spending.close()
        done = len(self.records) == len(self.plan.cells) and all(one.done for one in self.records.values())
        self.write_manifest("finished" if done else "partial")
        sweep = read_sweep(self.folder.path)
        self.folder.write_results(result_rows(conclude(sweep, self.folder.path)) if sweep.measured else ())

    def write_manifest(self, status: str) -> None:
        """Replace the manifest."""
        request, spending = self.plan.request, self.accounts.spending
        now = {
            "name": self.folder.path.resolve().name,
            "status": status,
            "created": self.previous.get("created", spending.session),
            "updated": moment(),
            "command": self.command,
            "kind": TASK,
            "rules": asdict(request.rules),
            "prices": {
                "tokens": dict(self.prices.tokens),
                "searches": dict(self.prices.searches),
                "date": self.prices.date,
            },
            "queries": {one.name: list(one.query_ids) for one in self.plan.collections},
            "senseless": [
                {"configuration": asdict(one), "reason": reason}
                for one, reason in self.plan.grid.senseless.items()
            ],
            "sessions": sessions(self.previous, self._entry(), spending),
            "spent": spent(spending, self.accounts.ledger.max_usd),
        }
        self.folder.write_manifest(manifest("rag", self.plan, self.records, now))

    def _entry(self) -> dict[str, Any]:
        return {
            "started": self.accounts.spending.session,
            "ended": moment(),
            "cells_done": self.done_now,
            "seconds": round(time.perf_counter() - self._clock, 3),
        }


class _Unfit(Exception):
    """An index cannot be made of these vectors."""


def _source_of(one: Configuration) -> str:
    """Whose vectors a combination takes: an encoder has others of its own for some dimensions."""
    return sized(one.encoder, one.dims)


def _bench_of(job: CellJob) -> tuple[str, str, str]:
    return job.collection.name, job.head.chunk, job.head.rewrite


def _is_server(index: str) -> bool:
    return "server" in dict(INDEXES.get(INDEXES.parse(index).name).facts).get("kind", "")
