"""Thresholds of what was retrieved, from Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embassay import calibration
from embassay.errors import DataError, UsageError
from embassay.protocols.calibration.options import CalibrationOptions
from embassay.protocols.rag.scoring.options import RetrievalScoreCalibrationRequest, ScoreRequest
from embassay.protocols.rag.scoring.threshold import calibrate_run_scores_into_folder
from embassay.report.record import read_run_record
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
    request = RetrievalScoreCalibrationRequest(files, options=CalibrationOptions(resamples=50))
    assert request.cutoff == 10
    run = calibrate_run_scores_into_folder(request, tmp_path / "run")
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
    again = calibrate_run_scores_into_folder(request, tmp_path / "run")
    assert [row.as_dict() for row in RunFolder(again.path).read_results()] == rows


def test_calibrate_runs_needs_evidence_within_reach(files: ScoreRequest, tmp_path: Path) -> None:
    """Of one passage the evidence is never found: no curve, and the reason. Other arguments are another run."""
    run = calibrate_run_scores_into_folder(RetrievalScoreCalibrationRequest(files, 1), tmp_path / "run")
    [reason] = {row.reason for row in RunFolder(run.path).read_results()}
    assert "0 queries have evidence" in reason
    assert not (run.path / "calibrations").exists()
    with pytest.raises(UsageError, match="other arguments"):
        calibrate_run_scores_into_folder(RetrievalScoreCalibrationRequest(files, 2), tmp_path / "run")
    with pytest.raises(UsageError, match="-k is 0"):
        RetrievalScoreCalibrationRequest(files, 0)


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
    request = RetrievalScoreCalibrationRequest(replace(files, runs=(str(path),)))
    with pytest.raises(DataError, match="no scores to set a threshold on"):
        calibrate_run_scores_into_folder(request, tmp_path / "run")
    assert not (tmp_path / "run" / "manifest.json").exists()


def with_unanswerable(files: ScoreRequest, tmp_path: Path, near: float) -> tuple[ScoreRequest, str, str]:
    """The run with 80 near questions whose best score is around `near`, 80 far ones around -4, and a reranker's run
    that tells all of them apart."""
    rng = np.random.default_rng(6)
    lists, reranked, rows = [Path(files.runs[0]).read_text()], [], ["id,kind,text\n"]
    for query in range(120):
        reranked.append(f"q{query} Q0 d{query}-0 1 {rng.normal(9, 1)} reranker\n")
    for kind, mean in (("near", near), ("far", -4.0)):
        for number in range(80):
            key, best = f"{kind}-{number}", rng.normal(mean, 0.5)
            rows.append(f"{key},{kind},what?\n")
            lists.append(f"{key} Q0 d1-0 1 {best} engine\n{key} Q0 d1-1 2 {best - rng.random()} engine\n")
            reranked.append(f"{key} Q0 d1-0 1 {rng.normal(0, 1)} reranker\n")
    (tmp_path / "both.trec").write_text("".join(lists))
    (tmp_path / "reranked.trec").write_text("".join(reranked))
    (tmp_path / "no_answer.csv").write_text("".join(rows))
    asked = replace(files, runs=(str(tmp_path / "both.trec"),))
    return asked, str(tmp_path / "no_answer.csv"), str(tmp_path / "reranked.trec")


def silence_of(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Kind and signal -> what the file says, best signal of a kind first."""
    [file] = (path / "silence").iterdir()
    return {(entry["kind"], entry["signal"]): entry["silence"] for entry in json.loads(file.read_text())["signals"]}


def test_silence_by_kind_of_question(files: ScoreRequest, tmp_path: Path) -> None:
    """Planted: far ones lie below all others, near ones where the evidence is. One has a threshold, the other none."""
    asked, no_answer, reranked = with_unanswerable(files, tmp_path, near=4.0)
    options = CalibrationOptions(resamples=50)
    run = calibrate_run_scores_into_folder(
        RetrievalScoreCalibrationRequest(asked, options=options, no_answer=no_answer), tmp_path / "run"
    )
    silence = silence_of(run.path)
    assert silence["far", "score"]["verdict"] == "works"
    assert -4 < silence["far", "score"]["above"] < 0
    assert silence["near", "score"]["verdict"] == "none works"
    rows = {(row.measure, row.subset, row.variant): row for row in RunFolder(run.path).read_results() if row.dataset}
    assert rows["silence_threshold", "near", "score"].value is None
    assert "no threshold works" in rows["silence_threshold", "near", "score"].reason
    assert rows["silence_threshold", "far", "score"].value == silence["far", "score"]["above"]
    assert rows["answered", "far", "score"].n == 60
    request = RetrievalScoreCalibrationRequest(asked, options=options, no_answer=no_answer, reranked=reranked)
    told = silence_of(calibrate_run_scores_into_folder(request, tmp_path / "reranked").path)
    assert next(signal for kind, signal in told if kind == "near") == "reranker"
    assert told["near", "reranker"]["verdict"] == "works"
    assert 0 < told["near", "reranker"]["above"] < 9


