"""Worlds of paraphrases in which it is known which are valid: unkind ones, for intervals to hold in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
from scipy.stats import norm

from embassay.protocols.pteb.drops import Score
from embassay.protocols.pteb.validity.change import (
    OriginalAndParaphrasedValues,
    ValidityShareByUnit,
    estimate_valid_change,
)

WORLDS: Mapping[str, Score] = {
    "right or wrong": "mean",
    "graded": "mean",
    "correlation": "spearman",
    "pairs": "average precision",
}
"""World -> how its score is made."""
Floats = np.ndarray


@cache
def true_change(world: str, share: float) -> float:
    """The change over valid paraphrases of very many items."""
    made, valid = draw_world(np.random.default_rng(1), world, 100_000, 1, share)
    kept = np.flatnonzero(valid)
    golds = None if made.gold is None else made.gold[kept]
    # The change over all of the valid ones is that over all of a world that has no others.
    alone = OriginalAndParaphrasedValues(np.arange(len(kept)), made.original[kept], made.paraphrased[kept], golds)
    return estimate_valid_change(WORLDS[world], alone, ValidityShareByUnit(np.array([], dtype=int), np.array([]))).all


def draw_world(
    rng: np.random.Generator, world: str, items: int, runs: int, share: float
) -> tuple[OriginalAndParaphrasedValues, Floats]:
    """Items in several runs and which of these units are valid. A `share` is not: more of the hard items, and the runs
    of an item alike. What is not valid loses far more."""
    hard, n = rng.normal(size=items), items * runs
    item = np.repeat(np.arange(items), runs)
    luck = 0.7 * rng.normal(size=n) + 0.7 * np.repeat(rng.normal(size=items), runs)
    spread = (0.98 + 0.49) ** 0.5
    valid = (luck + 0.7 * hard[item] < spread * norm.ppf(1 - share)).astype(np.float64)
    if world == "right or wrong":
        before = (rng.random(items) < 1 / (1 + np.exp(hard - 1.2))).astype(np.float64)[item]
        after = np.where(rng.random(n) < np.where(valid > 0, 0.1, 0.7), 0.0, before)
        gained = (before == 0) & (rng.random(n) < 0.05)
        return OriginalAndParaphrasedValues(item, before, np.where(gained, 1.0, after)), valid
    if world == "graded":
        before = np.clip(0.6 - 0.15 * hard + 0.2 * rng.normal(size=items), 0, 1)[item]
        lost = 0.03 + np.where(valid > 0, 0.0, 0.35)
        return OriginalAndParaphrasedValues(
            item, before, np.clip(before - lost + 0.15 * rng.normal(size=n), 0, 1)
        ), valid
    gold = rng.normal(size=items)
    before = (0.8 * gold + 0.5 * rng.normal(size=items) - 0.2 * hard)[item]
    after = before + 0.25 * rng.normal(size=n)
    after = np.where(valid > 0, after, 0.1 * after - 0.8 + 0.5 * rng.normal(size=n))
    known = (gold * 2).round() / 2 if world == "correlation" else (gold > 0.3).astype(np.float64)
    return OriginalAndParaphrasedValues(item, before, after, known[item]), valid
