"""The lists of a pipeline after each stage: read from files, or made with an encoder, BM25 and a reranker."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

import numpy as np

from embassay.contracts import Reranker
from embassay.data import draw, open_dataset
from embassay.data.judged_runs import rank_passages_by_question, read_qrels_entries, read_run_entries
from embassay.data.sources import prefer_path_over_catalogue
from embassay.errors import DataError
from embassay.measures.judgements import RELEVANT
from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.rag.scoring.inputs import (
    fuse_runs,
    map_judgement_grades,
    parse_named_path,
    read_question_tags,
    retrieve_passages,
)
from embassay.protocols.rag.trace.losses import (
    Lists,
    Needed,
    RetrievalPipeline,
    StageDocumentLists,
    TracedPipelineLosses,
    trace_passage_losses,
)
from embassay.protocols.rag.trace.options import PipelineTraceRequest
from embassay.search import rerank
from embassay.systems.remote import Ledger
from embassay.systems.rerankers import open_reranker
from embassay.text import open_tokenizer


def run_pipeline_trace(
    request: PipelineTraceRequest,
    *,
    ledger: Ledger | None = None,
    listener: SilentListener | None = None,
    kept: Path | None = None,
) -> TracedPipelineLosses:
    """Read or make the lists, and follow each needed passage. DataError and UsageError for what cannot be read, and
    where no question has both a need and a list. Orders of a reranker go into the file `kept` as they come."""
    if request.dataset:
        pipeline, needed = run_retrieval_pipeline(request, ledger or Ledger(), listener, kept)
    else:
        pipeline, needed = read_retrieval_pipeline(request)
    tags = read_question_tags(request.queries) if request.queries else None
    return trace_passage_losses(pipeline, needed, tags=tags, resamples=request.resamples, seed=request.seed)


def read_retrieval_pipeline(request: PipelineTraceRequest) -> tuple[RetrievalPipeline, Needed]:
    """Read the lists in files, and what their questions need: passages of grade 4 or 5."""
    searches, stages = (
        tuple(_read_list_after_stage(given, request) for given in files) for files in (request.searches, request.stages)
    )
    needed = read_needed_passages(Path(request.qrels), request.mapping, request.grades)
    pipeline = RetrievalPipeline(searches, stages, request.passages)
    listed = {query for stage in (*searches, *stages) for query in stage.lists}
    if needed and not listed & needed.keys():
        raise DataError(
            "no judged question has a list", path=request.qrels, expected=f"ids such as {min(listed, default='')!r}",
            found=repr(min(needed)), mend="Judgements and runs must use the same question ids."
        )  # fmt: skip
    return pipeline, needed


def read_needed_passages(
    qrels: Path, mapping: Mapping[str, str], grades: str | None, split: str | None = None
) -> dict[str, list[str]]:
    """Question id -> its passages of grade 4 or 5, in the order of the file. DataError as `read_qrels_entries`."""
    judged = map_judgement_grades(read_qrels_entries(qrels.expanduser(), mapping, split=split), grades).frame
    needed: dict[str, list[str]] = {}
    for query, doc, grade in judged.select("query", "doc", "grade").iter_rows():
        if grade >= RELEVANT:
            needed.setdefault(str(query), []).append(str(doc))
    return needed


def _read_list_after_stage(given: str, request: PipelineTraceRequest) -> StageDocumentLists:
    """A run by its scores, best first."""
    name, path = parse_named_path(given)
    ranked = rank_passages_by_question(read_run_entries(path, request.mapping))
    return StageDocumentLists(name, {query: [doc for doc, _ in hits] for query, hits in ranked.items()})


@dataclass(frozen=True)
class TraceQuestionsAndPassages:
    """A dataset as a trace uses it: what its questions need, their texts, and all passages."""

    name: str
    fingerprint: str
    needed: Needed
    questions: Mapping[str, str]
    passages: Mapping[str, str]


def read_collection_of_trace_request(request: PipelineTraceRequest) -> TraceQuestionsAndPassages:
    """Read the dataset of a request, its questions with a need drawn by the seed."""
    dataset = open_dataset(prefer_path_over_catalogue(request.dataset))
    loaded = dataset.load("retrieval")
    data = loaded.data
    # Grades of 1 to 5 are gains of 0 to 4; where there are none, whatever is relevant is needed.
    least = RELEVANT - 1 if dataset.gains.table is not None else np.nextafter(0, 1)
    judged = {query: [doc for doc, gain in row.items() if gain >= least] for query, row in data.qrels.items()}
    asked = [key for key in data.queries.ids if judged.get(key)]
    if request.limit is not None:
        asked = [asked[row] for row in draw(asked, request.limit, request.seed)]
    text_of = dict(zip(data.queries.ids, data.queries.texts, strict=True))
    return TraceQuestionsAndPassages(
        loaded.dataset, loaded.fingerprint, {key: judged[key] for key in asked},
        {key: text_of[key] for key in asked}, dict(zip(data.corpus.ids, data.corpus.texts, strict=True))
    )  # fmt: skip


def run_retrieval_pipeline(
    request: PipelineTraceRequest, ledger: Ledger, listener: SilentListener | None = None, kept: Path | None = None
) -> tuple[RetrievalPipeline, Needed]:
    """Search a dataset by words and by vectors, fuse by reciprocal ranks, cut at `k`, and rerank. What a reranker has
    ordered is kept in the file `kept`, where the same request goes on."""
    listener = listener or SilentListener()
    collection = read_collection_of_trace_request(request)
    questions, passages = collection.questions, collection.passages
    tokenizer = open_tokenizer("words")
    runs = []
    for system in ("bm25", request.encoder):
        listener.stage(f"search by {system}", len(questions), "questions")
        runs.append(retrieve_passages(system, passages, questions, request.depth, tokenizer=tokenizer))
        listener.advanced_by(len(questions))
    words, vectors = ({query: [key for key, _ in hits] for query, hits in run.items()} for run in runs)
    fused = {query: [key for key, _ in hits] for query, hits in fuse_runs(runs, 2 * request.depth).items()}
    cut = {query: ids[: request.k] for query, ids in fused.items()}
    stages = [StageDocumentLists("fused", fused), StageDocumentLists("cut", cut)]
    if request.reranker:
        reranker = open_reranker(request.reranker, ledger=ledger, tokenizer=tokenizer, seed=request.seed)
        listener.stage(f"reranking by {request.reranker}", len(cut), "questions")
        stages.append(StageDocumentLists("reranked", _rerank_all_questions(reranker, collection, cut, kept, listener)))
    searches: list[tuple[str, Lists]] = [("words", words), ("vectors", vectors)]
    pipeline = RetrievalPipeline(tuple(starmap(StageDocumentLists, searches)), tuple(stages), request.passages)
    return pipeline, collection.needed


def _rerank_all_questions(
    reranker: Reranker, collection: TraceQuestionsAndPassages, cut: Lists, kept: Path | None, listener: SilentListener
) -> dict[str, Sequence[str]]:
    """Rerank each question's passages, asking only for orders that `kept` does not have."""
    order = {} if kept is None else _read_stored_stage_orders(kept)
    with Path(os.devnull if kept is None else kept).open("ab") as file:
        for query, ids in cut.items():
            # Of another list than that which was ordered, nothing is known.
            if sorted(order.get(query, ())) != sorted(ids):
                texts = [collection.passages[key] for key in ids]
                order[query] = list(rerank(reranker, collection.questions[query], ids, texts).ids)
                # At once: a reranker may be slow, or charge.
                file.write((json.dumps([query, order[query]]) + "\n").encode())
                file.flush()
            listener.advanced_by(1)
    return {query: order[query] for query in cut}


def _read_stored_stage_orders(kept: Path) -> dict[str, Sequence[str]]:
    """Read the kept orders in a file's whole lines; what a kill left of the last one is cut off."""
    content = kept.read_bytes() if kept.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(kept, len(whole))
    return dict(map(json.loads, whole.splitlines()))
