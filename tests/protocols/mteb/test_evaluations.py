"""Files of Every Eval Ever, ours and others', as a run with ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from embassay.errors import DataError
from embassay.interchange import export
from embassay.protocols.kernel.comparisons import read_standings
from embassay.protocols.mteb import Imported, import_results
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder
from written_runs import write_run


def make_result(name: str, score: float, *, metric: dict[str, Any] | None = None, **details: Any) -> dict[str, Any]:
    """A result as leaderboards of the public store have them."""
    return {
        "evaluation_name": name,
        "source_data": {"dataset_name": "quiz", "source_type": "url", "url": ["https://example.org/quiz"]},
        "metric_config": {"lower_is_better": False, **(metric or {})},
        "score_details": {"score": score, **details},
    }


def write_evaluation(folder: Path, model: str, *results: dict[str, Any], evaluator: str = "a lab") -> Path:
    body = {
        "schema_version": "0.3.0", "evaluation_id": f"quiz/{model}/1", "retrieved_timestamp": "1",
        "source_metadata": {
            "source_type": "documentation", "source_organization_name": evaluator, "evaluator_relationship": "other"
        },
        "eval_library": {"name": "lm_eval", "version": "1"},
        "model_info": {"name": model, "id": model, "additional_details": {}}, "evaluation_results": list(results)
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{model.replace('/', '_')}-{evaluator}.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def within(low: float, high: float, n: int = 0, **more: Any) -> dict[str, Any]:
    """The uncertainty of a score."""
    interval = {"lower": low, "upper": high, **more}
    return {"confidence_interval": interval, **({"num_samples": n} if n else {})}


def import_all(tmp_path: Path) -> tuple[Imported, dict[str, ResultRow]]:
    """The run of all files, and the main score of each system on its first task."""
    done = import_results(tmp_path / "files", tmp_path / "run")
    rows = RunFolder(tmp_path / "run").read_results()
    mains = {row.system: row for row in rows if row.measure == "main_score" and row.dataset}
    return done, mains


def read_scope(tmp_path: Path, task: str) -> dict[str, Any]:
    scopes = json.loads((tmp_path / "run" / "comparisons.json").read_text())["scopes"]
    scope: dict[str, Any] = scopes[task]
    return scope


def test_intervals_give_ranks_by_unpaired_tests(tmp_path: Path) -> None:
    """0.80 and 0.70, each with a standard error of 0.02: z = 0.1 / sqrt(2 * 0.0004) = 3.54, so they are told apart;
    0.69 is not told from 0.70."""
    half = 1.959964 * 0.02
    for model, score in (("x/good", 0.8), ("x/fair", 0.7), ("x/same", 0.69)):
        uncertainty = within(score - half, score + half, 400)
        write_evaluation(tmp_path / "files", model, make_result("quiz", score, uncertainty=uncertainty))
    done, mains = import_all(tmp_path)
    assert (done.systems, done.tasks, done.warnings, done.faults) == (3, 1, (), ())
    assert (mains["x/good"].n, mains["x/good"].ci_low) == (400, pytest.approx(0.8 - half))
    scope = read_scope(tmp_path, "other")
    ranks = dict(zip(scope["systems"], zip(scope["rank_low"], scope["rank_high"], strict=True), strict=True))
    assert ranks == {"x/good": (1, 1), "x/fair": (2, 3), "x/same": (2, 3)}
    (pair,) = [pair for pair in scope["pairs"] if {pair["a"], pair["b"]} == {"x/good", "x/fair"}]
    # The two draws are independent but finite, so the error of their difference is near its value.
    assert pair["p"] == pytest.approx(0.0004, abs=0.0004)
    import_results(tmp_path / "files", tmp_path / "again")
    assert (tmp_path / "again" / "comparisons.json").read_bytes() == (
        tmp_path / "run" / "comparisons.json"
    ).read_bytes()


def test_items_that_differ_are_warned_of(tmp_path: Path) -> None:
    for model, n in (("x/a", 100), ("x/b", 100), ("x/c", 30)):
        write_evaluation(tmp_path / "files", model, make_result("quiz", 0.5, uncertainty=within(0.4, 0.6, n)))
    done, _ = import_all(tmp_path)
    (warning,) = done.warnings
    assert "30 (1), 100 (2)" in warning
    manifest = RunFolder(tmp_path / "run").read_manifest() or {}
    assert "30 (1), 100 (2)" in manifest["datasets"][0]["tasks"]["other"]["warnings"][0]


def test_a_system_without_an_interval_takes_the_ranks_away(tmp_path: Path) -> None:
    write_evaluation(tmp_path / "files", "x/a", make_result("quiz", 0.5, uncertainty=within(0.4, 0.6)))
    write_evaluation(tmp_path / "files", "x/b", make_result("quiz", 0.9))
    import_all(tmp_path)
    scope = read_scope(tmp_path, "other")
    assert (scope["systems"], scope["rank_low"]) == (["x/b", "x/a"], [])
    assert "1 of 2" in scope["reason"]


@pytest.mark.parametrize(
    ("metric", "score", "uncertainty", "expected"),
    [
        ({"min_score": 0, "max_score": 100}, 65.0, within(60, 70), (0.65, 0.6, 0.7)),
        ({"metric_unit": "percent"}, 65.0, {}, (0.65, None, None)),
        ({"min_score": 1, "max_score": 5}, 4.0, {}, (0.75, None, None)),
        ({}, 0.65, within(-0.05, 0.05), (0.65, 0.6, 0.7)),  # as distances, which the public store has
        ({}, 0.65, {"standard_error": {"value": 0.1}}, (0.65, 0.4540036, 0.8459964)),
        # 90%: half of it is 1.644854 errors, so one is 0.0607957, and 1.959964 of them are 0.1191575.
        ({}, 0.5, within(0.4, 0.6, confidence_level=0.9), (0.5, 0.3808425, 0.6191575)),
        ({}, -0.4, within(-0.5, -0.3), (-0.4, -0.5, -0.3)),
    ],
)  # fmt: skip
def test_scales_and_intervals(
    tmp_path: Path, metric: dict[str, Any], score: float, uncertainty: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    result = make_result("quiz", score, metric=metric, uncertainty=uncertainty)
    write_evaluation(tmp_path / "files", "x/a", result)
    _, mains = import_all(tmp_path)
    row = mains["x/a"]
    assert (row.value, row.ci_low, row.ci_high) == pytest.approx(expected)


def test_less_is_better_and_broken_results_are_told(tmp_path: Path) -> None:
    """Neither becomes a score that somebody would rank."""
    broken = make_result("quiz", 0.1)
    broken["score_details"]["score"] = "high"
    errors = make_result("errors", 0.2, metric={"lower_is_better": True, "metric_name": "error_rate"})
    write_evaluation(tmp_path / "files", "x/a", broken, errors, {"evaluation_name": "bare"})
    done, mains = import_all(tmp_path)
    assert mains["x/a"].value is None
    said = " ".join(fault.reason for fault in done.faults)
    assert "'high', not a number" in said
    assert "lower error_rate is better" in said
    assert "result 3" in said


def test_two_evaluators_are_two_systems_and_a_second_file_does_not_count(tmp_path: Path) -> None:
    for evaluator, score in (("a lab", 0.5), ("b lab", 0.6)):
        write_evaluation(tmp_path / "files", "x/a", make_result("quiz", score), evaluator=evaluator)
    write_evaluation(tmp_path / "files" / "more", "x/a", make_result("quiz", 0.7), evaluator="b lab")
    done, mains = import_all(tmp_path)
    assert sorted(row.value for row in mains.values() if row.value) == [0.5, 0.6]
    assert any("already has a result" in fault.reason for fault in done.faults)


def test_our_own_export_comes_back(tmp_path: Path) -> None:
    """Every headline on a dataset with its interval, n, method and seed; the mean over datasets is made anew."""
    run = write_run(tmp_path / "own", {"st:org/m": [0.1, 0.2, 0.4], "b": [0.2, 0.3, 0.5]})
    folder = RunFolder(run)
    rows = [row for row in folder.read_results() if row.task == "robustness"]
    placed = [ResultRow(**{**vars(row), "dataset": "mine"}) for row in rows]
    folder.write_results([*folder.read_results(), *placed])
    export([run], "eee", tmp_path / "files")
    done, mains = import_all(tmp_path)
    assert (done.tasks, done.faults) == (1, ())
    by_value = {row.value: row for row in placed}
    assert len(mains) == len(placed)
    for row in mains.values():
        own = by_value[row.value]
        assert (row.n, row.ci_low, row.ci_high, row.method, row.seed) == (
            own.n,
            own.ci_low,
            own.ci_high,
            own.method,
            own.seed,
        )
        assert row.task == "robustness"
    assert any(len(standing.headline.replicates) for standing in read_standings(tmp_path / "run"))


@pytest.mark.parametrize(
    "body", [{"evaluation_results": [], "model_info": None}, {"evaluation_results": {}, "model_info": {"id": "a/b"}}]
)
def test_files_that_are_none(tmp_path: Path, body: dict[str, Any]) -> None:
    """Told, and no traceback; alone they are no import."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.json").write_text(json.dumps(body))
    with pytest.raises(DataError):
        import_results(tmp_path / "files", tmp_path / "run")
