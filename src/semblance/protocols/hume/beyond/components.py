"""Where differences between a system and people come from: items, annotators, or neither alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semblance.protocols.hume.beyond.drawn import Floats


@dataclass(frozen=True)
class Components:
    """The mean of a table of annotators by items, and the variances between items, between annotators, and of what is
    left. A negative estimate is 0."""

    mean: float
    items: float
    annotators: float
    residual: float


def components(table: Floats) -> Components | None:
    """Variance components of a table (annotators, items), both drawn at random, over the items without NaN.

    From the mean squares of the two-way analysis of variance without replication (Searle, Casella and McCulloch 1992).
    None for one annotator or fewer than two complete items.

    >>> components(np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]))
    Components(mean=1.5, items=1.0, annotators=0.5, residual=0.0)
    """
    whole = table[:, ~np.isnan(table).any(axis=0)]
    k, n = whole.shape
    if k < 2 or n < 2:
        return None
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
