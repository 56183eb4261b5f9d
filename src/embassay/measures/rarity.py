"""What a document of each grade is worth to a query: the rarer the good ones, the less the next best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Weighting:
    """How grades become weights: w5 = 1, and w_g = min((b_g / b5) (n5 / n_g)^alpha, cap_g) for the others.

    `alpha` is how much rarity counts (0: not at all). `cap4` bounds the weight of grade 4 and `cap3` that of grade 3
    and below. `b4` to `b1` are base utilities, that of grade 5 being 1. Where a query has no document of grade 5 the
    weights are 1 for grade 4, `fallback_w3` for grade 3 and b_g / b4 below, without caps. `enforce_monotone` keeps a
    grade from weighing more than the one above it, which the formula allows.
    Source: Dallaire 2025, arXiv 2511.09545; the fallback and the caps as in its reference pipeline.
    """

    alpha: float = 1.0
    cap4: float = 1.0
    cap3: float = 0.25
    fallback_w3: float = 0.2
    enforce_monotone: bool = False
    b4: float = 0.5
    b3: float = 0.1
    b2: float = 0.0
    b1: float = 0.0

    def __post_init__(self) -> None:
        for name in ("alpha", "cap4", "cap3", "fallback_w3", "b4", "b3", "b2", "b1"):
            value = getattr(self, name)
            if not 0 <= value < np.inf:
                raise UsageError(f"{name} is {value}.", mend="It must be a number of 0 or more.")


DEFAULT = Weighting()
_LARGEST = np.finfo(np.float64).max  # not infinite: a grade of no use stays at 0


def weights(counts: ArrayLike, weighting: Weighting = DEFAULT) -> Floats:
    """The weight of a document of grade 1, 2, 3, 4, 5, of counts (..., 5) of these grades in the graded pool: (..., 5).

    0 for a grade that the pool does not have, but where it has no grade 5 (`Weighting`).

    >>> weights([20, 14, 10, 4, 2]).round(6).tolist()
    [0.0, 0.0, 0.02, 0.25, 1.0]
    >>> weights([10, 9, 8, 3, 0]).tolist()
    [0.0, 0.0, 0.2, 1.0, 1.0]
    """
    n = np.asarray(counts, dtype=np.float64)
    base = np.array([weighting.b1, weighting.b2, weighting.b3, weighting.b4])
    caps = np.array([weighting.cap3, weighting.cap3, weighting.cap3, weighting.cap4])
    there = n[..., :4] > 0
    # The size of the pool cancels: (b_g / p_g^alpha) / (b5 / p5^alpha) = b_g (n5 / n_g)^alpha.
    with np.errstate(over="ignore"):
        rarity = (n[..., 4:] / np.where(there, n[..., :4], 1.0)) ** weighting.alpha
    rarity = np.minimum(rarity, _LARGEST)
    below = np.where(there, np.minimum(base * rarity, caps), 0.0)
    below = np.where(n[..., 4:] > 0, below, _fallback(weighting))
    if weighting.enforce_monotone:
        # A grade that the pool does not have bounds nothing.
        bounds = np.where(there, below, np.inf)[..., ::-1]
        below = np.minimum(below, np.minimum.accumulate(bounds, axis=-1)[..., ::-1])
    return np.concatenate([below, np.ones_like(n[..., 4:])], axis=-1)


def is_fallback(counts: Ints) -> NDArray[np.bool_]:
    """Where the weights are those of a pool without grade 5: (..., 5) -> (...)."""
    return np.asarray(counts[..., 4] == 0)


def is_inverted(counts: Ints, weighting: Weighting = DEFAULT) -> NDArray[np.bool_]:
    """Where a document of a lower grade weighs more than one of a higher grade that the pool also has."""
    worth = np.where(np.asarray(counts) > 0, weights(counts, weighting), np.nan)
    highest_below = np.fmax.accumulate(worth, axis=-1)[..., :-1]
    return np.asarray((highest_below > worth[..., 1:] + 1e-9).any(axis=-1))


def best_sum(weight: Floats, counts: Ints, k: int) -> Floats:
    """The sum of the `k` largest weights, of weights (q, 5) and how many documents have them (q, 5): (q,).

    By weight, not by grade: a rare grade 3 may weigh more than a common grade 4.
    """
    order = np.argsort(-weight, axis=1, kind="stable")
    worth, there = np.take_along_axis(weight, order, axis=1), np.take_along_axis(counts, order, axis=1)
    before = np.cumsum(there, axis=1) - there
    return np.asarray((np.clip(k - before, 0, there) * worth).sum(axis=1))


def _fallback(weighting: Weighting) -> Floats:
    to_four = 1 / weighting.b4 if weighting.b4 else 0.0
    return np.array([weighting.b1 * to_four, weighting.b2 * to_four, weighting.fallback_w3, 1.0])
