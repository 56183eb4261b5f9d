"""One attempt at a run: what is done already is read, the rest is done, and the end is written."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.contracts import Kind
from embassay.data.catalogue import DATASETS
from embassay.data.sources import split_tasks_from_spec
from embassay.errors import UsageError
from embassay.protocols.kernel.comparisons import SystemStanding, find_possible_leaders, write_standings
from embassay.protocols.kernel.outcome import (
    format_current_utc_time,
    list_run_sessions,
    make_run_manifest,
    summarise_run_spending,
)
from embassay.protocols.kernel.plan import Plan, PlannedSystem, add_suite_names_to_tables
from embassay.protocols.kernel.tables import RunTable, write_tables
from embassay.records import ResultRow
from embassay.runs.execution import LazyCellEngine, ProcessWorkers, Workers
from embassay.runs.folder import CellRecord, RunCell, RunFolder, format_value_as_json, write_json
from embassay.runs.spending import RunSpendingJournal
from embassay.systems.encoders.onnx_model import parse_openvino_version_from_identity
from embassay.systems.remote import Ledger

if TYPE_CHECKING:
    from embassay.protocols.kernel.protocol import EvaluationProtocol as RunProtocol


class SilentListener:
    """A listener that says nothing."""

    def on_run_extended(self, added: Mapping[str, Sequence[str]]) -> None:
        """Called when systems, tasks or datasets are added to the folder's run."""

    def on_systems_opening(self, names: Sequence[str]) -> None:
        """Called when the systems of these names, and the data, are about to be opened."""

    def on_planning_begun(self, plan: Plan) -> None:
        """Called when counting begins of what the cells will take."""

    def announce_paraphrasing(self, title: str, total: int) -> None:
        """Called before paraphrases are asked for; a second call begins another stage."""

    def stage(self, title: str, total: int, unit: str = "texts") -> None:
        """Called when a stage of so many things begins (0: nobody knows how many)."""

    def advanced_by(self, texts: int) -> None:
        """So many more of them are there."""

    def heard(self) -> None:
        """A model has answered on the way to the next of them: what is counted may take several answers."""

    def reckoned(self, line: str) -> None:
        """What the stage will cost in all, by what it has cost so far."""

    def on_plan_made(self, plan: Plan, waiting: Sequence[RunCell], seconds: Mapping[str, float]) -> None:
        """Called when the plan is made, with the cells that are still to be done."""

    def started(self, cell: RunCell) -> None:
        """Called when work on a cell starts."""

    def advanced(self, cell: RunCell, texts: int) -> None:
        """So many more texts of the cell are done."""

    def ended(self, cell: RunCell, record: CellRecord) -> None:
        """Called when a cell is done or has failed."""

    def interim(self, line: str) -> None:
        """What the cells that have ended show already."""

    def announce_run_end(self) -> None:
        """Say that the run has come to its end."""


@dataclass(frozen=True)
class RunConclusions:
    """What a protocol makes of the cells of a run: the rows beyond those of the cells, comparisons and tables."""

    rows: Sequence[ResultRow] = ()
    comparisons: Mapping[str, Any] = field(default_factory=dict)
    tables: Sequence[RunTable] = ()
    standings: Sequence[SystemStanding] = ()
    """The headlines with their replicates, for comparisons and gates."""
    warnings: tuple[str, ...] = ()
    """What could not be concluded, and why."""


@dataclass
class RunAccounts:
    """The money of a run: the journal of all its sessions, and the ledger of this one."""

    spending: RunSpendingJournal
    ledger: Ledger


@contextmanager
def open_run(
    out: Path, request: Any, max_usd: float | None, check: Callable[[RunFolder, Any], None] | None = None
) -> Iterator[tuple[RunFolder, RunAccounts, ExitStack]]:
    """The folder of a run, its accounts, and a stack that is to hold the folder's lock: it does already where it
    was there; a new one must not be made before the plan stands (`lock_run_folder`). UsageError for a run of other
    arguments, or whatever `check` finds wrong in place of that."""
    folder = RunFolder(out)
    (check or check_same_run_arguments)(folder, request)
    with ExitStack() as held:
        # A folder that is there is held before its accounts are read.
        if out.exists():
            held.enter_context(folder.hold_folder_lock())
        spending = RunSpendingJournal(folder.spending_path, format_current_utc_time("milliseconds"))
        ledger = Ledger(max_usd=max_usd, spent_usd=spending.usd_counted_by_limit, journal=spending)
        with closing(spending):
            yield folder, RunAccounts(spending, ledger), held


