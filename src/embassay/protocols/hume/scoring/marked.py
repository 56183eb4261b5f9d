"""Documents that people marked as relevant, read as a ranking of few distinct scores: AP, RR@10 and nDCG@10."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Literal

import numpy as np

from embassay.errors import UsageError
from embassay.measures import ndcg_arrays

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
    _check(gold, marks)
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


def _check(gold: Sequence[int], marks: Sequence[float]) -> None:
    if len(gold) != len(marks):
        raise UsageError(
            f"A query has {len(gold)} gold grades and {len(marks)} marks.",
            mend="Give one of each per document.",
        )
    if not any(grade > 0 for grade in gold):
        raise UsageError("A query has no relevant document.", mend="Leave it out: it has no score.")
