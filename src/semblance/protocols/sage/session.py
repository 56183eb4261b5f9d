"""A SAGE run from request to finished folder."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

from semblance.errors import UsageError
from semblance.protocols.sage import work
from semblance.protocols.sage.cost import forecast
from semblance.protocols.sage.manifest import manifest, moment, sessions, spent
from semblance.protocols.sage.outcome import SageRun
from semblance.protocols.sage.plan import Plan, make_plan
from semblance.protocols.sage.request import Request
from semblance.protocols.sage.summary import summarise
from semblance.protocols.sage.tables import tables
from semblance.records import Result
from semblance.runs.cells import Cell, CellRecord
from semblance.runs.execution import execute
from semblance.runs.files import to_json, write_atomic
from semblance.runs.folder import RunFolder, write_columns
from semblance.runs.spending import Spending
from semblance.systems.remote import Ledger


class Silent:
    """A listener that says nothing."""

    def planning(self, plan: Plan) -> None:
        """What the cells will take is about to be counted."""

    def planned(self, plan: Plan, waiting: Sequence[Cell], seconds: Mapping[str, float]) -> None:
        """The plan is made; these cells are still to be done, in so many seconds each (by key) where that is known."""

    def started(self, cell: Cell) -> None:
        """A cell is in work."""

    def advanced(self, cell: Cell, texts: int) -> None:
        """So many more texts of the cell are done."""

    def ended(self, cell: Cell, record: CellRecord) -> None:
        """A cell is done or has failed."""


def run(
    systems: Sequence[str],
    *,
    datasets: Sequence[str | Path] = ("sample",),
    tasks: Sequence[str] = (),
    out: str | Path,
    workers: int = 1,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> SageRun:
    """Evaluate systems with SAGE, resuming what is unfinished in `out`, and return the run.

    Further arguments are those of `Request`: mapping, split, grades, limit, seed (1337), tokenizer ("cl100k"),
    options. `max_usd` limits what the run may cost, earlier sessions in `out` included. Raises UsageError when `out`
    holds a run of other arguments, BudgetExceeded when the limit is reached: what is finished is kept.
    """
    request = Request(tuple(systems), tuple(tasks), tuple(str(one) for one in datasets), **arguments)
    listener = listener or Silent()
    return carry_out(request, Path(out), workers=workers, cache=cache, listener=listener, max_usd=max_usd)


def carry_out(
    request: Request,
    out: Path,
    *,
    workers: int = 1,
    cache: Path | None = None,
    listener: Silent,
    command: str = "",
    max_usd: float | None = None,
) -> SageRun:
    """`run` for a request that is made."""
    folder = RunFolder(out)
    check_same_arguments(folder, request)
    with ExitStack() as held:
        # A folder that is there is held before its accounts are read; a new one is not made before the plan stands.
        if begun := out.exists():
            held.enter_context(folder.locked())
        spending = Spending(folder.spending, moment("milliseconds"))
        ledger = Ledger(max_usd=max_usd, spent_usd=spending.usd, journal=spending)
        plan = make_plan(request, cache, ledger)
        check_prices(plan, max_usd)
        if not begun:
            held.enter_context(folder.locked())
        command = command or python_call(request, out)
        _Session(folder, plan, workers, command, ledger, spending).do(listener)
    return SageRun(out)


def check_prices(plan: Plan, max_usd: float | None) -> None:
    """UsageError if the cost is limited and a system has no known price."""
    for system in plan.systems if max_usd is not None else ():
        if system.remote is not None and system.remote.price is None:
            raise UsageError(
                f"The cost is limited, but the price of {system.name!r} is not known.",
                mend="Give US dollars per million tokens: add price=NUMBER to the system (0 where it is free).",
            )


def check_same_arguments(folder: RunFolder, request: Request) -> None:
    """UsageError, naming what differs, if the folder holds a run of other arguments."""
    manifest = folder.read_manifest()
    if manifest is None:
        if folder.path.exists() and not folder.path.is_dir():
            raise UsageError(f"{folder.path} is a file.", mend="Choose a folder with --out.")
        return
    before, now = manifest["arguments"], json.loads(to_json(request.as_dict()))
    differing = [name for name in now if before.get(name) != now[name]]
    if differing:
        name = differing[0]
        raise UsageError(
            f"{folder.path} holds a run with other arguments: {name} was {to_json(before.get(name))}, "
            f"now {to_json(now[name])}" + (f" (and {', '.join(differing[1:])})." if differing[1:] else "."),
            mend="Choose another --out, or repeat the old arguments to resume.",
        )


def python_call(request: Request, out: Path) -> str:
    """The call that makes the run, for its manifest."""
    return f"semblance.sage.run({list(request.systems)!r}, datasets={list(request.datasets)!r}, out={str(out)!r})"


class _Session:
    """One attempt at a run: what is done already is read, the rest is done, and the end is written."""

    def __init__(
        self, folder: RunFolder, plan: Plan, workers: int, command: str, ledger: Ledger, spending: Spending
    ) -> None:
        self.folder, self.plan, self.workers, self.command = folder, plan, workers, command
        self.ledger, self.spending = ledger, spending
        self.previous = folder.read_manifest() or {}
        self.clock = time.perf_counter()
        self.forecast: dict[str, Any] = self.previous.get("forecast") or {}
        self.records: dict[str, CellRecord] = {
            cell.key: record
            for cell in plan.cells
            if (record := folder.read_cell(cell)) is not None and record.done
        }
        self.resumed = len(self.records)

    def do(self, listener: Silent) -> None:
        if not self.forecast:
            listener.planning(self.plan)
            # Workers load their models themselves; this process then has none to measure.
            self.forecast = forecast(self.plan, measure=self.workers <= 1).as_dict()
        waiting = [cell for cell in self.plan.cells if cell.key not in self.records]
        listener.planned(self.plan, waiting, self._seconds())
        self._write_manifest("running")
        self.folder.write_results(self._rows())
        for dataset in self.plan.datasets:
            for task in dataset.tasks:
                self._keep_texts(task.task, dataset.source, dataset.name)
        try:
            steps = execute(
                waiting, work.evaluate, self.folder, workers=self.workers, listener=listener,
                remote=partial(work.evaluate, ledger=self.ledger),
            )  # fmt: skip
            with closing(steps):  # type: ignore[type-var]
                for record in steps:
                    self.records[record.key] = record
                    self.folder.append_results(_cell_rows(self.plan, record))
        finally:
            self.spending.close()
            complete = all(
                cell.key in self.records and self.records[cell.key].done for cell in self.plan.cells
            )
            self._write_end("finished" if complete else "partial")

    def _seconds(self) -> dict[str, float]:
        """What was forecast for each cell, by key."""
        known = {
            (one["task"], one["dataset"], one["system"]): one["seconds"]
            for one in self.forecast.get("cells", [])
        }
        found = {cell.key: known.get((cell.task, cell.dataset, cell.system)) for cell in self.plan.cells}
        return {key: seconds for key, seconds in found.items() if seconds is not None}

    def _rows(self) -> list[Result]:
        done = [self.records[cell.key] for cell in self.plan.cells if cell.key in self.records]
        return [row for record in done for row in _cell_rows(self.plan, record)]

    def _write_end(self, status: str) -> None:
        summary, comparisons = summarise(self.plan, list(self.records.values()))
        rows = [*self._rows(), *summary]
        self.folder.write_results(rows)
        write_atomic(self.folder.path / "comparisons.json", to_json(comparisons, indent=1) + "\n")
        for table in tables(rows, {system.name: system.kind for system in self.plan.systems}):
            write_atomic(self.folder.path / "tables" / f"{table.name}.csv", table.as_csv())
            write_atomic(self.folder.path / "tables" / f"{table.name}.md", table.as_markdown())
        self._write_manifest(status)

    def _keep_texts(self, task: str, source: str, dataset: str) -> None:
        path = self.folder.texts_path(task, dataset)
        if path.exists():
            return
        request = self.plan.request
        loaded = work.load(task, request.dataset(source), request.limit, request.seed)
        columns: dict[str, list[str]] = {"item_id": [], "field": [], "text": []}
        for field, (ids, texts) in work.task(task).fields(loaded.data).items():
            columns["item_id"] += ids
            columns["field"] += [field] * len(ids)
            columns["text"] += texts
        write_columns(path, columns)

    def _write_manifest(self, status: str) -> None:
        now = {
            "name": self.folder.path.name,
            "status": status,
            "created": self.previous.get("created", self.spending.session),
            "updated": moment(),
            "command": self.command,
            "sessions": sessions(self.previous, self._session_entry(), self.spending),
            "forecast": self.forecast,
            "spent": spent(self.spending, self.ledger.max_usd),
        }
        self.folder.write_manifest(manifest(self.plan, self.records, now))

    def _session_entry(self) -> dict[str, Any]:
        fresh = list(self.records.values())[self.resumed :]
        return {
            "started": self.spending.session,
            "ended": moment(),
            "workers": self.workers,
            "cells_done": sum(record.done for record in fresh),
            "texts_encoded": sum(record.counts.get("texts_encoded", 0) for record in fresh),
            "texts_cached": sum(record.counts.get("texts_cached", 0) for record in fresh),
            "seconds": round(time.perf_counter() - self.clock, 3),
        }


def _cell_rows(plan: Plan, record: CellRecord) -> list[Result]:
    where = ("sage", record.task, record.dataset)
    lang, seed = plan.lang(record.dataset), plan.request.seed
    if not record.done:
        headline = work.task(record.task).headline
        return [
            Result(*where, "", lang, "", record.system, headline, None, 0, seed=seed, reason=record.reason)
        ]
    return [
        Result(
            *where, score.subset, lang, score.variant, record.system, score.measure, score.value, score.n,
            score.ci_low, score.ci_high, score.method, seed, score.reason,
        )
        for score in record.scores
    ]  # fmt: skip
