"""Every task on real datasets, through a server that rewords."""

import importlib.util
from pathlib import Path

import polars as pl
import pytest

import embassay as eb
from embassay.protocols.tasks import TASK_NAMES

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared" / "data"
DATASETS = (
    "stsbenchmark", "sts12", "sickr", "banking77", "twentynewsgroups", "askubuntu", "scifact", "summeval",
    "twitter-semeval2015",
)  # fmt: skip


pytestmark = [pytest.mark.shared, pytest.mark.slow, pytest.mark.nightly]


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    """The development data as a mirror of the catalogue."""
    if not SHARED.exists():
        pytest.skip("needs the development data")
    found = importlib.util.spec_from_file_location("lay_out_mirror", ROOT / "benchmarks" / "lay_out_mirror.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("mirror")
    module.lay_out(SHARED, folder, stand_ins=True)
    return folder


def test_all_seven_tasks_on_real_data(rewording, by, mirror, tmp_path, monkeypatch):
    """Nine datasets, every task, two runs; lexical metrics lose more than a bag of words learnt on meaning."""
    monkeypatch.setenv("EMBASSAY_DATA", str(mirror))
    run = eb.pteb.run(
        ["wordllama", "levenshtein"], paraphraser=by(rewording()), datasets=DATASETS, tasks=TASK_NAMES, runs=2,
        limit=24, tokenizer="words", out=tmp_path / "run",
    )  # fmt: skip
    assert run.manifest["status"] == "finished"
    done = {(cell["task"], cell["dataset"]) for cell in run.manifest["cells"]}
    assert {task for task, _ in done} == set(TASK_NAMES)
    rows = run.results.filter((pl.col("variant") == "") & pl.col("system").is_in(["wordllama", "levenshtein"]))
    assert rows.filter(pl.col("measure") == "delta")["value"].null_count() == 0
    drop = {
        row["system"]: row["value"]
        for row in rows.iter_rows(named=True)
        if (row["task"], row["dataset"], row["measure"]) == ("sts", "", "delta")
    }
    assert drop["levenshtein"] < drop["wordllama"] < 0.01
