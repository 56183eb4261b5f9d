"""What people chose against gold: labels, groups and numbers, and marked documents read as a ranking."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby
from typing import Literal

import numpy as np

from embassay.errors import UsageError
from embassay.measures import ami, ari, ndcg_arrays, pearson, spearman, v_measure
from embassay.protocols.hume.study import Label


def classification_scores(gold: Sequence[Label], answers: Sequence[Label]) -> dict[str, float]:
    """`accuracy`, macro `f1`, `precision` and `recall`, and `f1_weighted` (by how often gold has a label), 0 to 1.

    Over the labels that gold or answers hold; 0 where a label was never answered (precision) or is never gold (recall).
    Source: spec hume 4, with scikit-learn's names and zero_division=0. Raises UsageError for unequal lengths or no
    items.

    >>> round(classification_scores(list("nnppuu"), list("nnupun"))["f1"], 6)
    0.655556
    """
    if len(gold) != len(answers) or not len(gold):
        raise UsageError(
            f"There are {len(gold)} gold labels and {len(answers)} answers.",
            mend="Give one of each per item, and at least one.",
        )
    true, said = Counter(gold), Counter(answers)
    right = Counter(a for a, b in zip(gold, answers, strict=True) if a == b)
    labels = list(true | said)
    f1 = {label: 2 * right[label] / (true[label] + said[label]) for label in labels}
    return {
        "accuracy": right.total() / len(gold),
        "f1": sum(f1.values()) / len(labels),
        "f1_weighted": sum(true[label] * f1[label] for label in labels) / len(gold),
        "precision": sum(right[label] / said[label] for label in labels if said[label]) / len(labels),
        "recall": sum(right[label] / true[label] for label in labels if true[label]) / len(labels),
    }


def majority_vote(votes: Iterable[Label], order: Sequence[Label] = ()) -> Label:
    """The label with the most votes; among equals the first in `order`, or the smallest where no order is given.

    Two people who disagree are always a tie: so the order decides on half of a hard task. Source: spec hume 4, 11.5.
    Raises UsageError for no votes, a vote that is not in the order, or labels that cannot be sorted.

    >>> majority_vote(["b", "a"]), majority_vote(["b", "a"], order=["b", "a"])
    ('a', 'b')
    """
    counted = Counter(votes)
    if not counted:
        raise UsageError("Nobody voted.", mend="Leave out the items without an answer.")
    best = [label for label, times in counted.items() if times == max(counted.values())]
    if order:
        unknown = counted.keys() - set(order)
        if unknown:
            raise UsageError(
                f"{sorted(map(str, unknown))} is no label of the task.", mend="Name every label in its order."
            )
        return min(best, key=list(order).index)
    try:
        return min(best)
    except TypeError:
        raise UsageError(
            "Labels that are numbers and texts have no order.", mend="Name the labels of the task in order."
        ) from None


def clustering_scores(gold: Sequence[Hashable], answers: Sequence[Hashable]) -> dict[str, float]:
    """`v_measure` (beta 1), `ari` and `ami` of one annotator's groups against gold groups.

    All are 0 where the annotator made one group of everything, or gold has only one: also where these are the same.
    Source: spec hume 4. Raises UsageError for unequal lengths or no items.

    >>> round(clustering_scores("aaabbbccc", "555577999")["v_measure"], 6)
    0.786013
    """
    _check(len(gold), len(answers))
    if len(set(gold)) == 1 or len(set(answers)) == 1:
        return {"v_measure": 0.0, "ari": 0.0, "ami": 0.0}
    return {"v_measure": v_measure(gold, answers), "ari": ari(gold, answers), "ami": ami(gold, answers)}


def sts_scores(gold: Sequence[float], answers: Sequence[float]) -> dict[str, float]:
    """`spearman`, `pearson` and `mse` (mean squared error, only of meaning on one scale) of ratings against gold.

    The correlations are 0 where either side is constant. Source: spec hume 4. Raises UsageError for unequal lengths,
    no items or values that are not finite.

    >>> round(sts_scores([0, 1, 2, 3, 4, 5, 2.5, 3.5], [0, 1, 1, 3, 5, 4, 2, 4])["spearman"], 6)
    0.951876
    """
    _check(len(gold), len(answers))
    error = np.asarray(gold, dtype=np.float64) - np.asarray(answers, dtype=np.float64)
    return {
        "spearman": _or_zero(float(spearman(gold, answers))),
        "pearson": _or_zero(float(pearson(gold, answers))),
        "mse": float((error**2).mean()),
    }


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _check(gold: int, answers: int) -> None:
    if gold != answers or not gold:
        raise UsageError(
            f"There are {gold} gold values and {answers} answers.",
            mend="Give one of each per item, and at least one.",
        )


ApMode = Literal["tie_aware", "display_order", "expected"]
AP_MODES: tuple[ApMode, ...] = ("tie_aware", "display_order", "expected")
CUTOFF = 10


def reranking_scores(
    gold: Sequence[Sequence[int]], answers: Sequence[Sequence[float]], *, human_ap_mode: ApMode = "tie_aware"
) -> dict[str, float]:
    """`map`, `mrr_at_10` and `ndcg_at_10`: means over queries, 0 to 1, of one annotator's marks (or any scores per
    document, as the mean marks of several annotators) against gold grades, documents in the order displayed.

    Source: spec hume 4. Raises UsageError as `marked_ap` does, or for no queries.

    >>> round(reranking_scores([[1, 1, 1, 0, 0, 0, 0]], [[1, 1, 0, 1, 0, 0, 0]])["ndcg_at_10"], 6)
    0.967468
    """
    if len(gold) != len(answers) or not len(gold):
        raise UsageError(
            f"There are {len(gold)} gold queries and {len(answers)} answers.",
            mend="Give one of each per query, and at least one.",
        )
    pairs = list(zip(gold, answers, strict=True))
    every = {
        "map": [marked_ap(*pair, human_ap_mode=human_ap_mode) for pair in pairs],
        "mrr_at_10": [_reciprocal_rank(*pair) for pair in pairs],
        "ndcg_at_10": [_ndcg(*pair) for pair in pairs],
    }
    return {name: math.fsum(values) / len(values) for name, values in every.items()}


def marked_ap(gold: Sequence[int], marks: Sequence[float], *, human_ap_mode: ApMode = "tie_aware") -> float:
    """Average precision of marks per document (n,) against grades above 0 for the relevant ones (n,), 0 to 1.

    Marked documents are one tie, the others another. `tie_aware` takes a tie as one step, with the precision at its
    end; `display_order` breaks it by the order displayed; `expected` is the mean over all orders within ties.
    Source: spec hume 4; for `expected` McSherry and Najork 2008.
    Raises UsageError for unequal lengths, no relevant document or another mode.

    >>> [round(marked_ap([1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0], human_ap_mode=mode), 4) for mode in AP_MODES]
    [0.75, 1.0, 0.8403]
    """
    _check_marks(gold, marks)
    if human_ap_mode not in AP_MODES:
        raise UsageError(f"human_ap_mode is {human_ap_mode!r}.", mend=f"Use one of {', '.join(AP_MODES)}.")
    blocks = [[1] * (grade > 0) + [0] * (grade <= 0) for grade in _ordered(gold, marks)]
    if human_ap_mode != "display_order":
        order = _order(marks)
        groups = groupby(order, key=lambda place: marks[place])
        blocks = [[int(gold[place] > 0) for place in group] for _, group in groups]
    terms, above, found = [], 0, 0
    for block in blocks:
        size, relevant = len(block), sum(block)
        if human_ap_mode == "expected":
            terms.extend(_expected(above, found, size, relevant))
        else:
            terms.append(relevant * (found + relevant) / (above + size))
        above, found = above + size, found + relevant
    return min(math.fsum(terms) / found, 1.0)


def _expected(above: int, found: int, size: int, relevant: int) -> list[float]:
    """What each place of a tie adds in the mean over its orders: how likely a relevant document is there, times the
    precision then to be expected."""
    share = (relevant - 1) / (size - 1) if size > 1 else 0.0
    return [
        relevant / size * (found + 1 + place * share) / (above + place + 1) if relevant else 0.0
        for place in range(size)
    ]


def _order(marks: Sequence[float]) -> list[int]:
    # Python's sort is stable: documents with equal marks stay in the order displayed.
    return sorted(range(len(marks)), key=lambda place: -marks[place])


def _ordered(gold: Sequence[int], marks: Sequence[float]) -> list[int]:
    return [gold[place] for place in _order(marks)]


def _reciprocal_rank(gold: Sequence[int], marks: Sequence[float]) -> float:
    ranks = (rank for rank, grade in enumerate(_ordered(gold, marks)[:CUTOFF], start=1) if grade > 0)
    return 1 / rank if (rank := next(ranks, 0)) else 0.0


def _ndcg(gold: Sequence[int], marks: Sequence[float]) -> float:
    gains = np.array([_ordered(gold, marks)], dtype=np.float64)
    return float(ndcg_arrays(gains, np.array([gold], dtype=np.float64), CUTOFF, gain="exponential")[0])


def _check_marks(gold: Sequence[int], marks: Sequence[float]) -> None:
    if len(gold) != len(marks):
        raise UsageError(
            f"A query has {len(gold)} gold grades and {len(marks)} marks.",
            mend="Give one of each per document.",
        )
    if not any(grade > 0 for grade in gold):
        raise UsageError("A query has no relevant document.", mend="Leave it out: it has no score.")
