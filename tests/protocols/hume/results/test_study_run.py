"""A study scored from Python: people, systems and language models on the same items, in one folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

import embassay as eb
from embassay.document.blocks import convert_sentence_to_text
from embassay.errors import DataError, ModelError, UsageError
from embassay.protocols.hume.record import DatasetLanguageRecord, Summary, read_summary
from embassay.protocols.hume.results.contestants import make_system_with_score_from_cell, read_answered_tasks
from embassay.protocols.hume.scoring import MAIN
from embassay.protocols.hume.study import (
    AnnotationRow,
    ItemGoldAnswer,
    ShownItemRow,
    read_jsonl_rows,
    read_study,
    write_annotations,
)
from embassay.protocols.kernel.comparisons import read_standings
from embassay.protocols.kernel.outcome import Run
from embassay.report.hume.conclusions import describe_hume_verdict
from embassay.runs.folder import RunFolder, convert_cell_record_to_json, read_cell_record_from_json
from hume_scored import PEOPLE, N, annotate, scored_study

SYSTEMS = ["wordllama", "jaccard"]
QUICK: dict[str, Any] = {"tokenizer": "words", "resamples": 200}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scored_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def run(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    return eb.hume.score(study, SYSTEMS, out=folder / "run", cache=folder / "cache", **QUICK)


@pytest.fixture(scope="module")
def summary(run: Run) -> Summary:
    return read_summary(run.path)


def pair(summary: Summary, task: str) -> DatasetLanguageRecord:
    return next(one for one in summary.pairs if one.task == task)


def rows_of(study: Path) -> tuple[list[ShownItemRow], list[ItemGoldAnswer]]:
    return (
        [row for _, row in read_jsonl_rows(study / "items.jsonl", ShownItemRow)],
        [row for _, row in read_jsonl_rows(study / "gold.jsonl", ItemGoldAnswer)],
    )


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """A study whose annotations pass through a function: None leaves an answer out."""

    def make(change: Callable[[AnnotationRow], AnnotationRow | None], **arguments: Any) -> Path:
        path = scored_study(tmp_path, **arguments)
        for file in sorted((path / "annotations").glob("*.jsonl")):
            kept = [new for _, row in read_jsonl_rows(file, AnnotationRow) if (new := change(row)) is not None]
            write_annotations(path, file.stem, kept)
        return path

    return make


def test_people_by_the_rule_of_each_family(summary: Summary, study: Path) -> None:
    """The vote, the mean of two, and the mean rating, made here again from the files."""
    folder = read_study(study)
    given: dict[str, dict[str, Any]] = {
        name: {row.item_id: row.value for _,
            row in read_jsonl_rows(study / "annotations" / f"{name}.jsonl", AnnotationRow)}
        for name in PEOPLE
    }  # fmt: skip
    gold = folder.gold("pairs")
    mean = [np.mean([own[item] for own in given.values()]) for item in gold]
    assert pair(summary, "pairs").human.value == pytest.approx(spearmanr(mean, [*gold.values()]).statistic)
    gold = folder.gold("topic")
    right = [min(own[item] for own in given.values()) == gold[item] for item in gold]
    assert pair(summary, "topic").human.value == pytest.approx(np.mean(right))
    for task in ("groups", "search"):
        one = pair(summary, task)
        assert one.human.value == pytest.approx(np.mean([own.score for own in one.annotators]))
        assert one.human.method == "range of 2 annotators"
    assert all(one.measure == MAIN[one.family] and one.n == N for one in summary.pairs)


def test_every_convention_is_stored(summary: Summary) -> None:
    for one in summary.pairs:
        found = one.conventions
        assert found["paper"] == one.human.value
        assert found["first"] == one.annotators[0].score
        assert found["mean"] == pytest.approx(np.mean([own.score for own in one.annotators]))
        assert (found["pooled"] is None) == (one.family == "clustering")
    marked = pair(summary, "search").conventions
    assert marked["tie_aware"] == marked["paper"]
    assert {"display_order", "expected"} <= set(marked)


def test_systems_stand_beside_people(summary: Summary) -> None:
    """Difference on the same items with its interval, people's share, and people for gold beside the ceiling."""
    for one in summary.pairs:
        assert [system.system for system in one.models] == SYSTEMS
        assert [system.kind for system in one.models] == ["embedding", "classical"]
        for system in one.models:
            assert system.score.value is not None
            assert one.human.value is not None
            assert system.difference is not None
            assert system.difference.value == pytest.approx(system.score.value - one.human.value)
            assert (system.difference.low is None) == (one.family == "clustering") == (system.p is None)
            assert system.percent_of_human == pytest.approx(100 * system.score.value / one.human.value)
            assert system.against_people is not None
            assert 0 <= (system.among_people or 0) <= 1
        assert one.ceiling is not None
        assert one.agreement is not None
        assert one.agreement.annotators == 2
        assert one.agreement.value.low is not None
        assert one.need is not None
        assert one.need.system == "wordllama"


