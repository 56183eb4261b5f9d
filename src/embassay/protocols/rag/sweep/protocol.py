"""A sweep from request to finished folder, cell by cell, resuming what is there; and read back from it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from embassay.errors import BudgetExceeded, DataError, ModelError, UsageError
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.protocol import EvaluationProtocol
from embassay.protocols.kernel.session import (
    RunAccounts,
    RunAttempt,
    SilentListener,
    find_arguments_added_since_session,
)
from embassay.protocols.rag.matrices import make_sweep_question_matrices
from embassay.protocols.rag.sweep.config import (
    DatasetEntry,
    GeneratorSettings,
    LatencySettings,
    SweepRequest,
    parse_sweep_request,
    read_sweep_request_from_config,
    replace_sweep_rules,
)
from embassay.protocols.rag.sweep.encoder import SweepEncoder
from embassay.protocols.rag.sweep.findings import compute_and_write_findings, make_findings_result_rows
from embassay.protocols.rag.sweep.forecasts import SweepMemoryEstimates
from embassay.protocols.rag.sweep.grid import (
    PriceList,
    SweepCellJob,
    SweepPlan,
    add_retriever_prices,
    make_price_list,
    name_vector_source,
    plan_sweep,
)
from embassay.protocols.rag.sweep.measurement import (
    EncodedVectorIndexMeasurement,
    QueryLatencyRecorder,
    RagStackMeasurer,
    WordSearchMeasurer,
    list_configurations_as_skipped,
)
from embassay.protocols.rag.sweep.parts import (
    ChunkedDatasetEvaluation,
    ComputedAndCachedCounter,
    EncodedChunkedDataset,
    OpenedSweepParts,
)
from embassay.protocols.rag.sweep.retriever import RetrieverListEvaluation
from embassay.protocols.rag.sweep.stacks import (
    BESIDE,
    GENERATE,
    LIVE,
    NONE,
    SPARSE,
    TASK,
    TOTAL,
    WHOLE,
    ComputeCounts,
    Floats,
    MeasuredCellStacks,
    MeasuredStack,
    MeasuredStackArrays,
    SkippedStack,
    StackConfiguration,
    StackTimes,
    SweepMeasurements,
    SweepRules,
    read_measured_cell,
    write_measured_cell,
)
from embassay.runs.execution import Workers, describe_error
from embassay.runs.folder import CellRecord, RunCell, RunFolder
from embassay.runs.matrix import write_question_matrices
from embassay.runs.memory import PeakMemory, check_memory_fits
from embassay.runs.store import find_kept_indexes_folder
from embassay.search.indexes import INDEXES
from embassay.systems.remote import Ledger

TIMINGS = "timings"


def read_sweep_measurements(folder: str | Path) -> SweepMeasurements:
    """Read what a sweep has measured so far; DataError where the folder holds none."""
    run = RunFolder(Path(folder))
    manifest = run.read_manifest()
    if manifest is None or manifest.get("kind") != TASK:
        raise DataError(
            "the folder contains no sweep", path=run.path, expected="a manifest of the kind sweep",
            mend="Give the --out folder of `embassay rag sweep`."
        )  # fmt: skip
    queries = {name: tuple(ids) for name, ids in manifest["queries"].items()}
    groups = {name: np.array(labels) for name, labels in manifest.get("groups", {}).items()}
    rules = SweepRules(**{**manifest["rules"], "slos_ms": tuple(manifest["rules"]["slos_ms"])})
    prices = PriceList(**manifest["prices"])
    watch = QueryLatencyRecorder(run.path / TIMINGS, LatencySettings(**manifest["arguments"]["latency"]))
    said_generator = manifest["arguments"].get("generator")
    generator = GeneratorSettings(**said_generator) if said_generator else None
    measured: list[MeasuredStack] = []
    skipped = [
        SkippedStack(StackConfiguration(**combination["configuration"]), dataset, combination["reason"])
        for dataset in queries
        for combination in manifest["senseless"]
    ]
    for row in manifest["cells"]:
        cell = RunCell(row["task"], row["dataset"], row["system"], row["key"], 0, None)
        saved = read_measured_cell(run, cell, queries[cell.dataset]) if row["status"] != "not run" else None
        if saved is None:
            continue
        skipped += saved.skipped
        for stack in saved.stacks:
            times = _read_stage_times(stack, watch, generator)
            if times is not None:
                measured.append(_make_measured_stack_from_file(stack, cell.dataset, times, prices, rules))
    return SweepMeasurements(
        tuple(measured), tuple(skipped), queries, rules, prices.date, dict(prices.tokens),
        manifest["arguments"]["seed"], _sum_compute_counts(manifest["cells"]), said_generator or {}, groups,
        *watch.load()
    )  # fmt: skip


def is_cell_complete(folder: RunFolder, cell: RunCell, watch: QueryLatencyRecorder) -> bool:
    """Whether all that a cell is to measure can be read back, samples of time with it. A sweep that has grown along an
    axis within its cells (k, reranker, mode) has cells that lack some stacks."""
    saved = read_measured_cell(folder, cell, cell.job.collection.query_ids)
    if saved is None:
        return False
    known = {stack.configuration for stack in saved.stacks} | {gone.configuration for gone in saved.skipped}
    return known == set(cell.job.configurations) and all(
        _read_stage_times(stack, watch) is not None for stack in saved.stacks
    )


def _make_measured_stack_from_file(
    stack: MeasuredStackArrays, dataset: str, times: StackTimes, prices: PriceList, rules: SweepRules
) -> MeasuredStack:
    usd = prices.usd(
        stack.configuration, reranked=stack.reranked, tokens=stack.tokens[0], query=stack.query_tokens,
        passage=stack.passage_tokens, passages=rules.passages
    )  # fmt: skip
    return MeasuredStack(
        stack.configuration, dataset, stack.quality, stack.ceiling, times, usd, stack.tokens,
        stack.passage_tokens, stack.index, stack.recall, stack.signals, stack.ef
    )  # fmt: skip


def _read_stage_times(
    stack: MeasuredStackArrays, watch: QueryLatencyRecorder, generator: GeneratorSettings | None = None
) -> StackTimes | None:
    """The samples by stage, their sums, and those under load; None where a file of samples is gone. The sum of all but
    the generator is the total; with it, timed or as assumed, it is `end to end`."""
    stages: dict[str, Floats] = {}
    for stage, name in stack.times.items():
        samples = watch.read(name)
        if samples is None:
            return None
        stages[stage] = samples
    together = watch.read(stack.together) if stack.together else None
    shape = watch.latency.repeats, max((samples.shape[1] for samples in stages.values()), default=0)
    # What was timed once has one session, which stands for the others too.
    stages = {stage: np.broadcast_to(samples, shape) for stage, samples in stages.items()}
    stages[TOTAL] = np.sum([samples for stage, samples in stages.items() if stage not in (GENERATE, *BESIDE)], axis=0)
    if generator is not None and (assumed := generator.assumed_answer_ms) is not None:
        stages[GENERATE] = np.full(shape, assumed)
    if GENERATE in stages:
        stages[WHOLE] = stages[TOTAL] + stages[GENERATE]
    loaded = np.empty(0) if together is None else together[0]
    return StackTimes(stages, loaded, watch.latency.concurrency)


def _sum_compute_counts(cells: Iterator[Mapping[str, Any]] | list[Mapping[str, Any]]) -> ComputeCounts:
    names = [field.name for field in fields(ComputeCounts)]
    total = dict.fromkeys(names, 0)
    for cell in cells:
        for name in names:
            total[name] += int(cell["counts"].get(name, 0))
    return ComputeCounts(**total)


class SweepRunAttempt(RunAttempt):
    """One attempt at a sweep."""

    plan: SweepPlan

    def __init__(self, *inherited: Any, command: str, parts: OpenedSweepParts, prices: PriceList, force: bool) -> None:
        super().__init__(*inherited, command=command)
        self.parts, self.prices, self.force = parts, prices, force
        self.done_now = 0
        self.watch = QueryLatencyRecorder(self.folder.path / TIMINGS, self.plan.request.latency)
        self.room = SweepMemoryEstimates(parts.tokenizer)

    def begin_run_attempt(self, listener: SilentListener) -> None:
        """Find what is done, and write down what is asked."""
        if self.previous and (
            added := find_arguments_added_since_session(self.previous["arguments"], self.plan.request)
        ):
            listener.on_run_extended(added)
        if self.force:
            for folder in ("cells", "stacks", TIMINGS, "items", "rankings"):
                for path in sorted((self.folder.path / folder).rglob("*")):
                    if path.is_file():
                        path.unlink()
        for cell in self.plan.cells:
            record = self.folder.read_cell_record(cell)
            if record is not None and record.done and is_cell_complete(self.folder, cell, self.watch):
                self.records[cell.key] = record
        self.write_manifest("running")

    def do(self, listener: SilentListener) -> None:
        """Measure all cells not done, by dataset and encoder, as vectors of one are in memory."""
        waiting = [cell for cell in self.plan.cells if cell.key not in self.records]
        listener.on_plan_made(self.plan, waiting, {})
        for _, group in groupby(waiting, key=lambda cell: _make_chunked_dataset_key(cell.job)):
            cells = list(group)
            job: SweepCellJob = cells[0].job
            bench = ChunkedDatasetEvaluation(self.parts, job.collection, job.head.chunk, job.head.rewrite)
            try:
                bench.rewrite_queries_situate_chunks()
            except (Exception, SystemExit) as error:  # as of any cell: see `execution.attempt`
                self._record_all_cells_failed(cells, error)
                continue
            for _, group_ in groupby(cells, key=lambda cell: name_vector_source(cell.job.head)):
                together = list(group_)
                mode = together[0].job.head.mode
                if mode == SPARSE:
                    self._measure_word_search_cells(bench, together)
                elif mode == LIVE:
                    self._measure_retriever_cells(bench, together)
                else:
                    self._measure_encoder_cells(bench, together)

    def _measure_word_search_cells(self, bench: ChunkedDatasetEvaluation, cells: Sequence[RunCell]) -> None:
        """Measure the cells that need no vectors."""
        for cell in cells:
            if self._fits_memory_limit(cell, bench, None):
                self._measure_cell(
                    cell, nullcontext(WordSearchMeasurer(bench, self.watch)), ComputedAndCachedCounter(self.parts)
                )

    def _measure_retriever_cells(self, bench: ChunkedDatasetEvaluation, cells: Sequence[RunCell]) -> None:
        """Measure the cells of a retriever, which is asked all queries first."""
        systems = {system.name: system for system in self.plan.systems}
        for cell in cells:
            if not self._fits_memory_limit(cell, bench, None):
                continue
            counting = ComputedAndCachedCounter(self.parts)
            try:
                asked = RetrieverListEvaluation.of(bench, self.watch, systems[cell.job.head.encoder], self.folder)
            except (Exception, SystemExit) as error:
                # A library that calls sys.exit must not end the run.
                self._record_cell_error(cell, error, 0.0)
                continue
            self._measure_cell(cell, nullcontext(asked), counting, asked.warnings)

    def _measure_encoder_cells(self, bench: ChunkedDatasetEvaluation, cells: Sequence[RunCell]) -> None:
        """Measure the cells of one encoder; where it fails, all of them fail."""
        counting = ComputedAndCachedCounter(self.parts)
        try:
            head = cells[0].job.head
            encoder = self.parts.encoder(head.encoder, head.dims)
            cells = [cell for cell in cells if self._fits_memory_limit(cell, bench, encoder)]
            if not cells:
                return
            encoded = EncodedChunkedDataset.of(bench, encoder)
        except (Exception, SystemExit) as error:
            self._record_all_cells_failed(cells, error)
            return
        for cell in cells:
            self._measure_cell(cell, self._open_indexed_bench(cell.job, encoded, counting), counting, encoded.warnings)

    def _fits_memory_limit(self, cell: RunCell, bench: ChunkedDatasetEvaluation, encoder: SweepEncoder | None) -> bool:
        """Say whether the cell keeps the promise of memory, if there is one; it has failed otherwise."""
        job: SweepCellJob = cell.job
        try:
            system = None if encoder is None else encoder.system
            check_memory_fits(
                self.room.estimate_cell_memory(
                    job.collection, job.configurations, system, made=bench.list_names_of_parts_in_memory
                )
            )
        except UsageError as error:
            self._record_cell_failure(cell, str(error), 0.0)
            return False
        return True

    def _record_all_cells_failed(self, cells: Sequence[RunCell], error: BaseException) -> None:
        for cell in cells:
            self._record_cell_error(cell, error, 0.0)

    def _record_cell_error(self, cell: RunCell, error: BaseException, seconds: float) -> None:
        """The cell has failed, whatever went wrong; the end of the money is no failure of a cell."""
        if isinstance(error, BudgetExceeded):
            raise error
        self.folder.write_cell_failure_log(cell, "".join(traceback.format_exception(error)))
        self._record_cell_failure(
            cell, error.message if isinstance(error, ModelError) else describe_error(error), seconds
        )

    def _measure_cell(
        self,
        cell: RunCell,
        opened: AbstractContextManager[RagStackMeasurer],
        counting: ComputedAndCachedCounter,
        warnings: Sequence[str] = (),
    ) -> None:
        job: SweepCellJob = cell.job
        began, memory, listener = time.perf_counter(), PeakMemory(), self.parts.listener
        listener.started(cell)
        try:
            with opened as bench:
                measured = bench.measure(
                    job.configurations,
                    lambda queries: listener.advanced(cell, queries),
                    loaded=self._is_stack_to_time_under_load,
                )
        except _UnfitVectors as error:
            # The combination makes no sense, and nothing has failed.
            measured = MeasuredCellStacks((), tuple(self._list_stacks_as_skipped(job, str(error), failed=False)))
        except (Exception, SystemExit) as error:
            # A server that is gone would be waited for by every cell that is left.
            if isinstance(error, ModelError) and _is_server_index(job.head.index):
                self.parts.give_up_part("index", job.head.index, error)
            self._record_cell_error(cell, error, time.perf_counter() - began)
            return
        self._write_measured_cell(
            cell, measured, time.perf_counter() - began, counting.take_new_counts(), memory.bytes, warnings
        )

    @contextmanager
    def _open_indexed_bench(
        self, job: SweepCellJob, encoded: EncodedChunkedDataset, counting: ComputedAndCachedCounter
    ) -> Iterator[EncodedVectorIndexMeasurement]:
        self.parts.check("index", job.head.index)
        folder = find_kept_indexes_folder()
        try:
            bench = EncodedVectorIndexMeasurement.of(encoded, job.head.dims, job.head.index, self.watch, folder)
        except UsageError as error:
            raise _UnfitVectors(error.message) from error
        counting.index(bench.index.facts)
        try:
            yield bench
        finally:
            bench.close()

    def _is_stack_to_time_under_load(self, configuration: StackConfiguration) -> bool:
        """Whether it is timed with several queries in flight: at full dimensions, and with a reranker on the first
        index only, which is then a small share of the time."""
        first_index = configuration.index in (self.plan.request.index[0], NONE)
        return configuration.dims is None and (configuration.reranker == NONE or first_index)

    def _list_stacks_as_skipped(self, job: SweepCellJob, reason: str, *, failed: bool) -> Iterator[Any]:
        return list_configurations_as_skipped(job.configurations, job.collection.name, reason, failed=failed)

    def _record_cell_failure(self, cell: RunCell, reason: str, seconds: float) -> None:
        nothing = MeasuredCellStacks((), tuple(self._list_stacks_as_skipped(cell.job, reason, failed=True)))
        self._write_measured_cell(cell, nothing, seconds, {}, None)

    def _write_measured_cell(
        self,
        cell: RunCell,
        measured: MeasuredCellStacks,
        seconds: float,
        counts: Mapping[str, int],
        peak: int | None,
        warnings: Sequence[str] = (),
    ) -> None:
        job: SweepCellJob = cell.job
        failure = next((skipped.reason for skipped in measured.skipped if skipped.failed), "")
        record = CellRecord(
            cell.key, cell.task, cell.dataset, cell.system, "failed" if failure else "done", failure, seconds, (), {},
            counts={**counts, "configurations": len(measured.stacks)}, peak_bytes=peak, warnings=tuple(warnings)
        )  # fmt: skip
        write_measured_cell(self.folder, cell, job.collection.query_ids, measured)
        self.folder.write_cell_record(cell, record)
        self.records[cell.key] = record
        self.done_now += record.done
        self.parts.listener.ended(cell, record)

    def finish_run_attempt(self) -> None:
        """Write what follows from all that is measured, whatever has happened."""
        self.parts.close()
        self.accounts.spending.close()
        done = len(self.records) == len(self.plan.cells) and all(record.done for record in self.records.values())
        self.write_manifest("finished" if done else "partial")
        sweep = read_sweep_measurements(self.folder.path)
        self.folder.write_results(
            make_findings_result_rows(compute_and_write_findings(sweep, self.folder.path)) if sweep.measured else ()
        )
        matrices = make_sweep_question_matrices(sweep, self.folder, self.plan.cells, self.plan.collections)
        write_question_matrices(self.folder.path, list(matrices))

    def _map_datasets_to_query_groups(self) -> dict[str, Any]:
        """List which queries are drawn together, by dataset; nothing where none are."""
        groups = {
            collection.name: collection.query_groups.tolist()
            for collection in self.plan.collections
            if collection.query_groups is not None
        }
        return {"groups": groups} if groups else {}

    def facts(self) -> dict[str, Any]:
        """Make the manifest's facts: rules, prices and queries, and what makes no sense."""
        return {
            "kind": TASK,
            "rules": asdict(self.plan.request.rules),
            "prices": {
                "tokens": dict(self.prices.tokens),
                "searches": dict(self.prices.searches),
                "date": self.prices.date,
            },
            "queries": {collection.name: list(collection.query_ids) for collection in self.plan.collections},
            **self._map_datasets_to_query_groups(),
            "senseless": [
                {"configuration": asdict(configuration), "reason": reason}
                for configuration, reason in self.plan.grid.senseless.items()
            ],
        }

    def counted(self) -> dict[str, Any]:
        """Count the cells that came to their end, for the attempt's entry in the manifest."""
        return {"cells_done": self.done_now}


