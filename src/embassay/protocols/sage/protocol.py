"""SAGE as a declaration: its tasks, and the few things in which a run of it differs from runs of other protocols.

A corpus that lies in a file isn't copied into every run: kept are the queries, the judged documents and, when cells
have ended, the documents that some system has found. A task whose items are the documents themselves keeps none of
them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from embassay.data.corpus import are_texts_read_from_file
from embassay.parquet import read_parquet
from embassay.protocols.kernel.evaluation import Task, TaskProtocol
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import Plan, PlannedSystem, PlannedTask
from embassay.protocols.kernel.session import CellRunAttempt, RunConclusions, SilentListener, map_systems_to_kinds
from embassay.protocols.kernel.tables import RunTable
from embassay.protocols.sage.guards import make_damage_guard_table
from embassay.protocols.sage.options import ALL, VERSION, Request, SageOptions
from embassay.protocols.sage.tables import make_best_encoder_vs_metric_table, make_sage_tables, make_system_group_table
from embassay.protocols.sage.tasks import (
    PAIR_CORPUS,
    TASK_NAMES,
    TASKS,
    SageContext,
    compute_total_version_length_ratio,
    estimate_task_memory,
    parse_edit_list,
)
from embassay.records import ResultRow, RetrievalSet
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord, RunFolder, is_whole_parquet, write_parquet_columns
from embassay.search.exact import SHARD
from embassay.systems.remote import Ledger

_LENGTHS = {"robustness": 7.0, "sensitivity": 1 + 3 * (1.15 + 1.5 + 2) + 3 * (0.85 + 0.5 + 0.1)}
"""Tokens of all versions of a document together, in units of the original's; other tasks see it once."""