def test_metrics_without_vectors_are_not_ranked(summary: Summary) -> None:
    """They classify and cluster by another method: they stand in the places without a rank."""
    places = {one.system: one for one in summary.places}
    assert places["jaccard"].rank is None
    assert "a different method" in places["jaccard"].mean.reason
    assert places["jaccard"].mean.value is not None
    assert {places["wordllama"].rank, places["Human"].rank} == {1, 2}
    assert any("jaccard" in note for note in summary.notes)


@pytest.mark.parametrize(("tasks", "systems", "ranked"), [
    (("pairs", "search"), SYSTEMS, {"wordllama", "jaccard", "Human"}), (("groups",), ["jaccard"], {"jaccard", "Human"}),
])  # fmt: skip
def test_where_all_are_scored_alike_all_are_ranked(
    study: Path, tmp_path: Path, tasks: tuple[str, ...], systems: list[str], ranked: set[str]
) -> None:
    found = read_summary(eb.hume.score(study, systems, out=tmp_path / "run", tasks=tasks, **QUICK).path)
    assert {one.system for one in found.places if one.rank is not None} == ranked
    assert {one.task for one in found.pairs} == set(tasks)


def test_rows_of_results(run: Run, summary: Summary) -> None:
    """A headline per system and task, people's beside it, and the means over all."""
    rows = run.results
    assert set(rows["protocol"]) == {"hume"}
    heads = rows.filter((pl.col("variant") == "") & (pl.col("task") != "overall"))
    assert {(row["task"], row["dataset"], row["measure"]) for row in heads.iter_rows(named=True)} == {
        (one.family, one.task, one.measure) for one in summary.pairs
    }
    assert len(heads) == 3 * len(summary.pairs)
    assert {"annotator=ann", "convention=mean", "agreement", "ceiling", "minus_human"} <= set(rows["variant"])
    assert rows.filter(task="overall")["system"].to_list() == [one.system for one in summary.places]
    keys = rows.select("task", "dataset", "lang", "variant", "system", "measure")
    assert keys.is_duplicated().sum() == 0
    assert set(rows.filter(pl.col("value").is_null())["reason"]) == {"not defined for this family"}


def test_tables(run: Run) -> None:
    """The paper's where they make sense for a study, and ours; exact in CSV."""
    names = {path.stem for path in (run.path / "tables").glob("*.csv")}
    assert {
        *(f"hume_table{n}" for n in (1, 3, 4, 5, 6, 7, 8, 9)), "hume_overall", "hume_pairs", "hume_win_rates",
        "hume_systems", "hume_need", "agreement", "quality_flags", "annotators", "hume_figure1", "hume_figure8",
    } <= names  # fmt: skip
    assert not {"hume_table2", "hume_table13"} & names
    assert run.table("hume_table1")["model"].to_list() == ["n_datasets", *SYSTEMS, "Human"]
    assert run.table("hume_table8")["answered_by"].to_list() == ["people"] * 4


def test_systems_can_be_compared_later(run: Run, study: Path, tmp_path: Path) -> None:
    """Headlines with replicates overall, by family and by task, in the groups that are ranked together."""
    found = {(one.task, one.system): one for one in read_standings(run.path)}
    assert {(task, one.group) for (task, system), one in found.items() if system == "jaccard"} == {
        (task, "classical") for task in ("overall", "classification", "clustering", "reranking", "sts")
    }
    overall = found["overall", "wordllama"]
    each = [found[task, "wordllama"].headline for task in ("classification", "clustering", "reranking", "sts")]
    assert overall.headline.value == pytest.approx(np.mean([one.value for one in each if one.value is not None]))
    assert len(overall.headline.replicates) == len(each[0].replicates) == 200
    both = eb.hume.score(study, SYSTEMS, out=tmp_path / "run", tasks=["pairs", "search"], **QUICK)
    found_pair = both.compare("wordllama", "jaccard", "sts")
    values = {row["system"]: row["value"] for row in both.results.filter(task="sts", variant="").iter_rows(named=True)}
    assert found_pair.leading.difference == pytest.approx(values["wordllama"] - values["jaccard"])


