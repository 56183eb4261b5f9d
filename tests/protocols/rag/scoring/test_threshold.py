"""Thresholds of what was retrieved, from Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embassay import calibration
from embassay.errors import DataError, UsageError
from embassay.protocols.calibration.options import CalibrationOptions
from embassay.protocols.rag.scoring.options import RunCalibrationRequest, ScoreRequest
from embassay.protocols.rag.scoring.threshold import calibrate_runs
from embassay.runs.folder import RunFolder


@pytest.fixture
def files(tmp_path: Path) -> ScoreRequest:
    """120 questions: where the evidence is the second passage, the best score is high. One question has no list."""
    rng = np.random.default_rng(5)
    run, judged = [], ["query-id\tcorpus-id\tscore\n", "unanswered\td\t5\n"]
    for query in range(120):
        good = query % 2 == 0
        best = rng.normal(4.0 if good else 0.0, 0.5)
        for rank in range(3):
            run.append(f"q{query} Q0 d{query}-{rank} {rank + 1} {best - rank} engine\n")
            judged.append(f"q{query}\td{query}-{rank}\t{5 if good and rank == 1 else 1}\n")
    (tmp_path / "engine.trec").write_text("".join(run))
    (tmp_path / "qrels.tsv").write_text("".join(judged))
    return ScoreRequest(str(tmp_path / "qrels.tsv"), (str(tmp_path / "engine.trec"),))


def test_calibrate_runs_separates_answered_questions(files: ScoreRequest, tmp_path: Path) -> None:
    """The saved curve lies between the two kinds of scores, and the manifest says of which run and judgements."""
    request = RunCalibrationRequest(files, options=CalibrationOptions(resamples=50))
    assert request.cutoff == 10
    run = calibrate_runs(request, tmp_path / "run")
    curve = calibration(run.path / "calibrations" / "engine--qrels.json")
    assert 0 < curve.threshold() < 4
    folder = RunFolder(run.path)
    rows = [row.as_dict() for row in folder.read_results()]
    assert max(row["n"] for row in rows) == 120
    manifest = folder.read_manifest()
    assert manifest is not None
    assert [(one["name"], one["facts"]["path"]) for one in manifest["systems"]] == [("engine", files.runs[0])]
    [dataset] = manifest["datasets"]
    assert (dataset["name"], dataset["source"]) == ("qrels", files.qrels)
    assert dataset["tasks"]["answers"]["n"] == 121
    assert manifest["cells"][0]["counts"] == {"queries": 120, "missing": 1}
    again = calibrate_runs(request, tmp_path / "run")
    assert [row.as_dict() for row in RunFolder(again.path).read_results()] == rows


def test_calibrate_runs_needs_evidence_within_reach(files: ScoreRequest, tmp_path: Path) -> None:
    """Of one passage the evidence is never found: no curve, and the reason. Other arguments are another run."""
    run = calibrate_runs(RunCalibrationRequest(files, 1), tmp_path / "run")
    [reason] = {row.reason for row in RunFolder(run.path).read_results()}
    assert "0 queries have evidence" in reason
    assert not (run.path / "calibrations").exists()
    with pytest.raises(UsageError, match="other arguments"):
        calibrate_runs(RunCalibrationRequest(files, 2), tmp_path / "run")
    with pytest.raises(UsageError, match="-k is 0"):
        RunCalibrationRequest(files, 0)


@pytest.mark.parametrize(
    "scores",
    [
        lambda query, rank: 0.1 * rank + query / 1000,
        lambda query, rank: 1 / (60 + rank) + (1 / (60 + rank + query % 7) if query % 3 else 0.0),
        lambda query, rank: 1.0 / rank,
        lambda query, rank: 1.0,
    ],
    ids=["distances", "fused by rank", "ranks", "a constant"],
)
def test_numbers_made_from_ranks_are_no_scores(
    scores: Callable[[int, int], float], files: ScoreRequest, tmp_path: Path
) -> None:
    """No threshold of them says whether there is evidence: refused, and nothing is written."""
    path = tmp_path / "store.jsonl"
    answers = [
        {
            "query_id": f"q{query}",
            "documents": [{"id": f"d{query}-{rank - 1}", "score": scores(query, rank)} for rank in (1, 2, 3)],
        }
        for query in range(120)
    ]
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    request = RunCalibrationRequest(replace(files, runs=(str(path),)))
    with pytest.raises(DataError, match="no scores that a threshold could be set on"):
        calibrate_runs(request, tmp_path / "run")
    assert not (tmp_path / "run" / "manifest.json").exists()