class _UnfitVectors(Exception):
    """The error that an index cannot be made of these vectors."""


def _make_chunked_dataset_key(job: SweepCellJob) -> tuple[str, str, str]:
    return job.collection.name, job.head.chunk, job.head.rewrite


def _is_server_index(index: str) -> bool:
    return "server" in dict(INDEXES.get(INDEXES.parse_spec(index).name).facts).get("kind", "")


def measure_sweep_stacks(  # noqa: PLR0913 - the arguments of a user
    config: str | Path | Mapping[str, Any],
    *,
    out: str | Path,
    limit: int | None = None,
    seed: int | None = None,
    force: bool = False,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    datasets: Sequence[str] = (),
    retrievers: Sequence[str] = (),
    **rules: Any,
) -> Run:
    """Measure every stack that `config` names, a YAML file or a mapping with its keys, resuming what is unfinished in
    the folder `out`; `read_sweep_measurements(out)` then has it all as arrays.

    `retrievers` are asked as they run, each a stack beside the config's. `datasets`, `limit` queries, `seed`, and of
    the rules `sla_ms`, `budget` and `target` win over the config's; `force` measures anew. Parts that failed are
    `failed` in the manifest's cells; the same call tries them again. UsageError or DataError for what is wrong in the
    config or the data, before anything is computed, and for an `out` that holds another sweep; BudgetExceeded at
    `max_usd`.
    """
    request = (
        parse_sweep_request(config) if isinstance(config, Mapping) else read_sweep_request_from_config(Path(config))
    )
    request = override_sweep_request(request, limit=limit, seed=seed, datasets=datasets, retrievers=retrievers, **rules)
    return SweepProtocol(force=force).carry_out(request, Path(out), listener=listener, max_usd=max_usd)


