"""What a language model scores on the items of a task, by the measures that people are scored by (spec hume 8.1).

An answer that cannot be read is wrong in classification, is left out of STS, and orders or marks nothing in reranking:
the documents then stand as they were shown, or none is marked. A call that failed is no answer of any kind: its item is
left out and counted, and above 5% of such items there is no score.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.llms.answers import LlmRow, Mode, Status
from embassay.protocols.hume.scoring.measures import (
    classification_scores,
    marked_ap,
    reranking_scores,
    sts_scores,
)
from embassay.protocols.hume.scoring.people import MAIN, Scored
from embassay.protocols.hume.study import Family, Gold, TaskSpec, read_value

LLM_FAMILIES: tuple[Family, ...] = ("classification", "reranking", "sts")
"""Families that language models annotate; ids of clusters are hard to ask for consistently (spec hume 8.1)."""
MOST_LEFT_OUT = 0.05
"""The share of items without an answer above which there is no score."""
_UNREAD = "\0"
"""Stands for an answer that cannot be read, where no label can be."""


@dataclass(frozen=True)
class ScoredLlm:
    """A language model on a task: `runs` in their order, and in `scores` the mean of every measure over them (empty
    where there is none, and `reason` says why).

    `answers` holds for every run what was scored, by item: a label (None for one that could not be read), a rating, or
    a score per document by which they are ranked. `values` is the mean over runs of what an item is worth: right or
    not, its average precision; empty for STS. `statuses` counts rows; `missing` are items of a run that have no row.
    """

    family: Family
    mode: Mode
    runs: tuple[Scored, ...]
    scores: Mapping[str, float]
    answers: tuple[Mapping[str, Any], ...]
    values: Mapping[str, float]
    items: int
    statuses: Mapping[Status, int]
    missing: int = 0
    reason: str = ""

    @property
    def score(self) -> float:
        """The family's main measure, mean over runs; NaN where there is no score."""
        return self.scores.get(MAIN[self.family], math.nan)

    @property
    def failed(self) -> int:
        """Answers that are not there or could not be read, over all runs."""
        return self.statuses.get("unparsed", 0) + self.statuses.get("failed", 0) + self.missing


def score_llm(task: TaskSpec, gold: Gold, rows: Sequence[LlmRow]) -> ScoredLlm:
    """Score a model's answers to a task, `rows` of one mode as `read_llm_answers` gives them, `gold` as `gold_values`.

    Accuracy and F1s, Spearman and Pearson over the items with a rating, MAP of a ranking or (mode binary) of marks with
    people's tie-aware rule. Source: spec hume 8.1. Raises UsageError for clustering, no rows, or rows of several modes;
    DataError for a repeated row, an item without gold or a value that is no answer.

    >>> rows = [LlmRow(model="m", item_id=i, task="t", run=0, mode="ranking", status="ok", value="a") for i in "12"]
    >>> score_llm(TaskSpec("t", "classification", "eng"), {"1": "a", "2": "b"}, rows).score
    0.5
    """
    mode = _mode(task, rows)
    by_run = _by_run(task, rows)
    answers = tuple(_answers(task, gold, mode, own) for own in by_run)
    missing = sum(len(gold) - len(own) for own in by_run)
    statuses = Counter(row.status for row in rows)
    runs = tuple(_scored(task.family, gold, own) for own in answers)
    left_out = statuses["failed"] + missing
    reason = _reason(task, left_out, len(gold) * len(by_run), runs)
    return ScoredLlm(
        task.family, mode, runs, {} if reason else _mean([one.scores for one in runs if one.items]), answers,
        {} if task.family == "sts" else _values(task.family, gold, answers), len(gold), statuses, missing, reason,
    )  # fmt: skip


def _mode(task: TaskSpec, rows: Sequence[LlmRow]) -> Mode:
    if task.family not in LLM_FAMILIES:
        raise UsageError(
            f"{task.name} is a task of {task.family}.", mend=f"LLMs annotate {', '.join(LLM_FAMILIES)}."
        )
    modes = {row.mode for row in rows}
    if len(modes) != 1:
        raise UsageError(
            f"There are answers of {len(modes)} modes to {task.name}.", mend="Give those of one file."
        )
    return modes.pop()


