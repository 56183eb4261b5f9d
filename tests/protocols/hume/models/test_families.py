"""Systems on the items of a study, against the same by scikit-learn and scipy (spec hume 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr
from sklearn.cluster import MiniBatchKMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import v_measure_score

from embassay.errors import DataError
from embassay.protocols.hume import models
from embassay.protocols.hume.models import (
    OTHERS,
    StudyTaskEvaluationSettings,
    build_evaluation_data_from_gold,
    draw_training_rows,
    find_training_rows,
    get_paper_training_texts_per_label,
)
from embassay.protocols.hume.sampling.options import StudySampleRequest, TaskSampleRequest
from embassay.protocols.hume.sampling.protocol import draw_study
from embassay.protocols.hume.study import StudyFolder, StudyItem, read_study
from embassay.protocols.kernel.inputs import open_uncached_system
from embassay.records import TaskOutcome
from embassay.text import open_tokenizer
from hume_scored import N, scored_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    return read_study(scored_study(tmp_path_factory.mktemp("scored")))


def evaluated(folder: StudyFolder, task: str, system: str, **settings: Any) -> TaskOutcome:
    job = models.StudyCellJob(
        system,
        1337,
        "words",
        None,
        folder.path,
        folder.study.content,
        task,
        StudyTaskEvaluationSettings(**settings),
        100,
        10,
    )
    return models.evaluate_cell(job, lambda _: None)


def vectors(texts: list[str]) -> np.ndarray[Any, Any]:
    encoder: Any = open_uncached_system("wordllama", open_tokenizer("words"), 1337)
    return np.asarray(encoder.encoder.encode(texts), dtype=np.float64)


def unit(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def column(found: TaskOutcome, measure: str) -> dict[str, float]:
    frame = pl.DataFrame(found.items).filter(measure=measure)
    return dict(zip(frame["item_id"].to_list(), frame["value"].to_list(), strict=True))


def test_sts_is_the_spearman_of_cosines(folder: StudyFolder) -> None:
    found = evaluated(folder, "pairs", "wordllama")
    items, gold = folder.select_task_items("pairs"), folder.gold("pairs")
    first, second = (unit(vectors([item.payload[name] for item in items])) for name in ("text1", "text2"))
    expected = spearmanr((first * second).sum(axis=1), [gold[item.id] for item in items]).statistic
    assert found.scores[0].value == pytest.approx(expected)
    assert found.scores[0].method.startswith("similarity")


def test_reranking_is_the_map_over_all_candidates(folder: StudyFolder) -> None:
    """Graded gold: what is above 0 is relevant. Every document's similarity is kept."""
    found = evaluated(folder, "search", "wordllama")
    gold, values = folder.gold("search"), []
    for item in folder.select_task_items("search"):
        documents = [one["text"] for one in item.payload["documents"]]
        cosines = unit(vectors(documents)) @ unit(vectors([item.payload["query"]]))[0]
        relevant = (np.array(gold[item.id]) > 0)[np.argsort(-cosines, kind="stable")]
        values.append((np.cumsum(relevant) / np.arange(1, 6))[relevant].mean())
    assert found.scores[0].value == pytest.approx(np.mean(values))
    assert list(column(found, "ap").values()) == pytest.approx(values)
    assert "irrelevant documents first" in found.scores[0].method
    kept = pl.DataFrame(found.items).filter(measure="similarity")
    assert len(kept) == 5 * N
    assert set(kept["variant"]) == {f"document={place}" for place in range(5)}


def test_equal_similarities_put_the_irrelevant_first(folder: StudyFolder) -> None:
    """A metric that is always 1 orders nothing: two relevant of five come last."""
    assert evaluated(folder, "search", "constant").scores[0].value == pytest.approx((1 / 4 + 2 / 5) / 2)


def test_clustering_is_k_means_with_as_many_clusters_as_gold(folder: StudyFolder) -> None:
    found = evaluated(folder, "groups", "wordllama")
    items, gold = folder.select_task_items("groups"), folder.gold("groups")
    texts = [item.payload["text"] for item in items]
    model = MiniBatchKMeans(3, batch_size=500, n_init="auto", random_state=1337)
    clusters = model.fit_predict(vectors(texts).astype(np.float32))
    assert found.scores[0].value == pytest.approx(v_measure_score([gold[item.id] for item in items], clusters))
    assert evaluated(folder, "groups", "jaccard").scores[0].method.startswith("complete linkage")


def test_classification_is_the_mean_of_ten_draws(folder: StudyFolder) -> None:
    found = evaluated(folder, "topic", "wordllama")
    items, gold = folder.select_task_items("topic"), folder.gold("topic")
    training = find_training_rows(folder.task("topic"), items, None)
    asked, right = vectors([item.payload["text"] for item in items]).astype(np.float32), []
    for repeat in range(10):
        rows = draw_training_rows(training, repeat, 1337, "topic")
        texts, labels = ([column[row] for row in rows] for column in (training.rows.texts, training.rows.labels))
        model = LogisticRegression(max_iter=100, random_state=1337).fit(vectors(texts).astype(np.float32), labels)
        right.append(model.predict(asked) == np.array([gold[item.id] for item in items]))
    assert found.scores[0].value == pytest.approx(np.mean(right))
    assert list(column(found, "correct").values()) == pytest.approx(np.mean(right, axis=0).tolist())
    assert set(column(found, "label").values()) <= {0, 1, 2}
    assert found.scores[0].method == (
        "logistic regression, 8 training texts per label, mean of 10 draws, bootstrap over texts"
        "; no interval: every resample gives the same value"
    )