def override_sweep_request(
    request: SweepRequest,
    *,
    limit: int | None,
    seed: int | None,
    exclude_self: bool = False,
    datasets: Sequence[str] = (),
    retrievers: Sequence[str] = (),
    **rules: Any,
) -> SweepRequest:
    """The request with what is given (not None) in place of the config's; with `exclude_self` in all datasets, and with
    `retrievers` beside the config's. Paths of `datasets` start from the folder that is worked in."""
    named = tuple(
        DatasetEntry(str(Path(dataset).absolute()) if Path(dataset).exists() else dataset) for dataset in datasets
    )
    entries = tuple(
        replace(entry, exclude_self=entry.exclude_self or exclude_self) for entry in named or request.datasets
    )
    return replace_sweep_rules(
        replace(
            request,
            datasets=entries,
            retriever=tuple(dict.fromkeys((*request.retriever, *retrievers))),
            queries=request.queries if limit is None else limit,
            seed=request.seed if seed is None else seed,
        ),
        **rules,
    )


class SweepProtocol(EvaluationProtocol):
    """One attempt at a sweep; what is finished is kept, unless `force` redoes it."""

    name = "rag"
    parts: OpenedSweepParts
    prices: PriceList

    def __init__(self, *, force: bool = False) -> None:
        self.force = force

    def check(self, folder: RunFolder, request: Any) -> None:
        """Check that the folder holds nothing but this sweep; else UsageError."""
        manifest = folder.read_manifest()
        if manifest is not None and (manifest.get("protocol"), manifest.get("kind")) != ("rag", TASK):
            raise UsageError(f"{folder.path} contains a different kind of run.", mend="Choose another --out.")
        super().check(folder, request)

    def plan_run(self, request: SweepRequest, cache: Path | None = None, ledger: Ledger | None = None) -> SweepPlan:
        """Plan the run: open the models, and make a cell of the stacks that share an index."""
        del cache
        self.prices = make_price_list(request)
        self.parts = OpenedSweepParts(request, ledger or Ledger(), self.listener)
        plan = plan_sweep(self.parts)
        self.prices = add_retriever_prices(self.prices, plan.systems)
        return plan

    def format_python_call(self, request: SweepRequest, out: Path) -> str:
        """Format the call from Python that makes the run, for its manifest."""
        del request
        return f"embassay.rag.sweep(..., out={str(out)!r})"

    def start_run_attempt(
        self, plan: SweepPlan, accounts: RunAccounts, workers: Workers, command: str
    ) -> SweepRunAttempt:
        """Dataset by dataset and encoder by encoder, in this process: times are taken."""
        del workers
        return SweepRunAttempt(
            self.folder, plan, self, accounts,
            command=command, parts=self.parts, prices=self.prices, force=self.force
        )  # fmt: skip
