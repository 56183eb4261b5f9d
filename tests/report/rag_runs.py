"""Runs of RAG for the report's tests: a scoring made by the real function, a golden set from its record."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from embassay.protocols.rag.golden.conclusions import build_golden_tables, make_golden_result_rows
from embassay.protocols.rag.golden.stages import SingleQueryFolder
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
    write_golden_record,
)
from embassay.protocols.rag.scoring.protocol import score
from embassay.runs.folder import RunFolder, write_file_atomically
from embassay.stats import Estimate

RUNS = ("hybrid", "dense", "bm25")
SOME = Estimate(0.75, 0.66, 0.85, 60)
JUDGE = "simulated:/somewhere/qrels.jsonl?grade_noise=0.5"
GRADES = (40, 14, 6, 5, 3)
CLAIMS = {"tau": 0.77, "overlap": 0.86, "set_errors_at_most_0": 0.01, "set_errors_at_most_1": 0.95}


def write_score_run(path: Path, *, runs: tuple[str, ...] = RUNS, queries: int = 30, **arguments: Any) -> Path:
    """Runs that find the same documents later and later; graded documents of every query, some queries without any of
    worth."""
    rng = np.random.default_rng(0)
    judged: dict[str, dict[str, int]] = {}
    found: dict[str, dict[str, list[str]]] = {run: {} for run in runs}
    for i in range(queries):
        query, docs = f"q{i}", [f"q{i}-d{j}" for j in range(40)]
        grades = rng.choice([1, 2, 3, 4, 5], size=40, p=[0.6, 0.2, 0.1, 0.06, 0.04]) if i else np.ones(40, int)
        judged[query] = dict(zip(docs, grades.tolist(), strict=True))
        for place, run in enumerate(runs):
            noisy = grades + rng.normal(0, 0.8 + 0.9 * place, 40)
            found[run][query] = [docs[j] for j in np.argsort(-noisy)[:35].tolist()]
    settings = {"resamples": 300, "sensitivity": True, "cutoffs": (5, 10), **arguments}
    score(judged, found, out=path, **settings)
    return path


def golden(**changes: Any) -> GoldenRunRecord:
    """The record of three questions, one of which failed and one of which is still waiting."""
    made = GoldenRunRecord(
        GoldenRunSettings(
            "corpus.jsonl", "questions.jsonl", "wordllama", "rules", JUDGE, "bayes:cap=0.5", 1337,
            parameters={"S2": {"depth": 50}},
        ),
        (
            GoldenQuerySummary(
                "Q1", "Why is the sea salt?", "q01", "done", "sea salt cause", "S6", "", 68, GRADES, 35, 1, 36, "sure",
                CLAIMS,
            ),
            GoldenQuerySummary("Q2", "How?", "q02", "failed", "How?", "S4", f"no grade for d1: {JUDGE} gave no answer"),
            GoldenQuerySummary("Q3", "When?", "q03", "waiting"),
        ),
        (
            GoldenStageSummary("S1", "Rewrite and embed", 3, seconds=0.5),
            GoldenStageSummary("S2", "Retrieve", 3, seconds=1.5, counts={"dense": 90, "sparse": 90}),
            GoldenStageSummary("S3", "Merge", 3, counts={"candidates": 240, "both": 60}),
            GoldenStageSummary("S4", "Grade", 1, failed=1, seconds=120.0, counts={"graded": 68, "attempts": 75}),
            GoldenStageSummary("S5", "Prune", 1, counts={"kept": 35}),
            GoldenStageSummary("S6", "Order", 1, counts={"ranked": 35, "calls": 36}),
        ),
        JudgeFacts(
            JUDGE, "id", JUDGE, 1.0, 1.0, {"grade": "grade@1 9f2c"},
            (JudgeCallCounts("grade", 68, (60, 8), {"no JSON": 5, "out of range": 3}, 1),
                JudgeCallCounts("order", 36, (36,))),
            usd=1.32, input_tokens=12480, output_tokens=900, requests=104, seconds=60.0,
        ),
        RankingEngineRunSummary(
            "bayes", 36, 36.0, {"sure": 1}, CLAIMS, ContradictedPairShare(100, 20, SOME, Estimate(0.18, 0.17, 0.19, 1)),
            tuple(
                JudgePositionBias(i + 1, Estimate(0.5 - 0.25 * i, 0.4 - 0.25 * i, 0.6 - 0.25 * i, 36)) for i in range(5)
            ),
            ("A note on the judge.",),
        ),
        {
            "n_queries": 1, "grade5_count_median": 3.0, "grade5_count_mean": 3.0, "grade4_count_median": 5.0,
            "grade4_count_mean": 5.0, "grade4plus5_count_median": 8.0, "grade4plus5_count_mean": 8.0,
            "grade4plus5_pool_prevalence_median_percent": 11.76, "grade4plus5_pool_prevalence_mean_percent": None,
            "queries_without_grade5": 0, "queries_without_grade4plus5": 0,
        },
        TokensPerCandidate("words", 232.8, 109.6, 240, 207.0, 754),
        JudgeRepeatability(
            60, 1, SOME, SOME, SOME, Estimate(0.02, -0.08, 0.11, 60), ((37, 6, 0, 0, 0), (6, 7, 0, 0, 0)),
            12, SOME,
        ),
        (
            HumanCheckOfJudge(
                "check.csv", 1, 20, 20, 20, 2, 1, SOME, SOME, SOME, SOME, SOME, 2.0,
                remarks=(PersonPassageRemark("Q1", "d1", "a near tie"),),
            ),
        ),
        {"qrels": "export/qrels.tsv", "jsonl": "export/golden.jsonl"},
        (
            "1 of 3 questions failed (over 5%), so the set does not represent the questions asked.",
            "documents without text: 2",
        ),
    )  # fmt: skip
    return replace(made, **changes)


def write_golden_run(
    path: Path, made: GoldenRunRecord | None = None, *, text: str = "Rivers carry salt to the sea."
) -> Path:
    """The folder of a record: manifest, rows, tables, and the final list of every question that is done."""
    made = golden() if made is None else made
    folder = RunFolder(path)
    folder.write_manifest(_manifest(path.name, made))
    write_golden_record(path / "golden.json", made)
    folder.write_results(make_golden_result_rows(made, "sea", "en"))
    for table in build_golden_tables(made):
        write_file_atomically(path / "tables" / f"{table.name}.csv", table.as_csv())
    for one in made.queries:
        if one.status == "done":
            rows = [
                {
                    "qid": one.query_id,
                    "question": one.text,
                    "doc_id": f"d{i}",
                    "final_rank": i,
                    "grade": 5 - i % 5,
                    "text": text,
                }
                for i in range(1, 21)
            ]
            write_file_atomically(
                SingleQueryFolder(path, one.folder).ranked(20), "".join(json.dumps(row) + "\n" for row in rows)
            )
    return path


def _manifest(name: str, made: GoldenRunRecord) -> dict[str, Any]:
    states = {"done": "done", "failed": "failed"}
    return {
        "embassay": "0.1.0", "protocol": "rag", "kind": "golden", "name": name, "status": "partial",
        "created": "2026-11-20T09:00:00+00:00", "updated": "2026-11-21T09:00:00+00:00",
        "command": "embassay rag golden --out runs/golden", "arguments": {"seed": 1337, "options": {"depth": 50}},
        "tokenizer": {"name": "words", "identity": "words 1"},
        "systems": [
            {"name": "wordllama", "kind": "embedding", "identity": "1", "facts": {}},
            {"name": JUDGE, "kind": "llm", "identity": "1", "facts": {}},
        ],
        "datasets": [
            {"name": "sea", "source": "sea", "lang": "en", "fingerprint": "9f", "tasks": {"golden": {"n": 3}}}
        ],
        "hardware": {"cpu": "made", "cores": 2, "memory_gib": 24.0, "platform": "Linux"},
        "versions": {"python": "3.11"},
        "cells": [
            {"key": one.query_id, "task": "golden", "dataset": "sea", "system": JUDGE, "variant": one.query_id,
             "status": states.get(one.status, "not run"), "reason": one.reason, "query_id": one.query_id,
             "folder": one.folder}
            for one in made.queries
        ],
        "sessions": [{"started": "2026-11-21T09:00:00+00:00", "seconds": 120.0}],
        "problems": {"failed_cells": 1},
    }  # fmt: skip