def test_silence_is_told_on_the_terminal(files: ScoreRequest, tmp_path: Path) -> None:
    """What works and what does not, with the shares in the sample; the same words again say the same."""
    from typer.testing import CliRunner

    from embassay.cli.main import build_app_with_commands

    asked, no_answer, reranked = with_unanswerable(files, tmp_path, near=4.0)
    words = ["calibrate", "--run", asked.runs[0], "--qrels", asked.qrels, "--no-answer", no_answer]
    words += ["--reranked", reranked, "--resamples", "50", "--out", str(tmp_path / "run")]
    told = CliRunner().invoke(build_app_with_commands("calibrate"), words)
    assert told.exit_code == 0, told.output
    said = " ".join(told.output.split())
    assert "both, near questions: answer if the reranker's best score is above" in said
    assert "both, far questions: answer if" in said
    assert "160 of 281 questions have no answer" in said
    rows = read_run_record(tmp_path / "run").rows
    assert rows["answers", "qrels", "near", "score", "both", "silence_threshold"].value is None
    again = CliRunner().invoke(build_app_with_commands("calibrate"), words)
    assert again.output == told.output
    wrong = CliRunner().invoke(
        build_app_with_commands("calibrate"), ["calibrate", "-s", "jaccard", "--no-answer", no_answer]
    )
    assert isinstance(wrong.exception, UsageError)


def test_silence_needs_lists_and_questions_without_evidence(files: ScoreRequest, tmp_path: Path) -> None:
    """A run that was never asked them, a question that has evidence, an id twice, aims that are none: refused."""
    asked, no_answer, reranked = with_unanswerable(files, tmp_path, near=0.0)
    with pytest.raises(DataError, match="no list for any question without an answer"):
        calibrate_run_scores_into_folder(
            RetrievalScoreCalibrationRequest(files, no_answer=no_answer), tmp_path / "never"
        )
    for text, message in (("id\nq0\n", "has evidence"), ("id\na\na\n", "appears twice"), ("name\na\n", "id")):
        (tmp_path / "odd.csv").write_text(text)
        with pytest.raises(DataError, match=message):
            calibrate_run_scores_into_folder(
                RetrievalScoreCalibrationRequest(asked, no_answer=str(tmp_path / "odd.csv")), tmp_path / "odd"
            )
    for wrong in ({"silent": 1.0}, {"answered": 0.0}):
        with pytest.raises(UsageError):
            RetrievalScoreCalibrationRequest(asked, no_answer=no_answer, **wrong)
    with pytest.raises(UsageError, match="--reranked"):
        RetrievalScoreCalibrationRequest(asked, reranked=reranked)


def test_a_retriever_is_asked_both_sorts_of_questions(
    files: ScoreRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers are those of its exported file; asked again, nothing is asked again."""
    import sys
    import types

    asked, no_answer, _ = with_unanswerable(files, tmp_path, near=0.0)
    lists: dict[str, list[tuple[str, float]]] = {}
    for line in Path(asked.runs[0]).read_text().splitlines():
        query, _, doc, _, score, _ = line.split()
        lists.setdefault(query, []).append((doc, float(score)))
    calls: list[str] = []

    def find(query: str) -> list[tuple[str, float]]:
        calls.append(query)
        return lists.get(query.removeprefix("Text of "), [])

    module = types.ModuleType("asked_now")
    module.find = find  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "asked_now", module)
    queries = tmp_path / "queries.jsonl"
    names = [*(f"q{query}" for query in range(120)), "unanswered"]
    queries.write_text("".join(json.dumps({"id": name, "text": f"Text of {name}"}) + "\n" for name in names))
    rows = [line.split(",") for line in Path(no_answer).read_text().splitlines()[1:]]
    texts = "".join(f"{key},{kind},Text of {key}\n" for key, kind, _ in rows)
    Path(no_answer).write_text(f"id,kind,text\n{texts}")
    options = CalibrationOptions(resamples=50)
    live = replace(asked, runs=(), retrievers=("both=asked_now:find",), queries=str(queries))
    request = RetrievalScoreCalibrationRequest(live, options=options, no_answer=no_answer)
    run = calibrate_run_scores_into_folder(request, tmp_path / "live")
    assert len(set(calls)) == 281
    assert len(calls) == 281 + 10
    exported = calibrate_run_scores_into_folder(
        RetrievalScoreCalibrationRequest(asked, options=options, no_answer=no_answer), tmp_path / "file"
    )
    assert silence_of(run.path) == silence_of(exported.path)
    assert RunFolder(run.path).read_results() == RunFolder(exported.path).read_results()
    calibrate_run_scores_into_folder(request, tmp_path / "live")
    assert len(calls) == 281 + 10
