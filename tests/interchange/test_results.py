"""Runs of ours as results of MTEB: mteb reads them, and they come back as they were."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from embassay.errors import DataError, UsageError
from embassay.interchange import bundle_of, export, import_results, read_documents, read_results
from embassay.protocols.mteb.survey import are_same_json
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder
from published_sample import bundle, records
from written_runs import write_run

KINDS = ("sage", "pteb", "rag", "hume")


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_comes_back_as_it_was(real_runs: Path, tmp_path: Path, kind: str) -> None:
    """Every row on a dataset, in its order; those over datasets are counted, with the reason."""
    rows = RunFolder(real_runs / kind).read_results()
    done = export([real_runs / kind], "mteb", tmp_path)
    back = read_results(tmp_path)
    kept = set(back)
    assert back == [row for row in rows if row in kept]
    missing = [row for row in rows if row not in kept]
    assert done.rows == len(back)
    assert sum(one.rows for one in done.left_out) == len(missing)
    assert all(not row.dataset or row.task == "paraphrases" for row in missing)
    assert len(back) > 10


def test_what_stands_in_a_file(real_runs: Path, tmp_path: Path) -> None:
    """The headline is the main score; variants stand beside it; interval, n, seed and manifest in our block."""
    export([real_runs / "pteb"], "mteb", tmp_path)
    (path,) = tmp_path.glob("results/embassay__jaccard/*/PTEB-sts-sample.json")
    body = json.loads(path.read_text())
    (entry,) = [one for one in body["scores"]["test"] if one["hf_subset"] == "default"]
    rows = RunFolder(real_runs / "pteb").read_results()
    (head,) = [
        row for row in rows
        if (row.system, row.task, row.dataset, row.subset, row.variant, row.measure)
        == ("jaccard", "sts", "sample", "", "", "spearman")
    ]  # fmt: skip
    assert entry["main_score"] == entry["spearman"] == head.value
    assert entry["original/spearman"] != entry["main_score"]
    block = body["embassay"]
    assert ResultRow(**block["rows"][block["main"][0]]) == head
    assert (block["run"]["seed"], block["run"]["headline"]) == (head.seed, "spearman")
    assert body["evaluation_time"] > 0


def test_a_headline_without_a_value_is_nan_for_mteb(tmp_path: Path) -> None:
    """And null with its reason for us."""
    row = ResultRow("sage", "robustness", "sample", "", "en", "", "s", "robustness", None, 0, reason="it failed")
    RunFolder(tmp_path / "run").path.mkdir()
    RunFolder(tmp_path / "run").write_manifest({"protocol": "sage"})
    RunFolder(tmp_path / "run").write_results([row])
    export([tmp_path / "run"], "mteb", tmp_path / "out")
    (document,) = read_documents(tmp_path / "out")
    ((_, entry),) = document.entries()
    assert math.isnan(entry["main_score"])
    assert "robustness" not in entry
    assert read_results(tmp_path / "out") == [row]


def test_imported_with_their_intervals(real_runs: Path, tmp_path: Path) -> None:
    """A run of ours that went through MTEB's layout keeps n, interval, method and seed of its main scores."""
    export([real_runs / "rag"], "mteb", tmp_path / "out")
    run = import_results(tmp_path / "out", tmp_path / "run").folder
    rows = [row for row in RunFolder(run).read_results() if row.measure == "main_score" and row.dataset]
    first = next(row for row in RunFolder(real_runs / "rag").read_results() if row.system == "st:org/first one")
    (one,) = [row for row in rows if row.system == "st:org/first one"]
    assert (one.value, one.n, one.ci_low, one.ci_high) == (first.value, first.n, first.ci_low, first.ci_high)
    assert one.task == "score"


def test_a_published_run_goes_out_as_it_came_in(tmp_path: Path) -> None:
    """As folders, and as one file with its head."""
    run = import_results(bundle(tmp_path / "x.json"), tmp_path / "run").folder
    export([run], "mteb", tmp_path / "folders")
    assert are_same_json(bundle_of(read_documents(tmp_path / "folders")), records())
    for name in ("y.json", "y.json.gz"):
        export([run], "mteb", tmp_path / name)
        again = import_results(tmp_path / name, tmp_path / f"{name} again").folder
        assert (again / "originals.jsonl.gz").read_bytes() == (run / "originals.jsonl.gz").read_bytes()
    assert are_same_json(json.loads((tmp_path / "y.json").read_text()), json.loads((tmp_path / "x.json").read_text()))


def test_what_does_not_fit(tmp_path: Path) -> None:
    """A kind that MTEB has no task for is counted beside others, and an error alone."""
    write_run(tmp_path / "runs" / "sweep", {"a": [0.1, 0.2]}, kind="sweep")
    with pytest.raises(UsageError, match="a sweep run, which measures something MTEB has no task for"):
        export([tmp_path / "runs"], "mteb", tmp_path / "out")
    for name in ("one", "two"):
        row = ResultRow("sage", "robustness", "d", "", "en", "", "s", "robustness", 0.5, 3)
        run = write_run(tmp_path / "runs" / name, {"a": [0.1, 0.2]})
        RunFolder(run).write_results([row])
    with pytest.raises(UsageError, match="two results for"):
        export([tmp_path / "runs"], "mteb", tmp_path / "out")


def test_a_block_that_somebody_changed(real_runs: Path, tmp_path: Path) -> None:
    """Scores are still read; results of ours are not, and it says which file."""
    export([real_runs / "rag"], "mteb", tmp_path)
    path = next(tmp_path.glob("results/embassay__second/*/RAG-*.json"))
    body = json.loads(path.read_text())
    body["embassay"]["rows"][0]["value2"] = 3
    path.write_text(json.dumps(body))
    with pytest.raises(DataError, match="embassay/second"):
        read_results(tmp_path)
    assert len(list(read_documents(tmp_path))) == 2


@pytest.mark.slow
@pytest.mark.mteb
def test_mteb_reads_all_of_them(real_runs: Path, tmp_path: Path) -> None:
    """Results and accounts of models, through its own loader; our block does not disturb it."""
    mteb = pytest.importorskip("mteb")
    from mteb.models.model_meta import ModelMeta

    done = export([real_runs], "mteb", tmp_path)
    metas = list(tmp_path.glob("results/*/*/model_meta.json"))
    names = {ModelMeta.model_validate_json_resolved(path.read_text()).name for path in metas}
    assert names == {
        "embassay/constant",
        "embassay/random",
        "embassay/jaccard",
        "embassay/levenshtein",
        "embassay/second",
        "st:org/first one",
        "baseline/Human",
    }
    loaded = mteb.ResultCache(tmp_path).load_results(include_remote=False)
    read = [one for model in loaded.model_results for one in model.task_results]
    assert len(read) == done.files - len(metas)
    ours = {(row.system, row.value) for row in read_results(tmp_path) if not row.variant}
    for model in loaded.model_results:
        system = model.model_name.removeprefix("embassay/").replace("baseline/", "")
        for one in model.task_results:
            mains = [entry["main_score"] for entry in one.scores["test"]]
            assert all((system, None if math.isnan(main) else main) in ours for main in mains)
            assert one.get_score() == pytest.approx(sum(mains) / len(mains), nan_ok=True)
