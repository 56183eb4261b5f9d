"""Choices against the right ones: accuracy, precision, recall, F1; and pairs that belong together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.measures.registry import measure

Choices = Sequence[Hashable] | NDArray[np.generic]

_choice = partial(measure, direction="higher", range="[0, 1]", needs="predicted, actual", source="SAGE table 2 [A10]")


@dataclass(frozen=True)
class BinaryScores:
    """Four shares in 0 to 1, higher is better, and the counts they come from.

    `precision` is NaN where nothing was predicted positive, `recall` where nothing is, `f1` where neither.
    """

    accuracy: float
    precision: float
    recall: float
    f1: float
    n: int
    true_positive: int
    false_positive: int
    false_negative: int


def binary_classification(predicted: Choices, actual: Choices, positive: Hashable = 1) -> BinaryScores:
    """Accuracy, precision, recall and F1 of predicted labels (n,), compared with the actual labels (n,).

    `positive` is the class of precision, recall and F1; every other value is the other class. F1 is 2 TP / (2 TP + FP +
    FN), so it is 0, not undefined, if there are only errors. Source: SAGE table 2; positive class [A10]. Raises
    UsageError for unequal lengths or no items.

    >>> binary_classification([1, 1, 0, 0], [1, 0, 0, 0]).precision
    0.5
    """
    if len(predicted) != len(actual) or not len(actual):
        raise UsageError(
            f"There are {len(predicted)} predicted and {len(actual)} actual choices.",
            mend="Pass one of each per item, and at least one item.",
        )
    chosen = np.array([value == positive for value in predicted], dtype=bool)
    right = np.array([value == positive for value in actual], dtype=bool)
    hits, false_alarms, misses = (int(cell.sum()) for cell in (chosen & right, chosen & ~right, ~chosen & right))
    equal = sum(bool(guess == truth) for guess, truth in zip(predicted, actual, strict=True))
    return BinaryScores(
        accuracy=equal / len(actual),
        precision=_compute_share_or_nan(hits, hits + false_alarms),
        recall=_compute_share_or_nan(hits, hits + misses),
        f1=_compute_share_or_nan(2 * hits, 2 * hits + false_alarms + misses),
        n=len(actual),
        true_positive=hits,
        false_positive=false_alarms,
        false_negative=misses,
    )


@_choice("Accuracy", undefined="there are no items (raises an error)")
def _accuracy(predicted: Choices, actual: Choices) -> float:
    """Share of predictions that are correct."""
    return binary_classification(predicted, actual).accuracy


@_choice("Precision", undefined="nothing was predicted positive")
def _precision(predicted: Choices, actual: Choices, *, positive: int | str | bool = 1) -> float:
    """Share of the predicted positives that are correct."""
    return binary_classification(predicted, actual, positive).precision


@_choice("Recall", undefined="nothing is positive")
def _compute_positive_class_recall(predicted: Choices, actual: Choices, *, positive: int | str | bool = 1) -> float:
    """Share of the actual positives that were predicted as positive."""
    return binary_classification(predicted, actual, positive).recall


@_choice("F1", undefined="nothing is positive or predicted positive")
def _f1(predicted: Choices, actual: Choices, *, positive: int | str | bool = 1) -> float:
    """Harmonic mean of precision and recall."""
    return binary_classification(predicted, actual, positive).f1


def _compute_share_or_nan(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


@measure(
    "PairAP",
    direction="higher",
    range="[0, 1]",
    needs="labels of 0 and 1, numbers",
    undefined="no label is 1",
    source="scikit-learn average_precision_score; used for pair classification in MTEB and PTEB",
)
def pair_average_precision(labels: ArrayLike, scores: ArrayLike) -> float:
    """Average precision of `labels` (n,) of 0 and 1, with all pairs in one ranking by `scores` (n,), highest first.

    The sum, over distinct scores, of the gain in recall times the precision. Pairs with equal scores count together,
    so their order does not matter. Range 0 to 1, higher is better; chance level is the share of label 1. NaN
    where no label is 1. Source: scikit-learn, average_precision_score.
    Raises UsageError for shapes that differ, scores that are not finite or labels other than 0 and 1.

    >>> round(pair_average_precision([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8333
    """
    from embassay.measures.summary import resample_average_precision

    truths = np.asarray(labels)
    if not np.isin(truths, (0, 1)).all():
        raise UsageError("A label is neither 0 nor 1.", mend="Use 1 for pairs that belong together, 0 for others.")
    return float(resample_average_precision(truths, scores, np.ones((1, truths.size), dtype=np.int64))[0])