def test_items_are_kept_for_later(run: Run) -> None:
    assert len(list((run.path / "items").glob("**/*.parquet"))) == 8
    frame = pl.read_parquet(run.path / "items" / "sts" / "pairs" / "jaccard.parquet")
    assert set(frame["measure"]) == {"similarity", "gold"}


def test_the_same_again_gives_the_same_bytes(run: Run, study: Path, tmp_path: Path) -> None:
    again = eb.hume.score(study, SYSTEMS, out=tmp_path / "run", **QUICK)
    for name in ("results.jsonl", "summary.json", "comparisons.json", "tables/hume_systems.csv"):
        assert (again.path / name).read_bytes() == (run.path / name).read_bytes(), name


def test_people_go_on_and_systems_are_kept(tmp_path: Path) -> None:
    """The same command after further answers scores people anew, and no system again."""
    path, out = scored_study(tmp_path, people={"ann": 0.1}), tmp_path / "run"
    first = eb.hume.score(path, ["jaccard"], out=out, **QUICK)
    before = read_summary(out)
    assert all(one.agreement is None and len(one.annotators) == 1 for one in before.pairs)
    annotate(path, *rows_of(path), {"bob": 0.3})
    cells = [cell["seconds"] for cell in first.manifest["cells"]]
    second = eb.hume.score(path, ["jaccard"], out=out, **QUICK)
    assert all(one.agreement is not None for one in read_summary(out).pairs)
    assert [cell["seconds"] for cell in second.manifest["cells"]] == cells
    assert second.manifest["sessions"][-1]["cells_done"] == 0
    assert first.manifest["study"] == second.manifest["study"]


def test_other_arguments_are_refused(run: Run, study: Path) -> None:
    with pytest.raises(UsageError, match="other arguments: aggregation"):
        eb.hume.score(study, SYSTEMS, out=run.path, aggregation="mean", **QUICK)


def test_simulated_annotators_are_marked_in_every_table(tmp_path: Path) -> None:
    path = scored_study(tmp_path, kind="simulated", families=("sts", "classification"))
    done = eb.hume.score(path, SYSTEMS, out=tmp_path / "run", **QUICK)
    tables = sorted((done.path / "tables").glob("*.md"))
    assert len(tables) > 15
    for file in tables:
        assert "scripts that stand in for people" in file.read_text()
    assert "Human (simulated)" in done.table("hume_table1")["model"].to_list()
    people = done.results.filter(pl.col("system") == "Human", pl.col("task") != "overall")
    assert all("simulated annotators" in method for method in people["method"])


def test_one_annotator(tmp_path: Path) -> None:
    """No agreement and no ceiling; the interval as in the paper, or none."""
    path = scored_study(tmp_path, people={"ann": 0.2}, families=("clustering", "sts"))
    for option, expected in (("wilson", "95% Wilson"), ("none", "none: one annotator")):
        done = eb.hume.score(path, [], out=tmp_path / option, one_annotator=option, **QUICK)
        groups = pair(read_summary(done.path), "groups")
        assert (groups.human.method, groups.agreement, groups.trust) == (expected, None, None)
        assert groups.ceiling is not None
        assert groups.ceiling.value is None
        assert groups.ceiling.reason
    assert pair(read_summary(done.path), "groups").human.low is None


def test_items_that_nobody_answered(changed: Callable[..., Path], tmp_path: Path) -> None:
    """They are counted, and systems are scored without them; gaps of one annotator are counted, too."""

    def change(row: AnnotationRow) -> AnnotationRow | None:
        if row.item_id.endswith("-03"):
            return None
        if row.annotator_id == "bob" and row.item_id.endswith("-05"):
            return row.model_copy(update={"value": None, "flag": "ambiguous"})
        return row

    path = changed(change)
    found = read_summary(eb.hume.score(path, SYSTEMS, out=tmp_path / "run", **QUICK).path)
    for one in found.pairs:
        assert "1 of 12 items have no answers and are also left out for systems" in one.flags
        assert "bob answered 10 of 12 items" in one.flags
        assert [own.items for own in one.annotators] == [11, 10]
        assert [own.flagged for own in one.annotators] == [0, 1]
        assert one.human.n == 11
        assert {system.score.n for system in one.models} == {11}
    items = pl.read_parquet(tmp_path / "run" / "items" / "sts" / "pairs" / "jaccard.parquet")
    kept = items.filter(pl.col("item_id") != "pairs-03")
    both = [kept.filter(measure=name)["value"].to_list() for name in ("similarity", "gold")]
    assert pair(found, "pairs").models[1].score.value == pytest.approx(spearmanr(*both).statistic)


