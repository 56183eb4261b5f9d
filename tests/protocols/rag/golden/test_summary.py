"""The record of a golden run survives being written and read."""

from __future__ import annotations

import json

import pytest

from embassay.errors import DataError
from embassay.protocols.rag.golden.summary import (
    ContradictedPairShare,
    GoldenQuerySummary,
    GoldenRunRecord,
    GoldenRunSettings,
    GoldenStageSummary,
    HumanCheckOfJudge,
    JudgeCallCounts,
    JudgeFacts,
    JudgePositionBias,
    JudgeRepeatability,
    PersonPassageRemark,
    RankingEngineRunSummary,
    TokensPerCandidate,
    read_golden_record,
    write_golden_record,
)
from embassay.stats import Estimate

SOME = Estimate(0.5, 0.4, 0.6, 30)
WHOLE = GoldenRunRecord(
    GoldenRunSettings(
        "corpus.jsonl", "queries.jsonl", "wordllama", "identity", "simulated", "bayes", 1337,
        parameters={"S2": {"depth": 50}},
    ),
    (
        GoldenQuerySummary("1", "Why?", "q01", "done", grades=(9, 8, 7, 6, 5), claims={"tau": 0.9}),
        GoldenQuerySummary("2", "How?", "q02", "failed", stage="S4", reason="no grade for d1"),
    ),
    (GoldenStageSummary("S4", "grades", 1, failed=1, seconds=2.5, counts={"graded": 35}),),
    JudgeFacts(
        "simulated", "id", "simulated", prompts={"grade": "grade@1"},
        answers=(JudgeCallCounts("grade", 35, (30, 5), {"empty": 5}, 1),),
    ),
    RankingEngineRunSummary("bayes", 36, 36.0, {"cap": 1}, {"tau": 0.9}, ContradictedPairShare(10, 1, SOME, SOME),
        (JudgePositionBias(1, SOME),)),
    {"n_queries": 1, "grade5_count_median": None},
    TokensPerCandidate("words", 200.0, 10.0, 80),
    JudgeRepeatability(items=30, exact=SOME, table=((1, 2), (3, 4))),
    (
        HumanCheckOfJudge(
            "check.csv", 1, 20, 20, 20, 1, 2, SOME, SOME, SOME, SOME, SOME, 2.0,
            remarks=(PersonPassageRemark("1", "d1", "near tie"),),
        ),
    ),
    {"qrels": "export/qrels.tsv"},
)  # fmt: skip


def test_round_trip(tmp_path):
    """Every part of it."""
    path = tmp_path / "golden.json"
    write_golden_record(path, WHOLE)
    assert read_golden_record(path) == WHOLE
    assert [one.query_id for one in WHOLE.failed] == ["2"]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"schema": 99}, "another version"), ({"judges": []}, "incomplete"), ({"queries": [{"id": 1}]}, "incomplete"),
    ],
)  # fmt: skip
def test_what_is_no_record(tmp_path, change, what):
    """Is said so, with what to do."""
    path = tmp_path / "golden.json"
    path.write_text(json.dumps({**WHOLE.as_dict(), **change}))
    with pytest.raises(DataError, match=what):
        read_golden_record(path)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_what_is_no_json(tmp_path, content):
    path = tmp_path / "golden.json"
    path.write_text(content)
    with pytest.raises(DataError, match="cannot be read"):
        read_golden_record(path)
