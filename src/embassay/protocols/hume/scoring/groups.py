"""Groups that people made, and numbers that people gave, against gold."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from embassay.errors import UsageError
from embassay.measures import ami, ari, pearson, spearman, v_measure


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