def test_a_metric_classifies_by_the_nearest_of_the_same_draws(folder: StudyFolder) -> None:
    found = evaluated(folder, "topic", "jaccard", per_label=2, repeats=3)
    assert found.scores[0].method.startswith("10 nearest neighbours, 2 training texts per label, mean of 3")
    assert {round(3 * value, 6) for value in column(found, "correct").values()} <= {0, 1, 2, 3}


def test_draws_are_equal_per_label_and_differ(folder: StudyFolder) -> None:
    training = find_training_rows(folder.task("topic"), folder.select_task_items("topic"), 4)
    draws = [draw_training_rows(training, repeat, 1, "topic") for repeat in range(3)]
    for rows in draws:
        labels = [training.rows.labels[row] for row in rows]
        assert {label: labels.count(label) for label in labels} == {"food": 4, "music": 4, "sport": 4}
    assert len({tuple(rows) for rows in draws}) == 3
    assert draw_training_rows(training, 0, 1, "topic") == draws[0] != draw_training_rows(training, 0, 2, "topic")


def test_no_item_is_trained_on(folder: StudyFolder) -> None:
    """Nor one that differs in case and blanks only; nor a label that the task has not."""
    task, items = folder.task("topic"), folder.select_task_items("topic")
    whole = find_training_rows(task, (), None)
    text = whole.rows.texts[0]
    twin = StudyItem("x", "topic", "eng", {"text": f"  {text.upper()} "})
    assert text not in find_training_rows(task, (*items, twin), None).rows.texts
    fewer = task.model_copy(update={"labels": task.labels[:2]})
    assert set(find_training_rows(fewer, items, None).rows.labels) == {"food", "music"}


def test_only_the_training_split_is_learnt_from(folder: StudyFolder) -> None:
    assert {int(one[1:]) < 90 for one in find_training_rows(folder.task("topic"), (), None).rows.ids} == {True}


@pytest.mark.parametrize(("name", "expected"), [
    ("EmotionClassification", 16), ("tweeteval-emotion", 16), ("ToxicConversations", 16),
    ("TweetSentimentExtraction", 32), ("MultilingualSentiment", OTHERS),
])  # fmt: skip
def test_training_texts_per_label_as_in_the_paper(folder: StudyFolder, name: str, expected: int) -> None:
    assert get_paper_training_texts_per_label(folder.task("topic").model_copy(update={"name": name})) == expected


def test_a_source_that_is_gone(folder: StudyFolder) -> None:
    task = folder.task("topic")
    gone = task.model_copy(update={"source": task.source.model_copy(update={"dataset": "gone.csv"})})
    with pytest.raises(DataError, match=r"training texts for topic cannot be read from gone\.csv") as caught:
        find_training_rows(gone, (), None)
    assert "--task" in caught.value.mend


def test_a_sampled_task_finds_its_source_as_it_was() -> None:
    """Of a dataset with several languages: the rows of the task's own, with the fingerprint that sampling kept."""
    request = TaskSampleRequest(data="sample", family=["classification"], lang=["fra"], n=12)
    drawn = draw_study(StudySampleRequest(tasks=[request]))
    (task,) = drawn.study.tasks
    items = [StudyItem(one.id, one.task, "fra", one.payload) for one in drawn.items]
    training = find_training_rows(task, items, None)
    assert (task.source.lang, training.notes) == ("fr", ())
    assert set(training.rows.labels) == {"food", "health", "law", "rivers", "software", "space"}
    gone = task.model_copy(update={"source": task.source.model_copy(update={"lang": "xx"})})
    with pytest.raises(DataError, match="no longer has rows in xx"):
        find_training_rows(gone, items, None)


def test_a_changed_source_is_noted(folder: StudyFolder) -> None:
    task = folder.task("topic")
    other = task.model_copy(update={"source": task.source.model_copy(update={"fingerprint": "other"})})
    assert find_training_rows(other, (), None).notes == ("the source has changed since the study was sampled",)


@pytest.mark.parametrize(("task", "payload", "what"), [
    ("pairs", {"text1": "a"}, "has no text2"), ("topic", {"text": " "}, "has no text"),
    ("search", {"query": "q", "documents": [{"text": "x"}]}, "1 documents but 2 grades"),
])  # fmt: skip
def test_items_that_lack_a_text(folder: StudyFolder, task: str, payload: dict[str, Any], what: str) -> None:
    gold: dict[str, Any] = {"pairs": 1.0, "topic": "food", "search": (1, 0)}
    with pytest.raises(DataError, match=what):
        build_evaluation_data_from_gold(
            folder.task(task), [StudyItem("1", task, "eng", payload)], {"1": gold[task]}, StudyTaskEvaluationSettings()
        )