def run(
    systems: Sequence[Any] | Mapping[str, Any],
    *,
    datasets: Sequence[Any] | Mapping[str, Any] = ("sample",),
    tasks: Sequence[str] = (),
    out: str | Path | None = None,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Evaluate systems with SAGE, resuming what is unfinished in `out`, and return the run.

    Arguments are those of `TaskProtocol.run`: spec strings or objects of your own as systems, names, paths or frames as
    datasets.
    """
    return SageProtocol().run(
        systems, datasets=datasets, tasks=tasks, out=out, workers=workers, cache=cache, listener=listener,
        max_usd=max_usd, **arguments
    )  # fmt: skip


def make_plan(request: Request, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
    """The plan of a run that is not begun: its systems, datasets and cells. Raises what a run would raise before any
    work."""
    return SageProtocol().plan_run(request, cache, ledger)


class SageProtocol(TaskProtocol):
    """The SAGE protocol of five tasks; robustness, sensitivity and retrieval edit their texts."""

    name = "sage"
    version = VERSION
    tasks = TASKS
    paper = TASK_NAMES
    context = SageContext
    options = SageOptions
    pair_corpus = PAIR_CORPUS
    first_field: ClassVar = {"retrieval": "document", "preference": "source"}
    kinds: ClassVar = {"clustering": "distances", "retrieval": "search"}
    order_alone = frozenset({"preference", "robustness", "retrieval"})
    needed = staticmethod(estimate_task_memory)

    def find_item_limit(self, task: str, request: Request) -> int | None:
        """Find the item limit of a task; those that edit whole documents have a cap of their own."""
        return request.options.item_limit(task, request.limit)

    def texts(self, task: Task, data: Any, options: SageOptions) -> int:
        """Count the texts a system sees: retrieval sees a document once for every edit asked for."""
        chosen = task.name == "retrieval" and options.retrieval_edits != ALL
        copies = 1 + len(parse_edit_list(options.retrieval_edits)) if chosen else task.texts_per_item
        return task.size(data) * copies

    def estimate_text_length_factor(self, task: str, context: SageContext) -> float:
        """As long as the versions that the task's edits make."""
        return compute_total_version_length_ratio(context) if task == "retrieval" else _LENGTHS.get(task, 1.0)

    def units(self, system: PlannedSystem, task: PlannedTask) -> int:
        """Count progress by texts for an encoder, by a corpus's shards for every other system."""
        return task.texts if system.kind == "embedding" or task.task == "retrieval" else 0

    def list_extra_key_fields(self, system: PlannedSystem, task: PlannedTask) -> dict[str, Any]:
        """List how a corpus of several shards is cut, on which an encoder's last bits depend."""
        cut = task.task == "retrieval" and task.n > SHARD and system.kind == "embedding"
        return {"shard": SHARD} if cut else {}

    def keep(self, plan: Plan) -> None:
        """Keep the texts that each task judges."""
        for dataset in plan.datasets:
            for task in dataset.tasks:
                self.folder.write_texts_once(
                    task.task,
                    dataset.name,
                    partial(_make_columns_of_found_or_judged_texts, plan, dataset.source, task.task),
                )

    def run_cells(self, session: CellRunAttempt, listener: SilentListener) -> None:
        """Run the cells, and then keep what they have found."""
        session.do(listener)
        _write_found_documents_of_large_corpora(session.plan, self.folder)

    def is_mean_of_defined_datasets(self, task: str) -> bool:
        """Say whether a task's mean is over defined datasets, as retention of nothing is undefined."""
        return task == "retrieval"

    def is_mean_harmonic(self, task: str, options: SageOptions) -> bool:
        """Say whether a task's mean is harmonic: that of retrieval, where it is chosen [A20]."""
        return task == "retrieval" and options.dataset_mean == "harmonic"

    def tables(self, plan: Plan, rows: Sequence[ResultRow]) -> Iterator[RunTable]:
        """Make the tables of a run: the paper's, and ours."""
        return make_sage_tables(rows, map_systems_to_kinds(plan))

    def draw_conclusions(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[ResultRow]) -> RunConclusions:
        """Draw conclusions, with embedding models beside classical metrics as groups too."""
        conclusion = super().draw_conclusions(plan, records, rows)
        of_system = map_systems_to_kinds(plan)
        groups = (
            *make_system_group_table(conclusion.standings, of_system),
            *make_best_encoder_vs_metric_table(conclusion.standings, of_system),
        )
        ranked = [record for record in records if of_system.get(record.system) != "reference"]
        guarded = make_damage_guard_table(ranked, rows, plan.request.options.guard_keep)
        return replace(conclusion, tables=(*conclusion.tables, *groups, *guarded))


Columns = dict[str, list[str]]


def _write_found_documents_of_large_corpora(plan: Plan, folder: RunFolder) -> None:
    """Keep the documents of large corpora that systems have found since."""
    for dataset in plan.datasets:
        for task in dataset.tasks:
            paths = (
                folder.locate_cell_items(task.task, dataset.name, system.name, ".rankings") for system in plan.systems
            )
            hits = {str(doc) for path in paths for doc in _read_retrieved_document_ids(path)}
            path = folder.locate_task_texts(task.task, dataset.name)
            if not hits <= _read_ids_of_edited_documents(path) or (path.exists() and not is_whole_parquet(path)):
                write_parquet_columns(
                    path, _make_columns_of_found_or_judged_texts(plan, dataset.source, task.task, hits)
                )


def _make_columns_of_found_or_judged_texts(plan: Plan, source: str, name: str, hits: Iterable[str] = ()) -> Columns:
    data = SageProtocol().load_task_data(plan.request, source, name).data
    wanted = {*hits, *_list_judged_documents(data)}
    columns: Columns = {"item_id": [], "field": [], "text": []}
    for field, (ids, texts) in TASKS.build(name).fields(data).items():
        kept_ids, kept = select_wanted_texts(ids, texts, wanted) if are_texts_read_from_file(texts) else (ids, texts)
        columns["item_id"] += kept_ids
        columns["field"] += [field] * len(kept_ids)
        columns["text"] += kept
    return columns


def select_wanted_texts(
    ids: Sequence[str], texts: Sequence[str], wanted: Container[str]
) -> tuple[list[str], list[str]]:
    """The wanted ids and their texts, in the order of the corpus; the ids are read once, of the texts only those."""
    places = {key: place for place, key in enumerate(ids) if key in wanted}
    return list(places), [texts[place] for place in places.values()]


def _list_judged_documents(data: Any) -> Iterable[str]:
    qrels: Mapping[str, Mapping[str, float]] = data.qrels if isinstance(data, RetrievalSet) else {}
    return (doc for grades in qrels.values() for doc in grades)


def _read_retrieved_document_ids(path: Path) -> Iterable[Any]:
    return read_parquet(path, ["doc_id"])["doc_id"].unique().to_list() if is_whole_parquet(path) else ()


def _read_ids_of_edited_documents(path: Path) -> set[str]:
    if not is_whole_parquet(path):
        return set()
    frame = read_parquet(path, ["item_id", "field"])
    return set(frame.filter(frame["field"] == "document")["item_id"].to_list())
