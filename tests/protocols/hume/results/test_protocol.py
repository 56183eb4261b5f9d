"""Own systems on the items that people answered, beside people and the published models."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import made_mirror
from embassay.data.catalogue.suites import read_all_suites
from embassay.errors import UsageError
from embassay.protocols import hume
from embassay.protocols.hume.options import PublishedRequest
from embassay.protocols.hume.published.paper import PublishedEvaluation, load_hume_paper_study
from embassay.protocols.hume.published.protocol import (
    EvaluatedSystems,
    add_evaluated_systems_to_published,
    read_published_results,
)
from embassay.protocols.hume.results.protocol import ITEMS
from embassay.protocols.hume.scoring import MAIN
from embassay.protocols.hume.study import read_study
from embassay.protocols.kernel.outcome import Run

REFERENCE = Path(__file__).parents[4] / ".." / "shared" / "reference" / "hume"
ARGUMENTS: dict[str, Any] = {"tokenizer": "words", "resamples": 50}


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The sixteen annotated sets with six rows a table, as the one mirror there is."""
    root = tmp_path_factory.mktemp("mirror")
    for one in read_all_suites()["hume"].members:
        assert one.record is not None
        made_mirror.write_mirror(one.record, root, size=6, told=made_mirror.sentences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBASSAY_DATA", str(root))
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield root


def _entry(system: str, revision: str, dataset: str, lang: str, value: float, measure: str) -> dict[str, object]:
    return {
        "model": system, "revision": revision, "task": dataset, "split": "test", "hf_subset": lang,
        "languages": [f"{lang}-Latn"], "main_score": value,
        "scores": {measure: value, "scores_per_experiment": [{measure: value}, {measure: value + 0.01}]},
        "agreement": {"value": 0.5, "n_annotators": 2, "n_items": 6},
    }  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People and three of the study's models on all 26 pairs, as one file."""
    study = load_hume_paper_study()
    entries = []
    for place, pair in enumerate(study.pairs):
        task = study.dataset(pair.dataset)
        assert task is not None
        measure = MAIN[pair.family]
        entries.append(_entry(study.human, study.human_revision, task.task, pair.lang, 0.5 + place / 100, measure))
        for model, value in zip(study.models[:3], (0.3, 0.55, 0.7), strict=True):
            entries.append(_entry(model.name, "r", task.task, pair.lang, value + place / 200, measure))
    path = tmp_path_factory.mktemp("results") / "results.json"
    path.write_text(json.dumps({"results": entries}))
    return path


@pytest.fixture(scope="module")
def llms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two language models on the 19 pairs that are no clustering."""
    pairs = [pair for pair in load_hume_paper_study().pairs if pair.family != "clustering"]
    rows = [f"{pair.dataset},{pair.lang},{50 + i},{40 + i},{60 - i}" for i, pair in enumerate(pairs)]
    path = tmp_path_factory.mktemp("llms") / "llms.csv"
    path.write_text("\n".join(["dataset,lang,human,one,two", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def own(mirror: Path, results: Path, llms: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An embedding and a classical metric among them."""
    del mirror
    out = tmp_path_factory.mktemp("runs") / "own"
    return hume.score(systems=["wordllama", "jaccard"], from_mteb=results, llm_scores=llms, out=out, **ARGUMENTS)


@pytest.fixture(scope="module")
def alone(results: Path, llms: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same files without systems of one's own."""
    return hume.score(from_mteb=results, llm_scores=llms, out=tmp_path_factory.mktemp("runs") / "alone")


def _rows(run: Run, table: str) -> list[dict[str, str]]:
    with (run.path / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_items_are_the_26_pairs_taken_whole(own: Run) -> None:
    """A task for every pair of the study, with every row of the set, in order to be scored and nothing else."""
    study = read_study(own.path / ITEMS).study
    assert len(study.tasks) == 26
    assert {task.n for task in study.tasks if task.family != "clustering"} == {6}
    assert all("whole" in " ".join(task.notes) for task in study.tasks)


def test_people_and_models_stay_as_they_were(own: Run, alone: Run) -> None:
    """Every cell of every table that was there without the own systems is there unchanged with them."""
    for number in (1, 2, *range(3, 14)):
        before, after = _rows(alone, f"hume_table{number}"), _rows(own, f"hume_table{number}")
        label = next(iter(before[0]))
        key = (label, *(name for name in ("dataset", "task", "lang") if name in before[0]))
        held = {tuple(row[name] for name in key): row for row in after}
        for row in before:
            now = held[tuple(row[name] for name in key)]
            assert row.items() <= now.items(), (number, row)
    for name in ("hume_pairs", "hume_win_rates"):
        assert _rows(own, name) == _rows(alone, name)


def test_own_systems_are_in_the_papers_tables(own: Run) -> None:
    """Rows of 1, 4-7, 9 and 13, columns of 2, 8 and 10-12, and a place overall; the classical metric only in 8."""
    for number in (1, 4, 5, 6, 7, 9):
        names = [row["model"] for row in _rows(own, f"hume_table{number}")]
        assert "wordllama" in names
        assert "jaccard" not in names
    for number in (2, 10, 11, 12):
        assert "wordllama" in _rows(own, f"hume_table{number}")[0]
    assert "wordllama" in [row["llm"] for row in _rows(own, "hume_table13")]
    assert {"wordllama", "wordllama outside", "jaccard", "jaccard outside"} <= _rows(own, "hume_table8")[0].keys()
    places = {row["system"]: int(row["rank"]) for row in _rows(own, "hume_overall")}
    assert set(places) == {"Human", "wordllama", *(one.short for one in load_hume_paper_study().models[:3])}
    assert sorted(places.values()) == [1, 2, 3, 4, 5]


def test_scores_are_those_of_the_run_on_the_items(own: Run) -> None:
    """Table 1's overall is the mean over the 26 cells, which a study of the same items would give too."""
    cells = {}
    for line in (own.path / "own" / "results.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["system"] == "wordllama" and not row["variant"] and row["measure"] in MAIN.values():
            cells[row["dataset"]] = row["value"]
    assert len(cells) == 26
    (mine,) = [row for row in _rows(own, "hume_table1") if row["model"] == "wordllama"]
    assert float(mine["overall"]) == pytest.approx(100 * sum(cells.values()) / 26, abs=0.06)


def test_the_page_places_them(own: Run) -> None:
    """The record says who was evaluated here, and that these items are fewer than people answered."""
    summary = hume.read_summary(own.path)
    places = {one.system: one for one in summary.places}
    assert places["wordllama"].rank is not None
    assert places["jaccard"].rank is None
    assert any("from those that people annotated" in note for note in summary.notes)
    kinds = {one["name"]: one["facts"]["summary"] for one in own.manifest["systems"]}
    assert kinds["wordllama"] == "evaluated here"
    assert own.report().exists()


def test_it_resumes_and_grows(own: Run, results: Path, llms: Path) -> None:
    """The same call does no cell again; one more system is added to the folder."""
    before = (own.path / "tables" / "hume_table1.csv").read_text("utf-8")
    cells = {path.name: path.stat().st_mtime_ns for path in (own.path / "own" / "cells").rglob("*.json")}
    again = hume.score(systems=["wordllama", "jaccard"], from_mteb=results, llm_scores=llms, out=own.path, **ARGUMENTS)
    assert (again.path / "tables" / "hume_table1.csv").read_text("utf-8") == before
    assert {path.name: path.stat().st_mtime_ns for path in (own.path / "own" / "cells").rglob("*.json")} == cells
    with pytest.raises(UsageError, match="other arguments"):
        hume.score(systems=["wordllama"], from_mteb=results, out=own.path, **ARGUMENTS)


def test_sets_that_are_missing_cost_the_mean_only(
    mirror: Path, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs that are here have scores; the system has no mean and stands in no table of means."""
    part = tmp_path / "part"
    for name in ("hume-sts12", "hume-emotion"):
        shutil.copytree(mirror / name, part / name)
    monkeypatch.setenv("EMBASSAY_DATA", str(part))
    run = hume.score(systems=["wordllama"], from_mteb=results, out=tmp_path / "run", **ARGUMENTS)
    scored = [row for row in _rows(run, "hume_table8") if row["wordllama"]]
    assert {row["task"] for row in scored} == {"STS12", "EmotionClassification"}
    assert "wordllama" not in [row["model"] for row in _rows(run, "hume_table1")]
    notes = hume.read_summary(run.path).notes
    assert any("2 of 26 pairs" in note for note in notes)
    assert sum("hub" in note or "not on this machine" in note for note in notes) == 14


def test_results_of_another_study_are_refused(tmp_path: Path) -> None:
    """Own systems are evaluated on HUME's items, which other people's results are not on."""
    entry = _entry("me/Human", "r", "Ours", "eng", 0.5, "accuracy") | {"model": load_hume_paper_study().human}
    path = tmp_path / "ours.json"
    path.write_text(json.dumps({"results": [entry, entry | {"model": "org/one", "revision": "r"}]}))
    found = read_published_results(PublishedRequest((str(path),), systems=("wordllama",)))
    with pytest.raises(UsageError, match="not from the HUME study"):
        add_evaluated_systems_to_published(found, EvaluatedSystems({"wordllama": ("embedding", "x")}))


def test_a_system_called_like_a_published_model_is_another(results: Path, tmp_path: Path) -> None:
    """`st:sentence-transformers/all-MiniLM-L6-v2` and the published all-MiniLM-L6-v2 are two rows."""
    from embassay.protocols.hume.published.tables import build_all_paper_tables

    found = read_published_results(PublishedRequest((str(results),)))
    name = f"st:{load_hume_paper_study().models[0].name}"
    scores = tuple(PublishedEvaluation(name, "", pair.dataset, pair.lang, pair.lang, 0.4) for pair in found.study.pairs)
    tables = {one.name: one for one in build_all_paper_tables(found.evaluations, None, found.study, own=scores)}
    names = [row[0] for row in tables["hume_table1"].rows]
    assert name in names
    assert load_hume_paper_study().models[0].short in names
    del tmp_path


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the public results are not beside the checkout")
def test_the_published_rows_stay(mirror: Path, tmp_path: Path) -> None:
    """With own systems beside, all 210 cells of table 1 and people's cells of table 8 are those that are printed."""
    del mirror
    run = hume.score(systems=["wordllama"], from_mteb=REFERENCE / "results.json.gz", out=tmp_path / "run", **ARGUMENTS)
    ours = {row["model"]: row for row in _rows(run, "hume_table1")}
    with (REFERENCE / "table1.csv").open(encoding="utf-8") as file:
        printed = [row for row in csv.DictReader(file) if row["model"] != "n_datasets"]
    cells = [
        float(ours[row["model"]][name]) == float(value)
        for row in printed
        for name, value in row.items()
        if name != "model"
    ]
    assert len(cells) == 210
    assert all(cells)
    mine = {(row["task"], row["lang"]): row for row in _rows(run, "hume_table8")}
    assert len(mine) == 26
