"""Items and annotations read into what the families score."""

from __future__ import annotations

import pytest

from embassay.errors import DataError
from embassay.protocols.hume.study import (
    Annotation,
    StudyItem,
    TaskSpec,
    answers_by_annotator,
    map_items_to_gold_values,
)

EMOTION = TaskSpec("emotion", "classification", "eng", labels=(0, 1, 2))
TOPICS = TaskSpec("topics", "clustering", "eng")
RANKED = TaskSpec("ranked", "reranking", "eng")
RATED = TaskSpec("rated", "sts", "eng")


def _items(task: TaskSpec, *gold: object) -> list[StudyItem]:
    return [StudyItem(str(i), task.name, task.lang, gold=value) for i, value in enumerate(gold)]


def test_annotations_by_annotator_and_item_in_order() -> None:
    """Whatever the order of the rows; what was left open is not there."""
    gold = map_items_to_gold_values(EMOTION, _items(EMOTION, 0, 2))
    rows = [Annotation("1", "z", 2), Annotation("1", "a", "2"), Annotation("0", "a", 1), Annotation("0", "z", None)]
    answers = answers_by_annotator(EMOTION, gold, rows)
    assert list(answers) == ["a", "z"]
    assert answers == {"a": {"0": 1, "1": 2}, "z": {"1": 2}}
    assert list(answers["a"]) == ["0", "1"]


def test_values_by_family() -> None:
    """Cluster ids are texts without spaces around, blank ones are missing; ratings are floats, marks tuples."""
    gold = map_items_to_gold_values(TOPICS, _items(TOPICS, "x", "y", "y"))
    rows = [Annotation("0", "a", " 1 "), Annotation("1", "a", 1), Annotation("2", "a", "  ")]
    assert answers_by_annotator(TOPICS, gold, rows) == {"a": {"0": "1", "1": "1"}}
    assert map_items_to_gold_values(RANKED, _items(RANKED, [2, 0, 1])) == {"0": (2, 0, 1)}
    assert answers_by_annotator(RANKED, {"0": (2, 0, 1)}, [Annotation("0", "a", [True, 0, 1])])["a"]["0"] == (1, 0, 1)
    assert answers_by_annotator(RATED, {"0": 2.5}, [Annotation("0", "a", "4")]) == {"a": {"0": 4.0}}


@pytest.mark.parametrize(
    ("task", "gold", "value", "message"),
    [
        (EMOTION, 1, 7, "answer by a to item 0 of emotion is 7.*one of 0, 1, 2"),
        (EMOTION, 1, 1.5, "is 1.5"),
        (TOPICS, "x", ["y"], "a group id"),
        (RATED, 2.0, "high", "must be a number"),
        (RATED, 2.0, "nan", "must be a number"),
        (RATED, 2.0, True, "must be a number"),
        (RANKED, (1, 0), (1, 0, 0), "2 times 0 or 1"),
        (RANKED, (1, 0), (2, 0), "2 times 0 or 1"),
        (RANKED, (1, 0), (0.5, 1), "whole numbers"),
        (RANKED, (1, 0), 1, "whole numbers"),
    ],
)
def test_a_wrong_answer_is_named(task: TaskSpec, gold: object, value: object, message: str) -> None:
    """By annotator, item and task, with what it must be."""
    with pytest.raises(DataError, match=message):
        answers_by_annotator(task, {"0": gold}, [Annotation("0", "a", value)])


@pytest.mark.parametrize(
    ("gold", "message"), [(None, "has no gold"), ([0, 0], "no relevant document"), ([], "whole numbers")]
)
def test_wrong_gold_is_named(gold: object, message: str) -> None:
    """Before anything is scored."""
    with pytest.raises(DataError, match=f"(?i)item 0 of ranked.*{message}"):
        map_items_to_gold_values(RANKED, _items(RANKED, gold))


def test_a_task_is_of_a_family_and_tells_its_labels_apart() -> None:
    """1 and "1" would be one label in a file."""
    with pytest.raises(DataError, match="family of t is 'retrieval'"):
        TaskSpec("t", "retrieval", "eng")
    with pytest.raises(DataError, match="Two labels of t look the same"):
        TaskSpec("t", "classification", "eng", labels=(1, "1"))


def test_what_does_not_belong() -> None:
    """An unknown item, a repeated answer, a repeated item."""
    twice = [Annotation("0", "a", 1.0), Annotation("0", "a", 2.0)]
    with pytest.raises(DataError, match="is for an item that is not in the study"):
        answers_by_annotator(RATED, {"0": 1.0}, [Annotation("9", "a", 1.0)])
    with pytest.raises(DataError, match="appears twice"):
        answers_by_annotator(RATED, {"0": 1.0}, twice)
    with pytest.raises(DataError, match="Item 0 of rated appears twice"):
        map_items_to_gold_values(RATED, _items(RATED, 1.0) * 2)
