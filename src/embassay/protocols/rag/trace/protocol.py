"""A trace as a run: kept in a folder, planned, resumed, and read back for its page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.limits import parse_json_written_by_embassay, read_bounded_file
from embassay.protocols.kernel.outcome import make_manifest_of_file_based_run
from embassay.protocols.kernel.session import SilentListener, check_same_run_arguments, open_spending_ledger
from embassay.protocols.kernel.tables import ColumnTable, number_column, text, whole_number_column, write_tables
from embassay.protocols.rag.trace.losses import TracedPipelineLosses, estimate_prompt_share
from embassay.protocols.rag.trace.options import PipelineTraceRequest
from embassay.protocols.rag.trace.pipeline import read_collection_of_trace_request, run_pipeline_trace
from embassay.records import ResultRow
from embassay.runs.folder import (
    RunFolder,
    build_dataclass_from_values,
    format_value_as_json,
    write_file_atomically,
    write_json,
)
from embassay.systems.rerankers import RERANKERS

PROTOCOL, TASK, PIPELINE = "rag", "trace", "pipeline"
FILE, ORDERS = "trace.json", "reranked.jsonl"
HEADLINE, LOST = "in_prompt", "lost"


def trace_pipeline_into_folder(
    request: PipelineTraceRequest,
    out: Path,
    command: str = "",
    *,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
) -> TracedPipelineLosses:
    """Trace a pipeline into the folder `out`, going on with what a reranker has ordered there. UsageError where it
    holds a run of other arguments, BudgetExceeded where the reranker would cost over `max_usd`: its orders stay."""
    folder = RunFolder(out)
    check_same_run_arguments(folder, request)
    with folder.hold_folder_lock():
        with open_spending_ledger(out, max_usd) as ledger:
            trace = run_pipeline_trace(request, ledger=ledger, listener=listener, kept=out / ORDERS)
        rows = list(make_trace_result_rows(trace, request))
        write_json(out / FILE, trace.as_dict())
        folder.write_results(rows)
        write_file_atomically(out / "comparisons.json", format_value_as_json({"scopes": {}}) + "\n")
        write_tables(out, [build_stage_losses_table(trace)])
        folder.write_manifest(_make_trace_manifest(folder, trace, request, command))
    return trace


def read_pipeline_trace(path: Path) -> TracedPipelineLosses:
    """Read the trace that a run's folder holds; DataError where it holds none."""
    try:
        return build_dataclass_from_values(
            TracedPipelineLosses, parse_json_written_by_embassay(read_bounded_file(path / FILE))
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            "the record of the trace cannot be read", path=path / FILE, found=str(error),
            mend="Run `embassay rag trace` again with this --out."
        ) from error  # fmt: skip


def make_trace_result_rows(trace: TracedPipelineLosses, request: PipelineTraceRequest) -> Iterator[ResultRow]:
    """List results: the share in the prompt by dataset and in all, and losses by stage and tag."""
    dataset = name_traced_dataset(request)
    share = estimate_prompt_share(trace, request.resamples, request.seed)
    # The second time over all datasets, of which there is one: every run folder has such rows.
    for name in (dataset, ""):
        yield ResultRow(
            PROTOCOL, TASK, name, "", "", "", PIPELINE, HEADLINE, share.value, share.n, share.low, share.high,
            share.method, request.seed
        )  # fmt: skip
    for loss in trace.losses:
        yield ResultRow(
            PROTOCOL, TASK, dataset, loss.tag, "", loss.stage, PIPELINE, LOST, loss.share.value, loss.share.n,
            loss.share.low, loss.share.high, loss.share.method, request.seed
        )  # fmt: skip


def name_traced_dataset(request: PipelineTraceRequest) -> str:
    """Name the dataset of the questions and judgements that are traced."""
    from embassay.protocols.rag.scoring.inputs import strip_format_endings

    return request.dataset.partition("?")[0] or strip_format_endings(Path(request.qrels).name)


def build_stage_losses_table(trace: TracedPipelineLosses) -> ColumnTable:
    """Build the table of losses with a line for each stage and tag."""
    return ColumnTable.of(
        "trace_losses", "Where needed passages are lost", trace.losses, text("stage"), text("tag"),
        whole_number_column("lost"),
        number_column("share", "share.value", 3), number_column("low", "share.low", 3),
        number_column("high", "share.high", 3),
        whole_number_column("needed", "share.n"),
        note="Share of needed passages (grade 4 or 5) lost at a stage, for all questions or for those with a tag."
    )  # fmt: skip


def describe_trace_plan(request: PipelineTraceRequest, out: Path | None) -> Iterator[str]:
    """Describe in lines what a trace with a dataset takes; nothing is searched or sent."""
    if not request.dataset:
        yield "The lists are read from files, so the trace runs no searches and costs nothing."
        return
    collection = read_collection_of_trace_request(request)
    questions, passages = len(collection.questions), len(collection.passages)
    yield f"{questions:,} questions that need {sum(map(len, collection.needed.values())):,} of {passages:,} passages."
    yield f"Search with BM25 and {request.encoder}: {request.depth:,} passages each; the cutoff leaves {request.k:,}."
    if not request.reranker:
        return
    kept = (out / ORDERS).read_bytes().count(b"\n") if out is not None and (out / ORDERS).exists() else 0
    left = max(0, questions - kept)
    pairs = left * min(request.k, passages)
    yield f"Reranking by {request.reranker}: {pairs:,} pairs of {left:,} questions (already ordered: {kept:,})."
    spec = RERANKERS.parse_spec(request.reranker)
    is_remote = "embassay[llm]" in dict(RERANKERS.get(spec.name).facts).get("needs", "")
    if is_remote and "price" not in spec.params:
        yield "The reranker's price is unknown. Add price= to the reranker to see the cost."


def _make_trace_manifest(
    folder: RunFolder, trace: TracedPipelineLosses, request: PipelineTraceRequest, command: str
) -> dict[str, Any]:
    name, source = name_traced_dataset(request), request.dataset or request.qrels
    systems = [{"name": PIPELINE, "kind": "run", "identity": " > ".join(trace.names), "facts": {}}]
    tasks = {TASK: {"n": trace.questions, "skipped": [], "warnings": list(trace.notes)}}
    dataset = {"name": name, "source": source, "lang": "", "fingerprint": "", "tasks": tasks}
    cell: dict[str, Any] = {
        "key": PIPELINE, "task": TASK, "dataset": name, "system": PIPELINE, "status": "done", "reason": "",
        "seconds": None, "counts": {"questions": trace.questions, "passages": len(trace.rows)}, "skipped": [],
        "warnings": [],
    }  # fmt: skip
    return make_manifest_of_file_based_run(
        folder, PROTOCOL, command, request.as_dict(), systems=systems, datasets=[dataset], cells=[cell], kind=TASK
    )