def test_the_first_annotator_alone_counts(changed: Callable[..., Path], tmp_path: Path) -> None:
    """By that rule systems are scored on the items that the first one answered; agreement is that of all."""
    path = changed(lambda row: None if (row.annotator_id, row.item_id[-2:]) == ("ann", "04") else row)
    found = read_summary(eb.hume.score(path, SYSTEMS, out=tmp_path / "run", aggregation="first", **QUICK).path)
    for one in found.pairs:
        assert one.human.n == 11
        assert one.human.value == one.annotators[0].score == one.conventions["first"]
        assert {system.score.n for system in one.models} == {11}
        assert one.agreement is not None
        assert one.agreement.annotators == 2


def test_a_task_that_nobody_annotated(changed: Callable[..., Path], tmp_path: Path) -> None:
    """Its systems have scores, people none, and it is no part of means."""
    path = changed(lambda row: None if row.item_id.startswith("pairs") else row)
    found = read_summary(eb.hume.score(path, SYSTEMS, out=tmp_path / "run", **QUICK).path)
    one = pair(found, "pairs")
    assert (one.human.value, one.human.reason) == (None, "nobody annotated it")
    assert all(system.score.value is not None and system.difference is None for system in one.models)
    assert {place.mean.n for place in found.places} == {3}
    assert any("wins: pairs (eng)" in note for note in found.notes)


def test_people_alone(study: Path, tmp_path: Path) -> None:
    found = eb.hume.score(study, out=tmp_path / "run", **QUICK)
    assert found.manifest["status"] == "finished"
    assert [place.system for place in read_summary(found.path).places] == ["Human"]
    assert found.table("hume_table8")["best_model"].null_count() == 4


def test_pooled_clusters_fall_back_and_say_so(study: Path, tmp_path: Path) -> None:
    found = read_summary(eb.hume.score(study, [], out=tmp_path / "run", aggregation="pooled", **QUICK).path)
    assert pair(found, "groups").human.value == pair(found, "groups").conventions["mean"]
    assert pair(found, "search").human.value == pair(found, "search").conventions["pooled"]
    assert any("cannot be pooled" in note for note in found.notes)


def test_a_cell_that_failed_is_done_again(study: Path, tmp_path: Path) -> None:
    """A failed system has no score and says why; the same command tries it again."""
    out, cell = tmp_path / "run", lambda run: run.manifest["cells"][0]
    first = eb.hume.score(study, ["jaccard"], out=out, tasks=["pairs"], **QUICK)
    record = RunFolder(out).path / "cells" / f"{cell(first)['key']}.json"
    failed_record = replace(
        read_cell_record_from_json(json.loads(record.read_text())), status="failed", reason="it broke"
    )
    people = read_answered_tasks(read_study(study), [read_study(study).task("pairs")])[0]
    shown = make_system_with_score_from_cell(failed_record, "classical", people, RunFolder(out))
    assert (shown.score.value, shown.score.reason) == (None, "it broke")
    record.write_text(json.dumps(convert_cell_record_to_json(failed_record)))
    again = eb.hume.score(study, ["jaccard"], out=out, tasks=["pairs"], **QUICK)
    assert cell(again)["status"] == "done"
    assert again.manifest["sessions"][-1]["cells_done"] == 1


def llm_row(item: str, value: Any, **more: Any) -> dict[str, Any]:
    task = item.rpartition("-")[0]
    return {"model": "stub", "item_id": item, "task": task, "run": 0, "mode": "ranking", "status": "ok",
            "value": value, **more}  # fmt: skip


