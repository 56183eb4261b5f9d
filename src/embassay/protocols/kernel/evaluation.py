"""Protocols that evaluate systems on tasks: what such a protocol declares, and how its cells are cut, priced and done.

A task says which data it takes, which texts are looked at, and how a system is evaluated. Everything else is the same
for all of them, and a protocol says only where it differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, Unpack

from embassay.contracts import CellPartExecutor, Similarity, Tokenizer
from embassay.data import Dataset
from embassay.data.shapes import check_mapping_targets
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.comparisons import (
    headline_table,
    make_rows_and_comparisons_over_datasets,
    make_standings,
)
from embassay.protocols.kernel.forecast import (
    TaskCostForecaster,
    TaskWorkloadForForecast,
    count_vector_dimensions,
    estimate_text_memory_bytes,
    estimate_token_bytes_of_texts,
    replicate_bytes,
    sum_memory_footprint,
    vector_bytes,
)
from embassay.protocols.kernel.inputs import charge_calls_to_account, write_frames_and_list_dataset_sources
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import (
    Plan,
    PlannedDataset,
    PlannedSystem,
    PlannedTask,
    check_unique_dataset_names,
    choose_tasks_for_dataset,
    order_tasks,
    plan_datasets_and_suites,
    plan_systems,
    plan_task,
)
from embassay.protocols.kernel.protocol import CellEvaluator, EvaluationProtocol
from embassay.protocols.kernel.request import (
    DatasetRequest,
    Options,
    RunArguments,
    TaskRequest,
    choose_new_run_folder,
    convert_to_string_tuple,
    data_frames_folder,
    make_request_from_call,
)
from embassay.protocols.kernel.session import RunConclusions, SilentListener
from embassay.protocols.kernel.tables import RunTable, check_table_name
from embassay.records import LoadedDataset, ResultRow, TaskOutcome
from embassay.registry import Registry, describe_error_place_in_package, import_attribute
from embassay.runs.execution import HERE, Workers
from embassay.runs.folder import CellRecord, RunCell, digest_json
from embassay.runs.forecast import CallRecordingSimilarity, CellForecast, Hear, RunForecast, count_tokens_by_sample
from embassay.runs.memory import WorkMemoryEstimate, reserve_memory
from embassay.systems.objects import register_systems_and_list_specs
from embassay.systems.own import Compared
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

REHEARSED = 400_000
"""Texts of a task up to which it is rehearsed."""


Fields = dict[str, tuple[Sequence[str], Sequence[str]]]


@dataclass(frozen=True)
class Task:
    """One task. A dataset joins when it has all columns of at least one of the `shapes`.

    `evaluate` takes a system, the data and a `TaskContext`, and gives a `TaskOutcome`: the measure `headline` with its
    bootstrap replicates, and a value per item. `texts_per_item` is how many texts a system sees for one item, for plans
    and progress; `fields` are the texts kept beside the items, as field name -> (ids, texts). `load` takes the
    dataset, the most items and the seed that draws them; left out, it is the first shape.
    """

    name: str
    title: str
    shapes: tuple[str, ...]
    headline: str
    texts_per_item: int
    evaluate: Callable[[Similarity, Any, Any], TaskOutcome]
    load: Callable[[Dataset, int | None, int], LoadedDataset[Any]]
    fields: Callable[[Any], Fields]
    size: Callable[[Any], int] = len


def loader(shape: str) -> Callable[[Dataset, int | None, int], LoadedDataset[Any]]:
    """Make the `Task.load` of a task whose data have one shape."""

    def load(dataset: Dataset, limit: int | None, seed: int) -> LoadedDataset[Any]:
        return dataset.load(shape, limit=limit, seed=seed)

    return load


@dataclass(frozen=True)
class TaskContext(inputs.EvaluationContext):
    """What a task gets besides the system and the data: the seed, the run's tokenizer, the options. `dataset` names the
    random streams, `lang` is the language of all texts (empty, `und` or `mul` where none is told or there are several).
    """

    options: Any = None
    lang: str = field(default="", kw_only=True)

    @property
    def resamples(self) -> int:
        """Bootstrap resamples behind every interval."""
        return int(self.options.resamples)


@dataclass(frozen=True)
class TaskCellJob(inputs.EvaluationJob):
    """All that a worker needs to do a cell. `protocol` is "module:Class" of the declaration, `limit` the most items."""

    protocol: str
    task: str
    dataset: DatasetRequest
    limit: int | None
    options: Any


def evaluate_cell(
    job: TaskCellJob, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: CellPartExecutor = HERE
) -> TaskOutcome:
    """The outcome of one cell, with how many texts were encoded, taken from the cache and cut, and the calls that
    were charged to `ledger`."""
    protocol = import_protocol(job.protocol)
    loaded = load_task_dataset(job.protocol, job.task, job.dataset, job.limit, job.seed)
    opened = job.open_cached_system(
        advance, ledger=ledger, spread=spread, pair_corpus=protocol.pair_corpus, compared=protocol.compared
    )
    context = protocol.make_task_context(loaded, open_tokenizer(job.tokenizer), job.seed, job.options, spread=spread)
    if not opened.encoders:
        context = replace(context, advance=advance)
    task, system = protocol.tasks.build(job.task), opened.system
    need = protocol.needed(job.task, system, loaded.data, task.fields(loaded.data), job.options)
    with reserve_memory(need), charge_calls_to_account(ledger, system.name) as calls:
        opened.prefetch_vectors(partial(rehearse_encoder_calls, protocol, job.task, loaded.data, context))
        outcome = task.evaluate(system, loaded.data, context)
        again = (
            partial(_evaluate_headline_without_resamples, task, loaded.data, context)
            if job.task in protocol.order_alone
            else None
        )
        odd = opened.describe_cosine_effect(outcome, task.headline, again)
    outcome = replace(outcome, warnings=(*outcome.warnings, *odd))
    measures = {score.measure for score in outcome.scores}
    if outcome.scores and task.headline not in measures:
        raise ValueError(
            f"the task {task.name} declares {task.headline!r}, but it scores {', '.join(sorted(measures))}"
        )
    return opened.add_usage_and_warnings(outcome, calls)


def _evaluate_headline_without_resamples(task: Task, data: Any, context: Any, system: Similarity) -> TaskOutcome:
    """The task once more, for its headline alone."""
    briefly = replace(context, options=replace(context.options, resamples=1))
    return task.evaluate(system, data, briefly)


def rehearse_encoder_calls(protocol: TaskProtocol, name: str, data: Any, context: Any, hear: Hear) -> bool:
    """Do the task in vain, and tell `hear` of every call that it would make of an encoder. False, and nothing done, for
    more than `REHEARSED` texts."""
    task = protocol.tasks.build(name)
    if protocol.texts(task, data, context.options) > REHEARSED:
        return False
    briefly = replace(context, options=replace(context.options, resamples=1), spread=HERE)
    task.evaluate(CallRecordingSimilarity(hear), data, briefly)
    return True


@lru_cache(maxsize=8)
def import_protocol(home: str) -> TaskProtocol:
    """The protocol declared at "module:Class"."""
    if home not in _DECLARED:
        import_module(home.partition(":")[0])
    return _DECLARED[home]()


@lru_cache(maxsize=2)
def load_task_dataset(
    home: str, task: str, request: DatasetRequest, limit: int | None, seed: int
) -> LoadedDataset[Any]:
    """The dataset in the task's shape; the last two stay in memory."""
    return import_protocol(home).tasks.build(task).load(inputs.open_request_dataset(request), limit, seed)  # type: ignore[no-any-return]


