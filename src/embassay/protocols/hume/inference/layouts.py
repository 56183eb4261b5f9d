"""What people answered, laid out item by item so that their score on any resample of items can be computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from embassay.errors import UsageError
from embassay.protocols.hume.inference.resampling import (
    Floats,
    drawn_mean,
    drawn_spearman,
    drawn_v_measure,
    indicators,
)
from embassay.protocols.hume.scoring.measures import ApMode, marked_ap
from embassay.protocols.hume.scoring.people import POOLED_FIRST, Aggregation, pooled_answers
from embassay.protocols.hume.study import Answers, Gold, TaskSpec


@dataclass(frozen=True)
class People:
    """The answers of people to a task, with its gold, and by which convention they make one score: see
    `PeopleScores.scores` and `marked_ap` for the names."""

    task: TaskSpec
    gold: Gold
    answers: Answers
    aggregation: Aggregation = "paper"
    human_ap_mode: ApMode = "tie_aware"

    @property
    def taking_part(self) -> dict[str, Mapping[str, Any]]:
        """The annotators who answered anything, in the order of their ids."""
        return {name: own for name, own in sorted(self.answers.items()) if own}

    @property
    def items(self) -> tuple[str, ...]:
        """The items that anyone answered, sorted."""
        return tuple(sorted({item for own in self.answers.values() for item in own}))

    @property
    def scored_items(self) -> tuple[str, ...]:
        """The items in their score: those of anyone, or where only the first annotator counts, those of the first."""
        every = list(self.taking_part.values())
        return tuple(sorted(every[0])) if self.aggregation == "first" and every else self.items


@dataclass(frozen=True)
class ItemRows:
    """Answers of people by one convention. `rows` has one row of `items` per annotator, or one row of pooled answers;
    None where one is missing. For classification and reranking a row holds values of items (1 for a right label, the
    AP of a query), for STS ratings, for clustering ids of groups. `gold` is None for the first two.
    """

    items: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    gold: tuple[Any, ...] | None


def people_rows(people: People, items: Sequence[str]) -> ItemRows:
    """The answers to `items` as the convention takes them.

    Source: spec hume 4. Raises UsageError for another convention, pooled clusters, or where nobody answered.
    """
    own, gold = _by_convention(people), people.gold
    if people.task.family in ("sts", "clustering"):
        rows = [tuple(one.get(item) for item in items) for one in own]
        return ItemRows(tuple(items), tuple(rows), tuple(gold[item] for item in items))
    value = _right if people.task.family == "classification" else _ap(people.human_ap_mode)
    rows = [tuple(value(gold[item], one[item]) if item in one else None for item in items) for one in own]
    return ItemRows(tuple(items), tuple(rows), None)


def people_score(task: TaskSpec, laid: ItemRows, counts: Floats) -> Floats:
    """The main measure of people in every resample, (b,): of each row over the items it answered, then the mean."""
    every = np.stack([row_score(task, laid.gold, row, counts) for row in laid.rows])
    return np.asarray(every.mean(axis=0))


def row_score(task: TaskSpec, gold: Sequence[Any] | None, row: Sequence[Any], counts: Floats) -> Floats:
    """The main measure of one row of answers in every resample, (b,); NaN where it is undefined."""
    if task.family == "clustering":
        return drawn_v_measure(counts, indicators(list(gold or ())), indicators(row))
    if task.family == "sts":
        return drawn_spearman(counts, numbers(gold or ()), numbers(row))
    return drawn_mean(counts, numbers(row))


def numbers(row: Sequence[float | None]) -> Floats:
    """A row with NaN for what is missing."""
    return np.array([math.nan if value is None else float(value) for value in row])


def _by_convention(people: People) -> list[Mapping[str, Any]]:
    aggregation, task = people.aggregation, people.task
    if aggregation not in ("paper", "pooled", "mean", "first"):
        raise UsageError(f"The aggregation is {aggregation!r}.", mend="Use paper, pooled, mean or first.")
    every = list(people.taking_part.values())
    if not every:
        raise UsageError(
            f"Nobody answered an item of {task.name}.", mend="Give the annotations of this task."
        )
    if aggregation == "first":
        return every[:1]
    if aggregation == "mean" or (aggregation == "paper" and task.family not in POOLED_FIRST):
        return every
    together = pooled_answers(task, people.answers)
    if together is None:
        raise UsageError("Groups of several people cannot be pooled.", mend="Use paper or mean.")
    return [together]


def _right(gold: Any, answer: Any) -> float:
    return float(gold == answer)


def _ap(mode: ApMode) -> Any:
    return lambda gold, marks: marked_ap(gold, marks, human_ap_mode=mode)
