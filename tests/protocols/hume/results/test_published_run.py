"""Published results as a run: on results made here with people and models of every pair, and on the public ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.hume.published.paper import load_hume_paper_study
from embassay.protocols.hume.record import Summary, read_summary
from embassay.protocols.hume.study import Family

PRIMARY: Mapping[Family, str] = {
    "classification": "accuracy", "clustering": "v_measure", "reranking": "map", "sts": "spearman"
}  # fmt: skip


def made_results(people: float = 0.75) -> list[dict[str, Any]]:
    """Results of all models, 0.6 and a little, and of people on every pair; two of them are 0.05 apart either way."""
    study, random, rows = load_hume_paper_study(), Random(5), []
    for dataset in study.datasets:
        for pair in dataset.pairs:
            where = {"task": dataset.task, "hf_subset": pair.lang, "languages": [f"{pair.lang}-Latn"]}
            rows += [
                {**where, "model": model.name, "revision": "1",
                 "main_score": 0.6 + random.random() / 100}
                for model in study.models
            ]  # fmt: skip
            entry = {**where, "model": study.human, "revision": study.human_revision, "main_score": people}
            if pair.n_annotators == 2:
                each = [{PRIMARY[pair.family]: people + step} for step in (-0.05, 0.05)]
                entry |= {"scores": {"scores_per_experiment": each}, "agreement": {"value": 0.5}}
            rows.append(entry)
    return rows


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"results": rows}))
    return path


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return write(tmp_path / "results.json", made_results())


def scored(path: Path, out: Path, **arguments: Any) -> Summary:
    return read_summary(eb.hume.score(from_mteb=path, out=out, **arguments).path)


def test_the_record(results: Path, tmp_path: Path) -> None:
    """All pairs with people, agreement where two annotated, 13 models, places and wins."""
    found = scored(results, tmp_path / "run")
    assert (found.source, len(found.pairs), found.simulated) == ("published", 26, False)
    assert all(len(one.models) == 13 for one in found.pairs)
    assert [one.agreement is not None for one in found.pairs] == [one.lang == "eng" for one in found.pairs]
    first = found.pairs[0]
    assert (first.conventions["mean"], first.conventions["first"]) == (pytest.approx(0.75), pytest.approx(0.7))
    assert [one.score for one in first.annotators] == pytest.approx([0.7, 0.8])
    assert all(one.difference is None and one.against_people is None for one in first.models)
    assert (found.places[0].system, found.places[0].rank) == ("Human", 1)
    assert found.places[0].mean.value == pytest.approx(0.75)
    assert found.wins[0].wins == 26
    assert found.agreement_against_gap is not None
    assert found.agreement_against_gap.reason == "agreement or lead does not vary"
    assert {"train and test overlap: all 45 texts are also in the training split"} == {
        flag for one in found.pairs for flag in one.flags if "overlap" in flag
    }


def test_rows_and_tables(results: Path, tmp_path: Path) -> None:
    run = eb.hume.score(from_mteb=[results], out=tmp_path / "run")
    heads = run.results.filter((pl.col("variant") == "") & (pl.col("task") != "overall"))
    assert len(heads) == 26 * 14
    assert run.results.filter(task="overall", system="Human")["value"].to_list() == pytest.approx([0.75])
    names = {path.stem for path in (run.path / "tables").glob("*.csv")}
    assert {"hume_table1", "hume_table8", "agreement", "annotators", "quality_flags", "hume_figure8"} <= names
    assert not {"hume_table2", "hume_table10"} & names
    assert run.manifest["status"] == "finished"
    assert "Human" not in {one["name"] for one in run.manifest["systems"]}


def test_the_same_again_and_other_arguments(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = scored(results, out)
    assert scored(results, out) == first
    with pytest.raises(UsageError, match="other arguments: aggregation"):
        scored(results, out, aggregation="mean")


@pytest.mark.parametrize(("aggregation", "expected"), [("first", 0.7), ("mean", 0.75), ("paper", 0.75)])
def test_other_rules(results: Path, tmp_path: Path, aggregation: str, expected: float) -> None:
    """Of the pairs with two annotators; the file's own score stays in `conventions`."""
    found = scored(results, tmp_path / "run", aggregation=aggregation)
    for one in found.pairs:
        assert one.human.value == pytest.approx(expected if one.lang == "eng" else 0.75)
        assert one.conventions["paper"] == 0.75


