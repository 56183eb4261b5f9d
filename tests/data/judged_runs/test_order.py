"""One order of a run file, wherever one is read: by score in single precision, equal ones by id, the greater first."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import embassay
from embassay.data.judged_runs import rank_passages_by_question, read_entries_in_memory, read_run_entries
from embassay.measures.judgements import rank_documents
from embassay.protocols.rag.probes.tail import RecallTailRequest, compare_index_recall_tails
from embassay.protocols.rag.trace.options import PipelineTraceRequest
from embassay.protocols.rag.trace.pipeline import read_retrieval_pipeline

SCORES = st.dictionaries(
    st.text("abAB09é東", min_size=1, max_size=3), st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, 0.5, -2.0]), min_size=1
)


@given(SCORES)
def test_lists_are_ranked_as_measures_rank(scores: dict[str, float]) -> None:
    """`rank_documents` is what all measures go by."""
    ranked = rank_passages_by_question(read_entries_in_memory({"q": scores}, "run", "mine"))["q"]
    assert [doc for doc, _ in ranked] == rank_documents(scores)


def test_all_readers_of_runs_have_one_order(tmp_path: Path) -> None:
    """Scoring, traces and tails put the same of equal documents first, whatever the order of the file."""
    run = tmp_path / "run.trec"
    run.write_text("q1 Q0 a 1 2.0 x\nq1 Q0 c 2 2.0 x\nq1 Q0 b 3 2.0 x\nq1 Q0 d 4 1.0 x\n")
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q1 0 c 5\n")
    assert [doc for doc, _ in rank_passages_by_question(read_run_entries(run))["q1"]] == ["c", "b", "a", "d"]
    scored = embassay.rag.score(qrels, {"mine": run}, measures=["RR"], resamples=10)
    assert scored.values["value"].to_list() == [1.0]
    pipeline, _ = read_retrieval_pipeline(PipelineTraceRequest(searches=(str(run),), qrels=str(qrels)))
    assert pipeline.searches[0].lists["q1"] == ["c", "b", "a", "d"]
    exact = tmp_path / "exact.jsonl"
    exact.write_text(json.dumps({"query_id": "q1", "documents": [{"id": "c", "score": 2.0}]}) + "\n")
    [tail] = compare_index_recall_tails(RecallTailRequest((str(run),), str(exact), cutoff=1)).tails
    assert tail.mean == 1.0
