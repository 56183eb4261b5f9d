"""Planted pipelines: each loses needed passages in its own way, and the trace names it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from embassay.cli.main import app
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.trace.losses import (
    RetrievalPipeline,
    StageDocumentLists,
    TracedPipelineLosses,
    trace_passage_losses,
)
from embassay.protocols.rag.trace.options import PipelineTraceRequest
from embassay.protocols.rag.trace.pipeline import run_pipeline_trace
from embassay.protocols.rag.trace.protocol import (
    ORDERS,
    describe_trace_plan,
    read_pipeline_trace,
    trace_pipeline_into_folder,
)
from embassay.report import write_report
from embassay.runs.folder import RunFolder
from embassay.systems.rerankers.overlap import OverlapReranker

QUERIES = [f"q{number}" for number in range(8)]
NEEDED = {query: ["good"] for query in QUERIES}
OTHERS = [f"d{number}" for number in range(20)]


def _with_good(rank: int | None, n: int = 20) -> list[str]:
    """A list of `n` with the needed passage at a rank, or without it."""
    others = OTHERS[:n] if rank is None else OTHERS[: n - 1]
    return others if rank is None else [*others[: rank - 1], "good", *others[rank - 1 :]]


def _every(name: str, ids: Sequence[str]) -> StageDocumentLists:
    return StageDocumentLists(name, dict.fromkeys(QUERIES, ids))


def _traced(words: int | None, vectors: int | None, *stages: StageDocumentLists) -> TracedPipelineLosses:
    searches = (_every("words", _with_good(words)), _every("vectors", _with_good(vectors)))
    return trace_passage_losses(RetrievalPipeline(searches, stages, 5), NEEDED, resamples=200)


def _lost(trace: TracedPipelineLosses) -> dict[str, int]:
    return {loss.stage: loss.lost for loss in trace.losses if not loss.tag and loss.lost}


def test_a_reranker_after_the_cut_cannot_help() -> None:
    """It gets the five that the prompt takes: the cut loses the passage, and the trace says that the reranker has no
    power. One that gets ten has."""
    cut, order = _with_good(9)[:5], _with_good(9)[4::-1]
    trace = _traced(9, 9, _every("fused", _with_good(9)), _every("cut", cut), _every("reranked", order))
    assert _lost(trace) == {"cut": 8}
    assert [effect.is_powerless for effect in trace.effects] == [False, False, True]
    helped = _traced(9, 9, _every("fused", _with_good(9)), _every("reranked", _with_good(1)))
    assert _lost(helped) == {}
    assert (helped.effects[1].raised, helped.effects[1].is_powerless) == (8, False)


def test_a_filter_that_drops_the_right_passage() -> None:
    """It stood second, so it was dropped from the first five."""
    kept = [doc for doc in _with_good(2) if doc != "good"]
    trace = _traced(2, 2, _every("fused", _with_good(2)), _every("filter", kept))
    assert _lost(trace) == {"filter": 8}
    assert (trace.effects[1].lowered, trace.effects[1].dropped_first) == (8, 8)
    assert trace.rows[0].ranks == (2, 2, 2, None, None)


def test_searches_that_do_not_find_it() -> None:
    """No later stage has what neither search finds; by words alone it is found in the second."""
    trace = _traced(None, None, _every("fused", _with_good(None)))
    assert (_lost(trace), trace.found_by) == ({"search": 8}, {"": 8})
    assert _traced(3, None, _every("fused", _with_good(3))).found_by == {"words": 8}


def test_fusion_that_buries_it() -> None:
    """First by words, 18th after fusion, and cut at ten: the cut loses it, the fusion moved it down."""
    fused = _with_good(18)
    trace = _traced(1, None, _every("fused", fused), _every("cut", fused[:10]))
    assert _lost(trace) == {"cut": 8}
    assert (trace.effects[0].lowered, trace.effects[0].dropped_first) == (8, 0)


def test_a_reranker_that_moves_it_out_of_the_prompt() -> None:
    """It stays in the list, and ranks below the first five."""
    trace = _traced(1, 1, _every("fused", _with_good(1)), _every("reranked", _with_good(12)))
    assert _lost(trace) == {"prompt": 8}
    assert (trace.effects[1].lowered, trace.effects[1].dropped_first) == (8, 0)


def test_shares_are_by_question_and_tag() -> None:
    """Three of four needed passages of q0 are lost, none of the others: a share of passages, its interval over
    questions, and all of it under the tag."""
    needed = {"q0": ["a", "b", "c", "good"], **{query: ["good"] for query in QUERIES[1:]}}
    pipeline = RetrievalPipeline((_every("vectors", _with_good(1)),), (), 5)
    trace = trace_passage_losses(pipeline, needed, tags={"q0": ["long"], "q1": ["short"]}, resamples=500)
    by = {(loss.stage, loss.tag): loss for loss in trace.losses}
    share = by["search", ""].share
    assert (by["search", ""].lost, share.n, share.value) == (3, 11, pytest.approx(3 / 11))
    assert share.low == 0 < share.high < 0.7
    assert by["search", "long"].share.value == 0.75
    assert by["search", "short"].lost == 0
    assert trace.count_needed_passages_in_prompt == 8


def test_a_passage_that_a_stage_adds_is_in_the_prompt() -> None:
    """No search found it, and a stage put it in: it is not lost."""
    assert _lost(_traced(None, None, _every("added", _with_good(1)))) == {}


def _write(path: Path, lists: Mapping[str, Sequence[str]]) -> str:
    rows = [
        f"{query} Q0 {doc} {rank} {1 / rank} x\n"
        for query, ids in lists.items()
        for rank, doc in enumerate(ids, start=1)
    ]
    path.write_text("".join(rows))
    return f"{path.stem}={path}"


def test_files_are_traced_from_the_command_line(tmp_path: Path) -> None:
    """Two searches, a fusion and a filter as TREC runs: the verdict, each passage's ranks, and the record as JSON."""
    words = _write(tmp_path / "words.trec", dict.fromkeys(QUERIES, _with_good(2)))
    dense = _write(tmp_path / "vectors.trec", dict.fromkeys(QUERIES[1:], _with_good(None)))
    fused = _write(tmp_path / "fused.trec", dict.fromkeys(QUERIES, _with_good(3)))
    final = _write(tmp_path / "filter.trec", dict.fromkeys(QUERIES, _with_good(None)))
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{query} 0 good 5\n{query} 0 d1 2\n" for query in QUERIES))
    call = ["rag", "trace", "--qrels", str(qrels), "--search", words, "--search", dense, "--stage", fused]
    done = CliRunner().invoke(app, [*call, "--stage", final, "--per-passage"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("100% (63-100%)")
    assert "stage filter" in done.output
    told = json.loads(CliRunner().invoke(app, [*call, "--json"]).output)
    assert told["rows"][0] == {"query": "q0", "passage": "good", "ranks": [2, None, 3, 3], "lost": ""}
    assert "vectors has no list for 1 of 8 questions" in told["notes"][0]


def test_a_dataset_is_traced_with_a_system() -> None:
    """The same lists as its parts make: a cut at five leaves the reranker no power."""
    trace = run_pipeline_trace(
        PipelineTraceRequest(dataset="sample", encoder="jaccard", reranker="overlap", k=5, limit=6)
    )
    assert trace.names == ("words", "vectors", "fused", "cut", "reranked", "prompt")
    assert trace.effects[-1].is_powerless
    assert {row.lost for row in trace.rows} <= {"", "search", "cut"}
    deep = run_pipeline_trace(
        PipelineTraceRequest(dataset="sample", encoder="jaccard", k=200, depth=200, passages=200, limit=6)
    )
    assert deep.count_needed_passages_in_prompt == len(deep.rows)


def test_mistakes_have_a_mend(tmp_path: Path) -> None:
    """Nothing to trace, two ways at once, searches without a common list, one name twice, other ids, no need."""
    words = _write(tmp_path / "words.trec", {"q0": ["good"]})
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("other 0 good 5\n")
    for facts, error in (
        ({}, UsageError),
        ({"dataset": "sample"}, UsageError),
        ({"dataset": "sample", "encoder": "jaccard", "searches": (words,)}, UsageError),
        ({"searches": (words, words), "qrels": str(qrels)}, UsageError),
        ({"searches": (words,), "stages": (words,), "qrels": str(qrels)}, UsageError),
        ({"searches": (words,), "qrels": str(qrels)}, DataError),
        ({"searches": (words,), "qrels": str(qrels), "grades": "5=1"}, UsageError),
    ):
        with pytest.raises(error) as raised:
            run_pipeline_trace(PipelineTraceRequest(**facts))  # type: ignore[arg-type]
        assert raised.value.mend


def test_a_trace_is_kept_and_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reranker has ordered is not asked again, half a line of a kill is; the folder has rows and a page."""
    asked: list[str] = []
    score = OverlapReranker.score

    def counted(self: OverlapReranker, query: str, documents: Sequence[str]) -> object:
        asked.append(query)
        return score(self, query, documents)

    monkeypatch.setattr(OverlapReranker, "score", counted)
    request = PipelineTraceRequest(dataset="sample", encoder="jaccard", reranker="overlap", k=12, limit=6)
    out = tmp_path / "run"
    [*_, before] = describe_trace_plan(request, out)
    assert "72 pairs of 6 questions (already ordered: 0)" in before
    trace = trace_pipeline_into_folder(request, out)
    assert len(asked) == 6
    content = (out / ORDERS).read_bytes()
    (out / ORDERS).write_bytes(content[:-20])
    assert trace_pipeline_into_folder(request, out) == trace == read_pipeline_trace(out)
    assert len(asked) == 7
    assert (out / ORDERS).read_bytes() == content
    rows = {(row.measure, row.variant): row for row in RunFolder(out).read_results() if row.dataset and not row.subset}
    assert rows["in_prompt", ""].value == pytest.approx(trace.count_needed_passages_in_prompt / len(trace.rows))
    stages = [row.value for (measure, _), row in rows.items() if measure == "lost"]
    assert sum(value or 0.0 for value in stages) + (rows["in_prompt", ""].value or 0.0) == pytest.approx(1.0)
    page = write_report(out).read_text("utf-8")
    assert trace.rows[0].passage in page
    with pytest.raises(UsageError, match="other arguments"):
        trace_pipeline_into_folder(PipelineTraceRequest(dataset="sample", encoder="jaccard", limit=5), out)
