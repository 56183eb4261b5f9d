"""How stable an order is: agreement of two orders, and who stands above whom in how many replicates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.stats.bootstrap import DEFAULT_SEED, stream
from embassay.stats.estimate import check_confidence
from embassay.stats.freedom import NORMAL, Freedom

Floats = NDArray[np.float64]

# Relative to the largest estimate: what two orders of summation may differ by.
_ROUNDING = 1e-12


def kendall_tau(x: ArrayLike, y: ArrayLike) -> Floats:
    """Kendall's tau-b of `x` and `y` over their last axis, (..., n) -> (...), for few things in many orders.

    -1 (reversed) to 1 (same order); a pair that is equal in one of the two counts as in Kendall 1945. NaN where one
    side is all equal or n is below 2. Memory grows with n squared.
    Raises UsageError for shapes that differ or values that are not finite.

    >>> float(kendall_tau([1, 2, 3, 4], [1, 3, 2, 4]).round(4)), float(kendall_tau([1, 2, 2], [1, 2, 3]).round(4))
    (0.6667, 0.8165)
    """
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if left.shape != right.shape or not left.ndim:
        raise UsageError(
            f"Orders of shapes {left.shape} and {right.shape} cannot be compared.",
            mend="Give two of the same shape, one number per thing.",
        )
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise UsageError("A value to be ordered is not finite.", mend="Leave it out on both sides.")
    first, second = np.triu_indices(left.shape[-1], 1)
    signs = [np.sign(side[..., first] - side[..., second]) for side in (left, right)]
    sizes = np.sqrt((signs[0] ** 2).sum(axis=-1) * (signs[1] ** 2).sum(axis=-1))
    with np.errstate(invalid="ignore"):
        return np.asarray((signs[0] * signs[1]).sum(axis=-1) / sizes)


def win_probabilities(replicates: ArrayLike) -> Floats:
    """Share of the replicates (systems, B) in which a system is above another, equal ones counting half:
    (systems, systems), row above column; 0.5 on the diagonal.

    Replicate b of all systems must come from one resample. Raises UsageError for another shape, no replicates, or
    values that are not finite.

    >>> win_probabilities([[0.7, 0.6, 0.7], [0.5, 0.6, 0.8]]).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    draws = _checked(replicates)
    signs = [np.sign(row - draws).mean(axis=1) for row in draws]
    return (1 + np.stack(signs)) / 2


def best_shares(
    replicates: ArrayLike,
    estimates: ArrayLike,
    freedom: Freedom = NORMAL,
    *,
    seed: int = DEFAULT_SEED,
    rng: np.random.Generator | None = None,
) -> Floats:
    """How likely each system is the best, (systems,), from replicates (systems, B) about its estimate: the share in
    which it is above all, shared out where several are. The shares sum to 1.

    Few units leave the size of the errors unknown: each replicate's deviations are stretched by the factor of `freedom`
    and by the root of df over a chi-squared draw, which makes them Student's t. Errors as for `win_probabilities`.

    >>> best_shares([[0.7, 0.6, 0.7, 0.6], [0.5, 0.5, 0.5, 0.5]], [0.65, 0.5]).tolist()
    [1.0, 0.0]
    """
    draws, values = _checked(replicates), np.asarray(estimates, dtype=np.float64)
    scale = np.full(draws.shape[1], freedom.factor)
    if np.isfinite(freedom.df):
        scale *= np.sqrt(freedom.df / stream(seed, rng).chisquare(freedom.df, draws.shape[1]))
    moved = values[:, None] + scale * (draws - draws.mean(axis=1, keepdims=True))
    top = moved >= moved.max(axis=0) - _ROUNDING * np.abs(values).max()
    return np.asarray((top / top.sum(axis=0)).mean(axis=1))


def rank_quantiles(
    replicates: ArrayLike, *, confidence: float = 0.95
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lowest and highest rank (1 = best) of each system among the middle `confidence` of the replicates
    (systems, B): two arrays (systems,).

    Equal systems share the better rank in the lower end and the worse in the higher end, so that a tie widens the
    interval. Errors as for `win_probabilities`.

    >>> low, high = rank_quantiles([[0.7, 0.6, 0.7], [0.5, 0.6, 0.5], [0.1, 0.2, 0.1]])
    >>> low.tolist(), high.tolist()
    ([1, 1, 3], [2, 2, 3])
    """
    check_confidence(confidence)
    draws = _checked(replicates)
    tail = (1 - confidence) / 2
    best = np.stack([1 + (draws > row).sum(axis=0) for row in draws])
    worst = np.stack([(draws >= row).sum(axis=0) for row in draws])
    low = np.quantile(best, tail, axis=1, method="inverted_cdf")
    high = np.quantile(worst, 1 - tail, axis=1, method="higher")
    return low.astype(np.int64), high.astype(np.int64)


def _checked(replicates: ArrayLike) -> Floats:
    draws = np.asarray(replicates, dtype=np.float64)
    if draws.ndim != 2 or not draws.size or not np.isfinite(draws).all():
        raise UsageError(
            f"Replicates of shape {draws.shape} are not finite numbers for every system.",
            mend="Give (systems, resamples), and leave out resamples in which a system is undefined.",
        )
    return draws
