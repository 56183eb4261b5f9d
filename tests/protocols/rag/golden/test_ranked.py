"""The artefacts of S6."""

from __future__ import annotations

import json
from pathlib import Path

from embassay.protocols.rag.golden.grades import (
    format_judge_calls_as_log,
    format_ranker_checkpoint,
    format_ranking_preview,
    make_final_order_rows,
)
from embassay.protocols.rag.golden.refinement import (
    JudgeCallLog,
    KeptJudgeOrdering,
    KeptQueryFailure,
    PoolOrderingSettings,
    QuestionCandidatePool,
    RefinedPoolOrder,
)
from embassay.protocols.rag.judges import Passage, Question
from embassay.protocols.rag.judges.simulation import SimulatedJudge
from embassay.protocols.rag.ranking import CandidateRanking, PoolPassage
from embassay.protocols.rag.ranking.engines import ENGINES

POOL = QuestionCandidatePool.of(
    Question("Q1", "What is\na | pipe <b>?"),
    [
        (PoolPassage("a|b", 5, 1), Passage("a|b", "first <script> passage")),
        (PoolPassage("c", None, 2), Passage("c", "long " * 100)),
    ],
)
RANKING = CandidateRanking((1, 0), (1.5, 2.25), (3, 4), (0.5, 0.25), "stable", {"tau": 0.9})
CALLS = (
    KeptJudgeOrdering(0, 0, ("c", "a|b"), ("c", "a|b")),
    KeptJudgeOrdering(1, 0, ("a|b", "c"), ("c", "a|b"), 2, ("none",)),
)
REFINED = RefinedPoolOrder(POOL, RANKING, CALLS, {"iteration": 2, "top": ["x"]}, (KeptQueryFailure(1, "no answer"),))


def test_rows_say_rank_score_exposures_and_info() -> None:
    """After what S5 says of each passage."""
    rows = make_final_order_rows(REFINED, {"a|b": {"doc_id": "a|b", "grade": 5}, "c": {"doc_id": "c", "grade": None}})
    assert rows == [
        {"doc_id": "c", "grade": None, "final_rank": 1, "final_score": 2.25, "exposures": 4, "info": 0.25},
        {"doc_id": "a|b", "grade": 5, "final_rank": 2, "final_score": 1.5, "exposures": 3, "info": 0.5},
    ]
    assert [row["doc_id"] for row in make_final_order_rows(REFINED)] == ["c", "a|b"]


def test_the_log_of_a_finished_query_is_one(tmp_path: Path) -> None:
    """It reads back as the log that it was, with what failed on the way before the answers of that round."""
    refinement = PoolOrderingSettings(SimulatedJudge({}), ENGINES.build("locks"), 7)
    path = tmp_path / "calls.jsonl"
    path.write_text(format_judge_calls_as_log(refinement, REFINED), "utf-8")
    log = JudgeCallLog(path, refinement.about(POOL))
    assert log.entries == [CALLS[0], KeptQueryFailure(1, "no answer"), CALLS[1]]


def test_the_checkpoint() -> None:
    """The ranker's state with the top ids, calls, claims and why it stopped."""
    said = json.loads(format_ranker_checkpoint(REFINED, 1))
    claims = {"claims": {"tau": 0.9}, "doubts": []}
    assert said == {"iteration": 2, "top": ["c"], "calls": 2, "stopped": "stable"} | claims


def test_the_preview_is_a_table_whatever_texts_hold() -> None:
    """One line per passage; nothing in a text breaks the table or becomes HTML."""
    text = format_ranking_preview(REFINED, 20)
    lines = text.splitlines()
    assert lines[0] == "# What is a \\| pipe &lt;b>?"
    assert "2 judge answers, stopped: stable." in lines[2]
    assert lines[6].startswith("| 1 | c | - | 4 | 2.250 | long long")
    assert lines[6].endswith("... |")
    assert lines[7] == "| 2 | a\\|b | 5 | 3 | 1.500 | first &lt;script> passage |"
    assert "not done yet" in format_ranking_preview(
        RefinedPoolOrder(POOL, CandidateRanking((0, 1), (1, 1), (0, 0), (0, 0), ""), CALLS[:1], {}), 1
    )
