"""Where differences between a system and people come from: items, annotators, or neither alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.hume.beyond.drawn import Floats
from embassay.stats import mixed_mean

_MOST_WITH_GAPS = 600
"""Values of a table with gaps; its quadratic forms take their square in memory."""


@dataclass(frozen=True)
class Components:
    """The mean of a table of annotators by items, and the variances between items, between annotators, and of what is
    left. A negative estimate is 0."""

    mean: float
    items: float
    annotators: float
    residual: float


def components(table: Floats) -> Components | None:
    """Variance components of a table (annotators, items), both drawn at random, NaN where one did not answer.

    From the mean squares of the two-way analysis of variance without replication (Searle, Casella and McCulloch 1992),
    with gaps by Henderson's method 3 (`mixed_mean`), and of more than 600 values over the items that all answered.
    None for one annotator, or where items and annotators cannot be told apart.

    >>> components(np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]))
    Components(mean=1.5, items=1.0, annotators=0.5, residual=0.0)
    """
    answered = ~np.isnan(table)
    if len(table) > 1 and not answered.all() and 1 < answered.sum() <= _MOST_WITH_GAPS:
        return _with_gaps(table, answered)
    whole = table[:, answered.all(axis=0)]
    return _balanced(whole) if min(whole.shape) > 1 else None


def _balanced(whole: Floats) -> Components:
    k, n = whole.shape
    mean = whole.mean()
    of_annotators, of_items = whole.mean(axis=1), whole.mean(axis=0)
    rest = whole - of_annotators[:, None] - of_items + mean
    residual = float((rest**2).sum() / ((k - 1) * (n - 1)))
    between_items, between_annotators = k * of_items.var(ddof=1), n * of_annotators.var(ddof=1)
    return Components(
        float(mean),
        max(0.0, float(between_items - residual) / k),
        max(0.0, float(between_annotators - residual) / n),
        residual,
    )


def _with_gaps(table: Floats, answered: NDArray[np.bool_]) -> Components | None:
    annotators, items = np.nonzero(answered)
    found = mixed_mean(table[answered], items.tolist(), annotators.tolist())
    spreads = found.sd_rows, found.sd_columns, found.sd_residual
    if any(math.isnan(one) for one in spreads):
        return None
    return Components(found.estimate, *(one**2 for one in spreads))