@contextmanager
def open_spending_ledger(path: Path, max_usd: float | None) -> Iterator[Ledger]:
    """The ledger for what is asked of models outside of a run, limited by what all of it in this folder may cost; it is
    kept there."""
    spending = RunSpendingJournal(RunFolder(path).spending_path, format_current_utc_time("milliseconds"))
    with closing(spending):
        yield Ledger(max_usd=max_usd, spent_usd=spending.usd_counted_by_limit, journal=spending)


def lock_run_folder(folder: RunFolder, held: ExitStack) -> None:
    """Make and hold the folder, unless `open_run` does."""
    if not folder.path.exists():
        held.enter_context(folder.hold_folder_lock())


def check_system_prices_known(systems: Sequence[PlannedSystem], max_usd: float | None) -> None:
    """UsageError if the cost is limited and a system has no known price."""
    for system in systems if max_usd is not None else ():
        if system.remote is not None and system.remote.price is None:
            raise make_unknown_price_error(system.name)


def make_unknown_price_error(name: str) -> UsageError:
    """The cost is limited, and nobody knows what `name` costs."""
    return UsageError(
        f"The cost is limited, but the price of {name!r} is unknown.",
        mend="Give US dollars per million tokens: add price=NUMBER to the system (0 if it is free).",
    )


def check_same_run_arguments(folder: RunFolder, request: Any) -> None:
    """UsageError, naming what differs, if the folder holds a run of other arguments. More systems, tasks or datasets
    than it has are none, where the request may grow by them."""
    manifest = folder.read_manifest()
    if manifest is None:
        if folder.path.exists() and not folder.path.is_dir():
            raise UsageError(f"{folder.path} is a file.", mend="Choose a folder with --out.")
        return
    # Through JSON as the manifest went: tuples are lists there, and no two numbers differ in their type.
    before, now = manifest["arguments"], json.loads(format_value_as_json(request.as_dict()))
    grown = find_arguments_added_since_session(before, request)
    differing = [name for name in now if before.get(name) != now[name] and name not in grown]
    if differing:
        name = differing[0]
        raise UsageError(
            f"{folder.path} contains a run with other arguments: {name} was {format_value_as_json(before.get(name))}, "
            f"now {format_value_as_json(now[name])}"
            + (f" (and {', '.join(differing[1:])})." if differing[1:] else "."),
            mend="Choose another --out (no text is encoded twice, and `embassay report` shows several runs together), "
            "or repeat the old arguments to resume"
            + (
                f"; to add {' or '.join(request.GROWS)}, name the old ones too."
                if _list_extendable_options(request)
                else "."
            ),
        )


def _list_extendable_options(request: Any) -> tuple[str, ...]:
    return getattr(request, "GROWS", ())


def find_arguments_added_since_session(before: Mapping[str, Any], request: Any) -> dict[str, list[str]]:
    """What `request` adds to the arguments of an earlier session, where it may: names in the order of the request. An
    argument that also lost a name is not among them. No tasks mean every task."""
    added = {}
    for name in _list_extendable_options(request):
        was, now = before.get(name) or [], list(getattr(request, name))
        if name == "tasks" and was and not now:
            added[name] = ["all others"]
        elif (was or name != "tasks") and set(was) < set(now):
            added[name] = [value for value in now if value not in was]
    return added


def read_previous_manifest(folder: RunFolder, systems: Sequence[PlannedSystem]) -> dict[str, Any]:
    """The manifest of the run that goes on; empty for a new one. UsageError where a system would be computed by another
    backend than it was: all its cells would be done again."""
    previous = folder.read_manifest() or {}
    before = {
        row["name"]: parse_openvino_version_from_identity(row.get("identity", ""))
        for row in previous.get("systems", [])
    }
    for row in systems:
        now = parse_openvino_version_from_identity(row.identity)
        if (was := before.get(row.name, now)) == now:
            continue
        if was is None:
            mend = "Set EMBASSAY_BACKEND=onnx to continue with the same backend, or choose another --out."
        else:
            mend = f"Install the same backend (pip install {was.replace('-', '==')}), or choose another --out."
        raise UsageError(
            f"{folder.path} contains a run that used {row.name} in {was or 'onnxruntime'}; now it would "
            f"run in {now or 'onnxruntime'}.",
            mend=mend,
        )
    return previous