def write_llm(path: Path, rows: list[dict[str, Any]], name: str = "stub") -> None:
    (path / "llm").mkdir(exist_ok=True)
    (path / "llm" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_language_models_of_the_study(tmp_path: Path) -> None:
    """Gold with known errors: one label of twelve is wrong, one rating could not be read, rankings are perfect."""
    path = scored_study(tmp_path)
    gold = {row.id: row.gold for row in rows_of(path)[1]}
    rows = []
    for item, value in gold.items():
        if item.startswith("search"):
            value = sorted(range(len(value)), key=lambda place: -value[place])
        if not item.startswith("groups"):
            rows.append(llm_row(item, value))
    rows[0]["value"] = next(label for label in ("food", "sport") if label != rows[0]["value"])
    rows[-1] |= {"status": "unparsed", "value": None}
    write_llm(path, rows)
    done = eb.hume.score(path, SYSTEMS, out=tmp_path / "run", **QUICK)
    found = read_summary(done.path)
    scores = {one.task: one.llms[0] for one in found.pairs if one.llms}
    assert {task: round(one.score.value or 0, 6) for task, one in scores.items()} == {
        "topic": round(11 / 12, 6), "search": 1.0, "pairs": 1.0
    }  # fmt: skip
    assert {one.kind for one in scores.values()} == {"llm"}
    assert scores["pairs"].failed == 1
    assert scores["topic"].difference is not None
    assert scores["topic"].score.low is not None
    place = next(one for one in found.places if one.system == "stub")
    assert (place.rank, place.mean.reason) == (None, "no score on 1 of 4 pairs")
    assert done.table("hume_table10")["stub"].to_list() == pytest.approx([100 * 11 / 12] * 2)
    assert {"hume_table2", "hume_table11", "hume_table12", "hume_table13"} <= {
        file.stem for file in (done.path / "tables").glob("*.csv")
    }


def test_language_models_need_no_people(tmp_path: Path) -> None:
    """`hume annotate`, then `hume score`, as the pages show: they stand beside gold, and people have no score."""
    path = scored_study(tmp_path, people={}, families=("classification", "sts"))
    write_llm(path, [llm_row(row.id, row.gold) for row in rows_of(path)[1]])
    done = eb.hume.score(path, [], out=tmp_path / "run", **QUICK)
    found = read_summary(done.path)
    assert [[one.score.value for one in pair.llms] for pair in found.pairs] == [[1.0], [1.0]]
    assert all(pair.human.value is None for pair in found.pairs)
    assert convert_sentence_to_text(describe_hume_verdict(found).heading).startswith("No annotations: 2 pairs")


def without_gold(path: Path) -> None:
    (path / "gold.jsonl").unlink()


def with_less_gold(path: Path) -> None:
    gold = path / "gold.jsonl"
    gold.write_text("".join(gold.read_text().splitlines(keepends=True)[1:]))


def in_answers(old: str, new: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        answers = path / "annotations" / "ann.jsonl"
        assert old in answers.read_text()
        answers.write_text(answers.read_text().replace(old, new))

    return change


def twice(path: Path) -> None:
    answers = path / "annotations" / "ann.jsonl"
    answers.write_text(answers.read_text() * 2)


def without_study(path: Path) -> None:
    (path / "study.json").unlink()


def with_another_llm(path: Path) -> None:
    write_llm(path, [llm_row("other-1", 3)])


@pytest.mark.parametrize(("change", "what"), [
    (without_gold, r"gold\.jsonl: There is no such file"), (with_less_gold, "topic-00 of topic has no gold"),
    (in_answers('"topic-00"', "1"), r"ann\.jsonl:1: item_id cannot be read"),
    (in_answers("topic-00", "topic-99"), "topic-99 is for an item that is not in the study"),
    (twice, "topic-00 appears twice"),
    (in_answers('"food"', '"purple"'), "is 'purple'"), (without_study, "contains no study"),
    (with_another_llm, "has no item other-1"),
])  # fmt: skip
def test_broken_studies(tmp_path: Path, change: Callable[[Path], None], what: str) -> None:
    """Told before anything is begun, with a mend."""
    path = scored_study(tmp_path, families=("classification",))
    change(path)
    with pytest.raises(DataError, match=what) as caught:
        eb.hume.score(path, [], out=tmp_path / "run", **QUICK)
    assert caught.value.mend
    assert not (tmp_path / "run").exists()


def test_nobody_annotated(tmp_path: Path) -> None:
    path = scored_study(tmp_path, people={}, families=("sts",))
    with pytest.raises(DataError, match="Nobody has annotated") as caught:
        eb.hume.score(path, [], out=tmp_path / "run", **QUICK)
    assert "hume serve" in caught.value.mend


def test_systems_beside_a_model_that_annotated_alone(tmp_path: Path) -> None:
    """`hume annotate --llm`, then `hume score -s`, as the page shows, of two tasks: nothing breaks off, and
    people have no value."""
    path = scored_study(tmp_path, people={}, families=("sts", "classification"))
    write_llm(path, [llm_row(row.id, row.gold) for row in rows_of(path)[1]])
    run = eb.hume.score(path, ["jaccard", "levenshtein"], out=tmp_path / "run", **QUICK)
    assert run.manifest["status"] == "finished"
    pairs = read_summary(run.path).pairs
    assert [len(own.llms) for own in pairs] == [1, 1]
    assert all(own.human.value is None for own in pairs)


def test_only_some_annotations(study: Path, tmp_path: Path) -> None:
    """--answers FILE: those of one annotator only."""
    one = eb.hume.score(study, [], out=tmp_path / "run", answers=[study / "annotations" / "bob.jsonl"], **QUICK)
    assert {own.id for pair in read_summary(one.path).pairs for own in pair.annotators} == {"bob"}


def test_served_answers_count(tmp_path: Path) -> None:
    """What `hume serve` stored is scored without an export."""
    from embassay.protocols.hume.store import SubmittedAnswer, open_answer_store

    path = scored_study(tmp_path, people={}, families=("sts",))
    folder = read_study(path)
    store = open_answer_store(folder)
    store.add_annotator("cat")
    for number, (item, value) in enumerate(folder.gold("pairs").items(), start=1):
        store.save("cat", "pairs", SubmittedAnswer(item, value, number, seconds=4.0, tab="t"))
    store.close()
    found = pair(read_summary(eb.hume.score(path, [], out=tmp_path / "run", **QUICK).path), "pairs")
    assert (found.human.value, found.annotators[0].id, found.annotators[0].seconds) == (1.0, "cat", 4.0)


@pytest.mark.parametrize(("arguments", "what"), [
    ({"tasks": ["nothing"]}, "no task 'nothing'"), ({"aggregation": "median"}, "--aggregation is 'median'"),
    ({"human_ap_mode": "x"}, "--human-ap-mode is 'x'"), ({"resamples": 0}, "resamples is 0"),
    ({"one_annotator": "x"}, "--one-annotator is 'x'"), ({"from_mteb": "x.json"}, "Score either a study"),
])  # fmt: skip
def test_wrong_arguments(study: Path, tmp_path: Path, arguments: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        eb.hume.score(study, [], out=tmp_path / "run", **{**QUICK, **arguments})


def test_nothing_to_score(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Score either a study"):
        eb.hume.score(out=tmp_path / "run")


def test_a_system_that_cannot_be_opened(study: Path, tmp_path: Path) -> None:
    with pytest.raises((ModelError, UsageError)):
        eb.hume.score(study, [f"onnx:{tmp_path}/nothing"], out=tmp_path / "run", **QUICK)


def test_who_stopped_early_is_left_out_and_named(
    changed: Callable[..., Path], summary: Summary, tmp_path: Path
) -> None:
    """A third who answered 3 of 12 items changes nothing for people, systems and agreement, unless asked to count."""

    def three(row: AnnotationRow) -> AnnotationRow | None:
        late = int(row.item_id.split("-")[1]) >= 3
        return None if row.annotator_id == "cy" and late else row

    study = changed(three, people={**PEOPLE, "cy": 0.0})
    found = read_summary(eb.hume.score(study, out=tmp_path / "out", **QUICK).path)
    for one in found.pairs:
        before = pair(summary, one.task)
        assert (one.human, one.agreement, one.trust) == (before.human, before.agreement, before.trust)
        assert [who.id for who in one.annotators] == [*PEOPLE]
        assert [(who.id, who.items) for who in one.left_out] == [("cy", 3)]
        assert "cy answered 3 of 12 items, too few to count in the human score or the agreement" in one.flags
    every = read_summary(eb.hume.score(study, out=tmp_path / "all", min_answered=0.0, **QUICK).path)
    assert [who.id for who in every.pairs[0].annotators] == [*PEOPLE, "cy"]
    assert every.pairs[0].left_out == ()
    with pytest.raises(UsageError, match="min_answered"):
        eb.hume.score(study, out=tmp_path / "none", min_answered=1.5, **QUICK)