def _by_run(task: TaskSpec, rows: Sequence[LlmRow]) -> list[dict[str, LlmRow]]:
    runs: dict[int, dict[str, LlmRow]] = {}
    for row in rows:
        own = runs.setdefault(row.run, {})
        if row.item_id in own:
            raise DataError(
                f"The answer of {row.model} to {row.item_id} in run {row.run} is there twice.",
                mend=f"Keep one line of {task.name} for each item and run.",
            )
        own[row.item_id] = row
    return [runs[run] for run in sorted(runs)]


def _answers(task: TaskSpec, gold: Gold, mode: Mode, rows: Mapping[str, LlmRow]) -> dict[str, Any]:
    """What is scored of a run, in the order of the items' ids."""
    found = {}
    for item, row in sorted(rows.items()):
        if item not in gold:
            raise DataError(f"Item {item} of {task.name} has no gold.", mend="Give answers to this study.")
        if row.status == "failed" or (row.status == "unparsed" and task.family == "sts"):
            continue
        found[item] = _answer(task, gold[item], mode, row)
    return found


def _answer(task: TaskSpec, gold: Any, mode: Mode, row: LlmRow) -> Any:
    where = f"The answer of {row.model} to item {row.item_id} of {task.name}"
    if task.family == "reranking" and mode == "ranking":
        return _ranked(row, len(gold), where)
    if row.status == "unparsed":
        return None if task.family == "classification" else (0,) * len(gold)
    value = read_value(task, row.value, where, like=gold if task.family == "reranking" else None)
    if value is None:
        raise DataError(f"{where} has no value.", mend=f"Its status is {row.status!r}: it needs one.")
    return value


def _ranked(row: LlmRow, n: int, where: str) -> tuple[int, ...]:
    """A score per document, the higher the better, from the places in the model's order."""
    order = list(range(n)) if row.status == "unparsed" else row.value
    if not isinstance(order, list | tuple) or sorted(map(str, order)) != sorted(map(str, range(n))):
        raise DataError(f"{where} is {row.value!r}.", mend=f"It must be the places 0 to {n - 1} in an order.")
    places = {int(place): rank for rank, place in enumerate(order)}
    return tuple(n - places[place] for place in range(n))


def _scored(family: Family, gold: Gold, answers: Mapping[str, Any]) -> Scored:
    if not answers:
        return Scored({}, 0)
    true = [gold[item] for item in answers]
    given = list(answers.values())
    if family == "classification":
        return Scored(_of_labels(true, given), len(given))
    scores = sts_scores(true, given) if family == "sts" else reranking_scores(true, given)
    return Scored(scores, len(given))


def _of_labels(true: list[Any], given: list[Any]) -> dict[str, float]:
    """As for people; what could not be read is wrong, and no label of its own that macro means would count."""
    said = [_UNREAD if label is None else label for label in given]
    found = classification_scores(true, said)
    if _UNREAD not in said:
        return found
    labels = len({*true, *said})
    more = labels / (labels - 1)
    return {
        name: value * (more if name in ("f1", "precision", "recall") else 1) for name, value in found.items()
    }


def _values(family: Family, gold: Gold, answers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    items = sorted({item for own in answers for item in own})
    every = {
        item: [_worth(family, gold[item], own[item]) for own in answers if item in own] for item in items
    }
    return {item: math.fsum(values) / len(values) for item, values in every.items()}


def _worth(family: Family, gold: Any, answer: Any) -> float:
    return float(answer == gold) if family == "classification" else marked_ap(gold, answer)


def _reason(task: TaskSpec, left_out: int, n: int, runs: Sequence[Scored]) -> str:
    if left_out > MOST_LEFT_OUT * n:
        return f"{left_out} of {n} items have no answer: more than {MOST_LEFT_OUT:.0%}"
    if task.family == "sts" and any(one.items < 2 for one in runs):
        return "fewer than two items have a rating"
    return ""


def _mean(every: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return (
        {name: math.fsum(scores[name] for scores in every) / len(every) for name in every[0]} if every else {}
    )
