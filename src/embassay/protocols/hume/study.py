"""What a study is made of: a task, its items with gold, and the annotations of people (spec hume 1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from embassay.errors import DataError

Family = Literal["classification", "clustering", "reranking", "sts"]
FAMILIES: tuple[Family, ...] = ("classification", "clustering", "reranking", "sts")
Label = str | int
Marks = tuple[int, ...]
Value = Label | float | Marks
"""A label, a cluster's id, a rating, or one 0 or 1 per document: by family."""
Question = Literal["language", "expertise", "age", "gender"]
"""What a study may ask of its annotators (spec hume 13); see `profile`."""
Who = Literal["person", "simulated"]
"""Whether a person answered, or a script that stands in for one: tables say which."""
Gold = Mapping[str, Any]
"""The gold value of every item, by its id."""
Answers = Mapping[str, Mapping[str, Any]]
"""What every annotator answered, by the ids of annotator and item."""


@dataclass(frozen=True)
class TaskSpec:
    """A dataset in one language. `labels` are those of a classification, in the order in which a tied vote goes to
    the first; empty: the sorted values found. Raises DataError for another family, or labels of one spelling."""

    name: str
    family: Family
    lang: str
    labels: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise DataError(
                f"The family of {self.name} is {self.family!r}.", mend=f"Use one of {', '.join(FAMILIES)}."
            )
        # Files of annotations do not tell the label 1 from the label "1".
        if len({str(label) for label in self.labels}) < len(self.labels):
            raise DataError(f"Two labels of {self.name} read the same.", mend="Name every label once.")


@dataclass(frozen=True)
class Item:
    """What is asked: `payload` is what annotators see, `gold` what they must not."""

    id: str
    task: str
    lang: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    gold: Value | None = None


@dataclass(frozen=True)
class Annotation:
    """One answer of one annotator; `value` None where the item was left open or could not be judged.

    `ts` is ISO 8601, `seconds` those the page was seen. `flag` says why the item is thought broken or cannot be judged,
    empty where it was not flagged.
    """

    item_id: str
    annotator_id: str
    value: Value | None
    ts: str = ""
    seconds: float | None = None
    kind: Who = "person"
    flag: str = ""
    comment: str = ""


def gold_values(task: TaskSpec, items: Iterable[Item]) -> dict[str, Any]:
    """The gold value of every item, in the form its family scores. Raises DataError for one that is missing, repeated
    or of another kind."""
    gold: dict[str, Any] = {}
    for item in items:
        if item.id in gold:
            raise DataError(
                f"Item {item.id} of {task.name} is there twice.", mend="Give every item its own id."
            )
        value = read_value(task, item.gold, f"The gold of item {item.id} of {task.name}")
        if value is None:
            raise DataError(
                f"Item {item.id} of {task.name} has no gold.", mend="Give the file with the gold."
            )
        gold[item.id] = value
    return gold


def answers_by_annotator(
    task: TaskSpec, gold: Gold, annotations: Iterable[Annotation]
) -> dict[str, dict[str, Any]]:
    """What every annotator answered, annotators and items in the order of their ids; open items are left out.

    Cluster ids become texts without spaces around them: "1" and "1 " are one group. Raises DataError for an item that
    is not of the task, two answers of one annotator to one item, or a value of another kind.
    """
    answers: dict[str, dict[str, Any]] = {}
    for one in annotations:
        where = f"The answer of {one.annotator_id} to item {one.item_id} of {task.name}"
        if one.item_id not in gold:
            raise DataError(
                f"{where} answers an item that the study does not have.",
                mend="Give the annotations of this sample.",
            )
        own = answers.setdefault(one.annotator_id, {})
        if one.item_id in own:
            raise DataError(f"{where} is there twice.", mend="Keep the last one of each.")
        own[one.item_id] = read_value(task, one.value, where, like=gold[one.item_id])
    return {
        annotator: {item: value for item, value in sorted(answers[annotator].items()) if value is not None}
        for annotator in sorted(answers)
    }


def read_value(task: TaskSpec, value: Any, where: str, *, like: Any = None) -> Any:
    """`value` in the form its family scores, None where it is missing: a label of the task, a text, a finite float, or
    a tuple of grades (only 0 and 1, and as many, where it must be `like` a gold one). Raises DataError otherwise."""
    if value is None or value == "":
        return None
    if task.family == "classification":
        return _label(value, where, task.labels)
    if task.family == "clustering":
        return _cluster(value, where)
    return _rating(value, where) if task.family == "sts" else _marks(value, where, like)


def _label(value: Any, where: str, labels: Sequence[Label]) -> Label:
    # A CSV file turns the label 1 into the text 1.
    known = {str(label): label for label in labels}
    if not isinstance(value, str | int) or (known and str(value) not in known):
        raise _wrong(where, value, f"one of {', '.join(known)}" if known else "a label")
    return known.get(str(value), value)


def _cluster(value: Any, where: str) -> str | None:
    if not isinstance(value, str | int):
        raise _wrong(where, value, "the id of a group")
    return str(value).strip() or None


def _rating(value: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise _wrong(where, value, "a number")
    return number


def _marks(value: Any, where: str, like: Marks | None) -> Marks:
    whole = isinstance(value, Sequence) and all(isinstance(one, int) and one >= 0 for one in value)
    if not whole or not len(value):
        raise _wrong(where, value, "a list of whole numbers from 0")
    if like is None and not any(value):
        raise DataError(f"{where} holds no relevant document.", mend="Leave the query out: it has no score.")
    if like is not None and (len(value) != len(like) or max(value) > 1):
        raise _wrong(where, value, f"{len(like)} times 0 or 1")
    return tuple(int(one) for one in value)


def _wrong(where: str, value: Any, expected: str) -> DataError:
    return DataError(f"{where} is {value!r}.", mend=f"It must be {expected}.")