_DECLARED: dict[str, type[TaskProtocol]] = {}


class TaskProtocol(EvaluationProtocol):
    """A protocol over a registry of tasks, each evaluated for every system on every dataset that joins it."""

    version: ClassVar[int]
    """Raised when the same request would give other numbers; part of every cell's key."""
    tasks: ClassVar[Registry[Any]]
    paper: ClassVar[tuple[str, ...]] = ()
    """The tasks that are done unless others are asked for, in the order in which they are shown."""
    context: ClassVar[type[TaskContext]] = TaskContext
    request: ClassVar[type[TaskRequest]] = TaskRequest
    """The arguments of a run."""
    options: ClassVar[type[Any]] = Options
    """A dataclass of what a run can be told; each field says its default and, in its metadata, its help."""
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    """Between which all headlines lie."""
    pair_corpus: ClassVar[str] = "batch"
    compared: ClassVar[Compared] = "cosine"
    """How vectors are compared: by cosine, as the source of a protocol has it, or as each model was made for."""
    order_alone: ClassVar[frozenset[str]] = frozenset()
    """Tasks in which only the order of similarities counts: there it can be said what the cosine changes."""
    first_field: ClassVar[Mapping[str, str]] = {}
    """Task -> the field whose texts its cost is measured on; of the others `text`, or the first there is."""
    kinds: ClassVar[Mapping[str, Literal["distances", "search"]]] = {}
    """Task -> what a system without vectors does for it; of the others pairs."""
    evaluate: CellEvaluator = staticmethod(evaluate_cell)

    def __init_subclass__(cls) -> None:
        # A notebook's declaration is in no module that could be imported.
        _DECLARED[f"{cls.__module__}:{cls.__qualname__}"] = cls

    # Where protocols may differ.
    def make_task_context(
        self, loaded: LoadedDataset[Any], tokenizer: Tokenizer, seed: int, options: Any, spread: CellPartExecutor = HERE
    ) -> Any:
        """The context of a task on one dataset."""
        return self.context(loaded.dataset, tokenizer, seed, options, spread=spread, lang=loaded.lang)

    def texts(self, task: Any, data: Any, options: Any) -> int:
        """How many texts a system sees, for plans and progress."""
        del options
        return int(task.size(data) * task.texts_per_item)

    def estimate_text_length_factor(self, task: str, context: Any) -> float:
        """The tokens of all versions of a text together, in units of the text's."""
        del task, context
        return 1.0

    def units(self, system: PlannedSystem, task: PlannedTask) -> int:
        """Count what progress shows in a cell: for an encoder its texts."""
        return task.texts if system.kind == "embedding" else 0

    def list_extra_key_fields(self, system: PlannedSystem, task: PlannedTask) -> dict[str, Any]:
        """The further fields of a cell's key: what else its values depend on."""
        del system, task
        return {}

    def needed(self, task: str, system: Similarity, data: Any, fields: Any, options: Any) -> WorkMemoryEstimate:
        """Estimate the memory of a cell: all texts of its `fields`, and what they become."""
        del task, data
        columns = [column for _, column in fields.values()]
        n = sum(map(len, columns))
        parts = {
            "texts": sum(map(estimate_text_memory_bytes, columns)),
            "replicates": replicate_bytes(n, 1, options.resamples),
        }
        dim = count_vector_dimensions(system)
        parts |= (
            {"vectors": vector_bytes(n, dim)} if dim else {"tokens": sum(map(estimate_token_bytes_of_texts, columns))}
        )
        return sum_memory_footprint(parts, "Use fewer items (--limit).")

    def is_mean_of_defined_datasets(self, task: str) -> bool:
        """Whether datasets on which the task is undefined are left out of its mean, and named."""
        del task
        return False

    def is_mean_harmonic(self, task: str, options: Any) -> bool:
        """Whether the mean over datasets is the harmonic one."""
        del task, options
        return False

    def tables(self, plan: Plan, rows: Sequence[ResultRow]) -> Iterator[RunTable]:
        """The tables of a run, from all its rows: by default one, of every system on every task."""
        yield headline_table(self, plan, rows)

    # What is the same for all.
    @property
    def protocol_import_path(self) -> str:
        """Where workers find the declaration."""
        return f"{type(self).__module__}:{type(self).__qualname__}"

    def headline(self, plan: Any, record: CellRecord) -> str:
        """The measure that stands for a cell."""
        del plan
        return str(self.tasks.build(record.task).headline)

    def draw_conclusions(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[ResultRow]) -> RunConclusions:
        """Draw a run's conclusions: headlines, overall score, comparisons of systems, and tables."""
        summary, comparisons = make_rows_and_comparisons_over_datasets(self, plan, records)
        tables, warnings = self._build_tables_safely(plan, [*rows, *summary])
        return RunConclusions(summary, comparisons, tables, tuple(make_standings(self, plan, records)), warnings)

    def _build_tables_safely(self, plan: Plan, rows: Sequence[ResultRow]) -> tuple[list[RunTable], tuple[str, ...]]:
        """The tables that could be made, and what went wrong with the others: another package's table costs no run."""
        tables: dict[str, RunTable] = {}
        try:
            for table in self.tables(plan, rows):
                if table.name in tables:
                    raise ValueError(f"it makes two tables called {table.name}")
                check_table_name(table.name)
                tables[table.name] = table
        except Exception as error:
            # A fault in one of our own tables must not be hidden.
            if self.protocol_import_path.startswith("embassay."):
                raise
            after = f" after {list(tables)[-1]}" if tables else ""
            where = f"Writing the tables of {self.protocol_import_path} failed{after}"
            return list(tables.values()), (
                f"{where}, {type(error).__name__}: "
                f"{error}{describe_error_place_in_package(error, self.protocol_import_path)}",
            )
        return list(tables.values()), ()

    def run(
        self,
        systems: Sequence[Any] | Mapping[str, Any],
        *,
        datasets: Sequence[Any] | Mapping[str, Any] = ("sample",),
        tasks: Sequence[str] = (),
        out: str | Path | None = None,
        workers: Workers = 1,
        cache: Path | None = None,
        listener: SilentListener | None = None,
        max_usd: float | None = None,
        **arguments: Unpack[RunArguments],
    ) -> Run:
        """Evaluate systems, resuming what is unfinished in `out`, and return the run.

        A system is a spec string, an object with `encode(texts)` or a function from texts to vectors
        (`systems.objects`); a dataset a name of the catalogue, a path, a frame or a list of dictionaries, which is kept
        in the folder `<out>-data`. Mappings name them: `{"mine": model}`. Without `out` a new folder under `runs/` is
        made. Further arguments are those of `TaskRequest`: mapping, split, grades, limit, seed (1337), tokenizer
        ("cl100k"), options. `max_usd` limits what the run may cost, earlier sessions in `out` included. UsageError when
        `out` holds a run of other arguments, BudgetExceeded when the limit is reached: what is finished is kept.
        """
        folder = Path(out) if out is not None else choose_new_run_folder(self.name)
        arguments.setdefault("options", self.options())
        request = make_request_from_call(
            self.request, self.run, arguments,
            register_systems_and_list_specs(systems, workers=workers), convert_to_string_tuple(tasks),
            write_frames_and_list_dataset_sources(datasets, data_frames_folder(folder))
        )  # fmt: skip
        return self.carry_out(request, folder, workers=workers, cache=cache, listener=listener, max_usd=max_usd)

    def plan_run(self, request: Any, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
        """Open every system and dataset, and cut the work into cells.

        `ledger` is what systems that cost money are charged to.

        Raises UsageError for a dataset that joins none of the requested tasks, and ModelError for a system that cannot
        be opened: both before any work is done.
        """
        for name in request.tasks:
            self.tasks.get(name)
        check_mapping_targets(request.mapping)
        tokenizer = open_tokenizer(request.tokenizer, later=True)
        systems = plan_systems(
            request.systems, tokenizer, request.seed, ledger, pair_corpus=self.pair_corpus, compared=self.compared
        )  # fmt: skip
        datasets, suites = plan_datasets_and_suites(
            request, self._list_requested_tasks(request), lambda source: self._plan_dataset(source, request)
        )
        check_unique_dataset_names(dataset.name for dataset in datasets)
        tokenizer.encode("")  # A vocabulary that is missing is said here, after what is wrong with the command.
        plan = Plan(
            request, tuple(systems), datasets, (), tokenizer.identity, cache=cache, paper=self.paper, suites=suites
        )
        return replace(plan, cells=tuple(self._plan_cells(plan)))

    def forecast_cost(self, plan: Plan, *, measure: bool = True) -> RunForecast:
        """The cost of every cell, in the order of the plan.

        With `measure`, systems on this machine are timed on a few texts, for which they are loaded here.
        """
        return RunForecast(tuple(self._forecast_cells(plan, measure=measure)))

    def load_task_data(self, request: Any, source: str, task: str) -> LoadedDataset[Any]:
        """The data of a task on one of the request's datasets."""
        return load_task_dataset(
            self.protocol_import_path, task, request.dataset(source), self.find_item_limit(task, request), request.seed
        )

    def _list_requested_tasks(self, request: Any) -> tuple[str, ...]:
        return order_tasks(request.tasks or self.paper, self.paper)

    def _plan_dataset(self, source: str, request: Any) -> PlannedDataset:
        dataset = inputs.open_request_dataset(request.dataset(source))
        wanted = [self.tasks.build(name) for name in self._list_requested_tasks(request)]
        tasks = []
        for task in choose_tasks_for_dataset(source, dataset, wanted, self.name, self.tasks):
            loaded = self.load_task_data(request, source, task.name)
            texts = self.texts(task, loaded.data, request.options)
            tasks.append(plan_task(task.name, loaded, task.size, texts))
        return PlannedDataset(
            source, dataset.name, dataset.lang, dataset.fingerprint, tuple(tasks), group=dataset.group
        )

    def _plan_cells(self, plan: Plan) -> Iterator[RunCell]:
        for name in self._list_requested_tasks(plan.request):
            for dataset in plan.datasets:
                for task in dataset.tasks:
                    if task.task == name:
                        yield from (self._plan_cell(plan, system, dataset, task) for system in plan.systems)

    def _plan_cell(self, plan: Plan, system: PlannedSystem, dataset: PlannedDataset, task: PlannedTask) -> RunCell:
        request = plan.request
        key = digest_json(
            {
                "protocol": self.name,
                "version": self.version,
                "task": task.task,
                "system": [system.name, system.identity],
                "dataset": [dataset.name, dataset.fingerprint],
                "tokenizer": plan.tokenizer_identity,
                "limit": request.limit,
                "seed": request.seed,
                "options": request.options.as_dict(),
                **self.list_extra_key_fields(system, task),
            }
        )
        job = TaskCellJob(
            system.spec, request.seed, request.tokenizer, plan.cache, self.protocol_import_path, task.task,
            request.dataset(dataset.source), self.find_item_limit(task.task, request), request.options
        )  # fmt: skip
        units = self.units(system, task)
        return RunCell(task.task, dataset.name, system.name, key, units, job, remote=system.remote is not None)

    def _forecast_cells(self, plan: Plan, *, measure: bool) -> Iterator[CellForecast]:
        request, tokenizer = plan.request, open_tokenizer(plan.request.tokenizer)
        forecaster = TaskCostForecaster(plan.systems, tokenizer, request.seed, plan.cache, measure=measure)
        for name in plan.tasks:
            for dataset in plan.datasets:
                for planned in dataset.tasks:
                    if planned.task == name:
                        for forecast in forecaster.cells(
                            self._make_task_effort(plan, planned, dataset.source, tokenizer)
                        ):
                            yield forecast
                            self.listener.advanced_by(1)

    def _make_task_effort(
        self, plan: Plan, planned: PlannedTask, source: str, tokenizer: Tokenizer
    ) -> TaskWorkloadForForecast:
        request, name = plan.request, planned.task
        loaded = self.load_task_data(request, source, name)
        fields = self.tasks.build(name).fields(loaded.data)
        texts, queries = self._select_first_field_texts(name, fields), fields.get("query", ((), ()))[1]
        tokens, _ = count_tokens_by_sample(texts, tokenizer)
        context = self.make_task_context(loaded, tokenizer, request.seed, request.options)
        return TaskWorkloadForForecast(
            name, loaded.dataset, planned.n, planned.texts,
            round(tokens * self.estimate_text_length_factor(name, context)),
            partial(rehearse_encoder_calls, self, name, loaded.data, context), texts, queries,
            self.kinds.get(name, "pairs"),
            footprint=lambda system: self.needed(name, system, loaded.data, fields, request.options)
        )  # fmt: skip

    def _select_first_field_texts(
        self, task: str, fields: Mapping[str, tuple[Sequence[str], Sequence[str]]]
    ) -> Sequence[str]:
        first = self.first_field.get(task, "text")
        return fields[first if first in fields else next(iter(fields))][1]


PROTOCOLS: Registry[TaskProtocol] = Registry("protocol", makes=[("name", "version", "tasks", "paper")])
"""Protocols that `embassay run` carries out."""
PROTOCOLS.add(
    "sage",
    "embassay.protocols.sage.protocol:SageProtocol",
    "preference, robustness, sensitivity, clustering, retrieval",
)


def advise_other_protocol(task: str) -> str:
    """Say which protocol has the task that another was asked for."""
    homes = [name for name in ("sage", "pteb") if task in import_attribute(f"embassay.protocols.{name}:TASKS")]
    return f"It is a task of `embassay {homes[0]} run`. " if homes else ""