class RunAttempt:
    """One attempt at a run, whatever its work is: what earlier attempts left, and the manifest of them all."""

    def __init__(
        self, folder: RunFolder, plan: Plan, protocol: RunProtocol, accounts: RunAccounts, *, command: str
    ) -> None:
        self.folder, self.plan, self.protocol, self.accounts = folder, plan, protocol, accounts
        self.command = command
        self.previous = read_previous_manifest(folder, plan.systems)
        self.extra: dict[str, Any] = {}
        """Fields of the manifest that only this protocol has."""
        self.forecast: dict[str, Any] | None = None
        self.records: dict[str, CellRecord] = {}
        self._clock = time.perf_counter()

    def begin_run_attempt(self, listener: SilentListener) -> None:
        """Find what is done, and write the manifest of a run that goes on."""
        raise NotImplementedError

    def do(self, listener: SilentListener) -> None:
        """Do what is not done, keeping each part as it ends."""
        raise NotImplementedError

    def finish_run_attempt(self) -> None:
        """Write what follows from all that is done; whatever has happened."""
        raise NotImplementedError

    def counted(self) -> dict[str, Any]:
        """What this attempt has done so far, for its entry in the manifest."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """Fields of the manifest that change while the work goes on."""
        return {}

    def manifest(self, status: str) -> dict[str, Any]:
        """What the manifest is to say now."""
        spending = self.accounts.spending
        entry = {
            "started": spending.session,
            "ended": format_current_utc_time(since=spending.session),
            **self.counted(),
            "seconds": round(time.perf_counter() - self._clock, 3),
        }
        now = {
            "name": self.folder.path.resolve().name,
            "status": status,
            "created": self.previous.get("created", spending.session),
            "updated": format_current_utc_time(since=spending.session),
            "command": self.command,
            **self.facts(),
            "sessions": list_run_sessions(self.previous, entry, spending),
            **({} if self.forecast is None else {"forecast": self.forecast}),
            "spent": summarise_run_spending(spending, self.accounts.ledger.max_usd),
            **self.extra,
        }
        return make_run_manifest(self.protocol.name, self.plan, self.records, now)

    def write_manifest(self, status: str) -> None:
        """Replace the manifest."""
        self.folder.write_manifest(self.manifest(status))


class CellRunAttempt(RunAttempt):
    """An attempt at cells that engines do. `plan` may be replaced by one with more cells while it goes on."""

    def __init__(
        self,
        folder: RunFolder,
        plan: Plan,
        protocol: RunProtocol,
        accounts: RunAccounts,
        *,
        command: str,
        workers: Workers = 1,
    ) -> None:
        super().__init__(folder, plan, protocol, accounts, command=command)
        identities = {system.name: system.identity for system in plan.systems}
        self.crew = LazyCellEngine(
            workers, folder, list_files_read_by_cells(plan, folder if protocol.reads_folder else None), identities
        )
        self.added = (
            find_arguments_added_since_session(self.previous["arguments"], plan.request) if self.previous else {}
        )
        self.forecast = (not self.added and self.previous.get("forecast")) or {}
        self.whole = True
        """Whether the plan has all cells: a run that plans as it goes is not finished before."""
        self._fresh: list[CellRecord] = []

    def begin_run_attempt(self, listener: SilentListener) -> None:
        """Read what is done, forecast the rest, and write the manifest of a run that goes on."""
        self._read_finished_cells()
        if self.added:
            listener.on_run_extended(self.added)
        if not self.forecast:
            listener.on_planning_begun(self.plan)
            # Workers load their models themselves; this process then has none to measure.
            alone = self.crew.chosen == ProcessWorkers(1)
            self.forecast = self.protocol.forecast_cost(self.plan, measure=alone).as_dict()
        self.write_manifest("running")
        self.folder.write_results(self._list_result_rows())

    def do(self, listener: SilentListener) -> None:
        """Do the cells of the plan that are not done, keeping each as it ends."""
        self._read_finished_cells()
        waiting, seconds = (
            [cell for cell in self.plan.cells if cell.key not in self.records],
            self._map_cells_to_forecast_seconds(),
        )
        if self.protocol.cheapest_first:
            waiting.sort(key=lambda cell: seconds.get(cell.key, math.inf))
        listener.on_plan_made(self.plan, waiting, seconds)
        evaluate, ledger = self.protocol.evaluate, self.accounts.ledger
        steps = self.crew.do(waiting, evaluate, listener, partial(evaluate, ledger=ledger))
        with closing(steps):  # type: ignore[type-var]
            for record in steps:
                self.records[record.key] = record
                self._fresh.append(record)
                self.folder.append_results(self.protocol.rows(self.plan, record))
                self.protocol.report_interim_results(self, listener)

    def finish_run_attempt(self) -> None:
        """Put the rows in order and write what follows from them; whatever has happened."""
        self.crew.close()
        self.accounts.spending.close()
        records = self.list_ended_cells()
        rows = self._list_result_rows()
        conclusion = self.protocol.draw_conclusions(self.plan, records, rows)
        rows = [*rows, *conclusion.rows]
        if conclusion.warnings:
            self.extra["warnings"] = [*self.extra.get("warnings", ()), *conclusion.warnings]
        self.folder.write_results(rows)
        write_json(self.folder.path / "comparisons.json", conclusion.comparisons)
        write_standings(self.folder.path, conclusion.standings)
        tables = add_suite_names_to_tables(conclusion.tables, self.plan.suites)
        write_tables(self.folder.path, tables, find_possible_leaders(conclusion.comparisons))
        done = len(records) == len(self.plan.cells) and all(record.done for record in records)
        complete = self.whole and done
        self.write_manifest("finished" if complete else "partial")

    def list_ended_cells(self) -> list[CellRecord]:
        """The records of the plan's cells that have ended, in the order of the plan."""
        return [self.records[cell.key] for cell in self.plan.cells if cell.key in self.records]

    def _read_finished_cells(self) -> None:
        for cell in self.plan.cells:
            if cell.key in self.records:
                continue
            record = self.folder.read_cell_record(cell)
            if record is not None and record.done:
                self.records[cell.key] = record

    def _map_cells_to_forecast_seconds(self) -> dict[str, float]:
        """What was forecast for each cell, by key."""
        known = {
            (cell["task"], cell["dataset"], cell["system"]): cell["seconds"]
            for cell in (self.forecast or {}).get("cells", [])
        }
        took = {cell.key: known.get((cell.task, cell.dataset, cell.system)) for cell in self.plan.cells}
        return {key: seconds for key, seconds in took.items() if seconds is not None}

    def _list_result_rows(self) -> list[ResultRow]:
        return [row for record in self.list_ended_cells() for row in self.protocol.rows(self.plan, record)]

    def counted(self) -> dict[str, Any]:
        """Count the workers, cells and texts of this attempt."""
        fresh = self._fresh
        return {
            "workers": self.crew.worker_count,
            "engine": self.crew.facts,
            "cells_done": sum(record.done for record in fresh),
            "texts_encoded": sum(record.counts.get("texts_encoded", 0) for record in fresh),
            "texts_cached": sum(record.counts.get("texts_cached", 0) for record in fresh),
        }


def list_files_read_by_cells(plan: Plan, folder: RunFolder | None) -> list[Path]:
    """What cells read from the file system: data that are no catalogue's, and what a protocol keeps in the folder."""
    sources = (Path(split_tasks_from_spec(dataset.source)[0]).expanduser() for dataset in plan.datasets)
    files = [path for path in sources if path.exists() and str(path) not in DATASETS]
    return files if folder is None else [*files, folder.path]


def map_systems_to_kinds(plan: Plan) -> dict[str, Kind]:
    """The kind of each system by its name."""
    return {system.name: system.kind for system in plan.systems}