def test_no_interval_for_one_annotator(results: Path, tmp_path: Path) -> None:
    found = scored(results, tmp_path / "run", one_annotator="none")
    alone = [one for one in found.pairs if one.lang != "eng" and one.family in ("clustering", "reranking")]
    assert len(alone) == 5
    assert {one.human.low for one in alone} == {None}
    assert all(model.outside is None for one in alone for model in one.models)


def test_answers_cannot_be_pooled(results: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no answers to pool"):
        scored(results, tmp_path / "run", aggregation="pooled")


def test_part_of_the_results(tmp_path: Path) -> None:
    """Pairs without people and models that lack a pair are left out, and said to be."""
    rows = [one for one in made_results() if not (one["model"] == "baseline/Human" and "STS" in one["task"])]
    rows = [one for one in rows if one["model"] != "google/embeddinggemma-300m"]
    rows = [one for one in rows if (one["model"], one["task"]) != ("intfloat/multilingual-e5-base", rows[0]["task"])]
    found = scored(write(tmp_path / "r.json", rows), tmp_path / "run")
    assert len(found.pairs) == 21
    assert all(len(one.models) == 11 for one in found.pairs)
    said = " ".join(found.notes)
    assert "5 of 26 pairs are left out" in said
    assert "embeddinggemma-300m is left out because it is not in the results" in said
    assert "multilingual-e5-base is left out because it lacks 1 of 21 pairs" in said


def test_other_models_take_part_when_asked(tmp_path: Path) -> None:
    rows = made_results()
    mine = [{**one, "model": "me/mine", "main_score": 0.95} for one in rows if one["model"].endswith("MiniLM-L6-v2")]
    path = write(tmp_path / "r.json", [*rows, *mine])
    apart = scored(path, tmp_path / "a")
    assert any("Omitted from all tables because they are not in the study: me/mine" in note for note in apart.notes)
    assert "mine" not in {one.system for one in apart.places}
    together = scored(path, tmp_path / "b", models="all")
    assert (together.places[0].system, together.places[0].rank) == ("mine", 1)
    assert {len(one.models) for one in together.pairs} == {14}


@pytest.mark.parametrize(("keep", "what"), [
    (lambda one: one["model"] != "baseline/Human", "contain no human scores"),
    (lambda one: one["model"] == "baseline/Human", "No model in the results"),
])  # fmt: skip
def test_nothing_to_compare(tmp_path: Path, keep: Any, what: str) -> None:
    path = write(tmp_path / "r.json", [one for one in made_results() if keep(one)])
    with pytest.raises(DataError, match=what):
        scored(path, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_people_of_another_revision_are_named(tmp_path: Path) -> None:
    rows = [{**one, "revision": "old"} for one in made_results()]
    with pytest.raises(DataError, match=r"baseline/Human in revision old"):
        scored(write(tmp_path / "r.json", rows), tmp_path / "run")


def test_language_models(results: Path, tmp_path: Path) -> None:
    """From a folder only what is such a table; they stand unranked beside people of their pairs."""
    folder = tmp_path / "llm"
    folder.mkdir()
    (folder / "a.csv").write_text("dataset,lang,human,m1,m2\nEmotion,eng,75,80,70\nAverage,,75,80,70\n")
    (folder / "b.csv").write_text("dataset,lang,human,m1,m2\nSTS22,ara,75,60,50\n")
    (folder / "other.csv").write_text("model,score\nx,1\n")
    found = scored(results, tmp_path / "run", llm_scores=folder)
    held = {one.name: {llm.system: llm.score.value for llm in one.llms} for one in found.pairs if one.llms}
    assert held == {
        "EmotionClassification (eng)": {"m1": 0.8, "m2": 0.7}, "STS22 (ara)": {"m1": 0.6, "m2": 0.5}
    }  # fmt: skip
    place = next(one for one in found.places if one.system == "m1")
    assert (place.kind, place.rank, place.mean.reason) == ("llm", None, "no score on 24 of 26 pairs")
    assert (tmp_path / "run" / "tables" / "hume_table10.csv").exists()


@pytest.mark.parametrize(("make", "what"), [
    (lambda path: path / "none", "no such file or folder"), (lambda path: path, "no language model scores"),
])  # fmt: skip
def test_no_language_models(results: Path, tmp_path: Path, make: Any, what: str) -> None:
    with pytest.raises(DataError, match=what):
        scored(results, tmp_path / "run", llm_scores=make(tmp_path))


def own_results(folder: Path, *, simulated: bool = False) -> Path:
    """Results of a study of one's own, as MTEB lays them out: one task is called as a dataset of the paper is."""
    own = {"emotion": ("accuracy", "eng", 0.8), "stories": ("spearman", "dan", 0.7)}
    for system, revision, plus in (("baseline__Human", "3", 0.0), ("me__a", "1", 0.1), ("me__b", "1", -0.1)):
        path = folder / system / revision
        path.mkdir(parents=True)
        for task, (measure, lang, value) in own.items():
            entry: dict[str, Any] = {
                "main_score": value + plus, measure: value + plus, "hf_subset": lang, "languages": [lang]
            }  # fmt: skip
            if system == "baseline__Human":
                each = [{measure: value - 0.1}, {measure: value}] if lang == "eng" else [{measure: value}]
                entry |= {"scores_per_experiment": each, "simulated": simulated}
                entry["agreement"] = {"value": 0.3, "n_items": 40} if lang == "eng" else {"value": None, "n_items": 0}
            (path / f"{task}.json").write_text(json.dumps({"task_name": task, "scores": {"test": [entry]}}))
    return folder


def test_results_of_a_study_of_ones_own(tmp_path: Path) -> None:
    """Datasets, families and models are those of the files; an unknown number of items gives no interval."""
    run = eb.hume.score(from_mteb=own_results(tmp_path / "own"), out=tmp_path / "run")
    found = read_summary(run.path)
    assert [(one.dataset, one.lang, one.family, one.n) for one in found.pairs] == [
        ("emotion", "eng", "classification", 40), ("stories", "dan", "sts", 0)
    ]  # fmt: skip
    assert [(one.system, one.rank) for one in found.places] == [("a", 1), ("Human", 2), ("b", 3)]
    assert (found.pairs[0].trust, found.pairs[0].superhuman_on_noise) == ("low", True)
    assert found.pairs[1].human.low is None
    assert "is unknown" in found.pairs[1].human.method
    assert run.table("hume_table1")["model"].to_list() == ["n_datasets", "a", "b", "Human"]
    assert not list((run.path / "tables").glob("*study_languages*"))


def test_simulated_people_of_results_are_marked(tmp_path: Path) -> None:
    run = eb.hume.score(from_mteb=own_results(tmp_path / "own", simulated=True), out=tmp_path / "run")
    assert read_summary(run.path).simulated
    for file in (run.path / "tables").glob("*.md"):
        assert "scripts that stand in for people" in file.read_text()


@pytest.mark.parametrize(("change", "what"), [
    (lambda p: (p / "you__a").mkdir() or (p / "me__a" / "1").rename(p / "you__a" / "1"), ""),
    (lambda p: shutil.copytree(p / "me__a", p / "you__a"), "2 models are called a"),
    (lambda p: shutil.copytree(p / "baseline__Human" / "3", p / "baseline__Human" / "4"), "in 2 revisions"),
    (lambda p: shutil.rmtree(p / "baseline__Human"), "contain no human scores"),
    (lambda p: (p / "baseline__Human/3/emotion.json").write_text(
        (p / "baseline__Human/3/emotion.json").read_text().replace("accuracy", "kindness")), "to no HUME family"),
])  # fmt: skip
def test_results_that_are_no_study(tmp_path: Path, change: Any, what: str) -> None:
    path = own_results(tmp_path / "own")
    change(path)
    if not what:
        assert scored(path, tmp_path / "run").places[0].system == "a"
        return
    with pytest.raises(DataError, match=what):
        scored(path, tmp_path / "run")
