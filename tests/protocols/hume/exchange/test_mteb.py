"""People's scores as MTEB results: read back by us to the same numbers, and by mteb itself."""

from __future__ import annotations

import json

import pytest

from embassay.errors import UsageError
from embassay.protocols.hume.collection import make_annotation_from_file_row
from embassay.protocols.hume.exchange.export import export
from embassay.protocols.hume.published.paper import read_results
from embassay.protocols.hume.scoring import people_agreement, score_people_answers
from embassay.protocols.hume.study import answers_by_annotator, read_study, write_annotations
from hume_small import small_study


def scored(study, rows, name):
    folder = read_study(study)
    task, gold = folder.study.task(name), folder.gold(name)
    own = [make_annotation_from_file_row(row) for row in rows if row.item_id in gold]
    answers = answers_by_annotator(task.spec, gold, own)
    return score_people_answers(task.spec, gold, answers), people_agreement(task.family, answers)


def test_read_back_to_the_same_numbers(study, rows, tmp_path):
    """Main score, all measures, every annotator's, and the agreement."""
    done = export(study, "mteb", tmp_path / "results", revision="2026_11")
    assert {path.name for path in done.files} == {
        "mood.json",
        "topics.json",
        "search.json",
        "pairs.json",
        "model_meta.json",
    }
    assert all(path.parent == tmp_path / "results" / "baseline__Human" / "2026_11" for path in done.files)
    found = {one.dataset: one for one in read_results(tmp_path / "results")}
    for name, one in found.items():
        people, agreement = scored(study, rows, name)
        assert (one.system, one.revision, one.lang, one.subset) == ("baseline/Human", "2026_11", "eng", "default")
        assert one.main_score == people.score()
        renamed = {"mrr_at_10": "mrr@10", "ndcg_at_10": "ndcg@10"}
        scores = {renamed.get(key, key): value for key, value in people.scores().items()}
        assert one.metrics == {**scores, "n_items": people.items}
        assert list(one.main_scores_per_annotator) == people.main_score_per_annotator()
        assert one.headline_agreement == agreement.value
        assert one.agreement["n_annotators"] == 2
        assert one.agreement["total_annotations"] == agreement.annotations
    assert len(found) == 4


def test_published_names_of_agreement(study, rows, tmp_path):
    """As the public files of people have them, for every language."""
    export(study, "mteb", tmp_path)
    place = tmp_path / "baseline__Human" / "1"
    blocks = {
        path.stem: json.loads(path.read_text())["scores"]["test"][0]["agreement"] for path in place.glob("[!m]*.json")
    }
    blocks["mood"] = json.loads((place / "mood.json").read_text())["scores"]["test"][0]["agreement"]
    published = {
        "mood": {"metric", "value", "interpretation", "mean_pairwise_kappa", "mean_percentage_agreement"},
        "topics": {"metric", "value", "n_annotators", "n_items", "total_annotations"},
        "pairs": {"metric", "value", "n_annotators", "n_items", "total_annotations"},
        "search": {"mean_spearman", "mean_kendall_tau", "mean_binary_kappa", "spearman_std", "n_comparisons"},
    }
    for name, keys in published.items():
        assert keys <= set(blocks[name])
    assert blocks["mood"]["metric"] == "fleiss_kappa"


def test_one_annotator_has_both_lists_too(study, tmp_path):
    """The agreement then has a reason in place of a value."""
    from hume_exchange_answers import answers

    write_annotations(study, "ann", answers(study, "ann"))
    export(study, "mteb", tmp_path, tasks=("pairs",))
    (entry,) = json.loads((tmp_path / "baseline__Human" / "1" / "pairs.json").read_text())["scores"]["test"]
    assert [one["annotator"] for one in entry["scores_per_experiment"]] == ["ann"]
    assert entry["agreement"]["value"] is None
    assert entry["agreement"]["reason"] == "fewer than two annotators"


def test_languages_of_a_dataset_share_a_file(tmp_path):
    """With a subset and the script of each."""
    from embassay.protocols.hume.study import ItemGoldAnswer, ShownItemRow, read_jsonl_rows, write_study
    from hume_exchange_answers import answers

    source = small_study(tmp_path / "one", 6, families=("sts",))
    folder = read_study(source)
    (task,) = folder.study.tasks
    items = [row for _, row in read_jsonl_rows(source / "items.jsonl", ShownItemRow)]
    gold = [row for _, row in read_jsonl_rows(source / "gold.jsonl", ItemGoldAnswer)]
    tasks = [task.model_copy(update={"name": f"pairs-{lang}", "lang": lang}) for lang in ("eng", "ara")]
    both = [row.model_copy(update={"id": f"{one.lang}-{row.id}", "task": one.name}) for one in tasks for row in items]
    golds = [row.model_copy(update={"id": f"{one.lang}-{row.id}"}) for one in tasks for row in gold]
    study = write_study(tmp_path / "two", folder.study.model_copy(update={"tasks": tasks}), both, golds)
    rows = [
        row.model_copy(update={"item_id": f"{lang}-{row.item_id}"})
        for lang in ("eng", "ara")
        for row in answers(source, "ann")
    ]
    write_annotations(study, "ann", rows)
    done = export(study, "mteb", tmp_path / "out")
    assert [path.name for path in done.files] == ["pairs.json", "model_meta.json"]
    entries = json.loads(done.files[0].read_text())["scores"]["test"]
    assert [(one["hf_subset"], one["languages"]) for one in entries] == [("eng", ["eng-Latn"]), ("ara", ["ara-Arab"])]
    assert [one.lang for one in read_results(tmp_path / "out")] == ["eng", "ara"]


def test_a_revision_is_a_plain_name(study, rows, tmp_path):
    with pytest.raises(UsageError, match="revision is"):
        export(study, "mteb", tmp_path, revision="../x")


@pytest.mark.mteb
def test_mteb_reads_it(study, rows, tmp_path):
    """Each file by its own loader, with the same main score; the description of the model too."""
    results = pytest.importorskip("mteb.results")
    meta = pytest.importorskip("mteb.models.model_meta").ModelMeta
    export(study, "mteb", tmp_path)
    place = tmp_path / "baseline__Human" / "1"
    for path in place.glob("*.json"):
        if path.name == "model_meta.json":
            assert meta.model_validate(json.loads(path.read_text())).name == "baseline/Human"
            continue
        found = results.TaskResult.from_disk(path)
        entry = json.loads(path.read_text())["scores"]["test"][0]
        assert found.task_name == path.stem
        assert found.languages == ["eng"]
        assert found.get_score() == entry["main_score"]
        assert found.hf_subsets == ["default"]
