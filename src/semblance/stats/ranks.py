"""Which systems can be told apart, and so which ranks each of them may hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semblance.errors import UsageError
from semblance.stats.bootstrap import DEFAULT_SEED, resample_means, stream
from semblance.stats.estimate import Estimate, critical
from semblance.stats.multiple import holm

Scores = Mapping[str, ArrayLike] | Sequence[ArrayLike] | NDArray[np.float64]

# Relative to the largest estimate: what two orders of summation may differ by.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PairTest:
    """The difference of system `a` to system `b` (positions), and a two-sided z test that it is 0.

    `error` is its bootstrap standard error and `low` to `high` the difference within z errors; `p_adjusted`
    is corrected by Holm over all pairs of the comparison.
    """

    a: int
    b: int
    difference: float
    low: float
    high: float
    error: float
    statistic: float
    p: float
    p_adjusted: float


def compare_replicates(
    replicates: ArrayLike, estimates: ArrayLike, *, confidence: float = 0.95
) -> tuple[PairTest, ...]:
    """Test every pair of systems from their bootstrap replicates (systems, B) and estimates (systems,).

    Replicate j of all systems must come from one resample of the same items; the standard error of a
    difference is the standard deviation of its replicates. Pairs are ordered (0, 1), (0, 2) ... Where it is
    0, the difference is certain and p is 0; a difference in the last bits of a float is none, and p is 1.
    Fewer than two systems give no pairs.
    Raises UsageError for shapes that do not fit, fewer than two resamples, or values that are not finite.

    >>> rng = np.random.default_rng(0)
    >>> [pair] = compare_replicates(rng.normal([[0.7], [0.5]], 0.02, size=(2, 500)), [0.7, 0.5])
    >>> round(pair.difference, 3), pair.p_adjusted < 0.001
    (0.2, True)
    """
    draws, values = _checked(replicates, estimates)
    z = critical(confidence)
    pairs = list(combinations(range(len(values)), 2))
    differences = [float(values[a] - values[b]) for a, b in pairs]
    errors = [float(np.std(draws[a] - draws[b], ddof=1)) for a, b in pairs]
    scale = float(np.abs(values).max(initial=0))
    tests = [z_test(*pair, scale) for pair in zip(differences, errors, strict=True)]
    scores, probabilities = [score for score, _ in tests], [p for _, p in tests]
    rows = zip(pairs, differences, errors, scores, probabilities, holm(probabilities), strict=True)
    return tuple(
        PairTest(a, b, difference, difference - z * error, difference + z * error, error, score, p, adjusted)
        for (a, b), difference, error, score, p, adjusted in rows
    )


def z_test(difference: float, error: float, scale: float) -> tuple[float, float]:
    """The statistic of a difference with this standard error, and its two-sided p. Where the error is 0 the difference
    is certain; one in the last bits of values as large as `scale` is none.

    >>> z_test(0.1, 0.05, 1.0)[1].__round__(4), z_test(1e-17, 0.0, 1.0), z_test(0.1, 0.0, 1.0)
    (0.0455, (0.0, 1.0), (inf, 0.0))
    """
    score = _standardised(difference, error, _ROUNDING * scale)
    return score, math.erfc(abs(score) / math.sqrt(2))


def rank_ranges(
    replicates: ArrayLike, estimates: ArrayLike, *, alpha: float = 0.05
) -> tuple[tuple[int, int], ...]:
    """The best and the worst rank each system may hold, 1 = best; arguments as for `compare_replicates`.

    From 1 + the number of systems that beat it to their number less those that it beats; one beats another
    when its estimate is higher (higher is better) and their adjusted p is below `alpha`. With equal systems,
    the chance that any range excludes a rank it should not is at most about `alpha`.

    >>> rng = np.random.default_rng(0)
    >>> rank_ranges(rng.normal([[0.7], [0.5], [0.51]], 0.02, size=(3, 500)), [0.7, 0.5, 0.51])
    ((1, 1), (2, 3), (2, 3))
    """
    systems = len(np.atleast_1d(np.asarray(estimates)))
    beaten_by, beats = [0] * systems, [0] * systems
    for pair in compare_replicates(replicates, estimates):
        if pair.p_adjusted < alpha:
            winner, loser = (pair.a, pair.b) if pair.difference > 0 else (pair.b, pair.a)
            beats[winner] += 1
            beaten_by[loser] += 1
    return tuple((1 + above, systems - below) for above, below in zip(beaten_by, beats, strict=True))


def rank_intervals(
    scores: Scores,
    *,
    alpha: float = 0.05,
    n_resamples: int = 2000,
    seed: int = DEFAULT_SEED,
    rng: np.random.Generator | None = None,
) -> tuple[Estimate, ...]:
    """The rank of each system by its mean over the items of `scores` (systems, n), and the ranks it may hold.

    `scores` may map names to values (n,); results are in its order. Rank 1 is the highest mean, and equal
    means share the better rank. Items are resampled for all systems together; the interval is that of
    `rank_ranges`.
    Raises UsageError for unequal lengths, fewer than two items, or values that are not finite.

    >>> scores = {"good": [0.9, 0.8, 0.9, 0.8], "bad": [0.1, 0.3, 0.1, 0.2], "poor": [0.2, 0.1, 0.2, 0.3]}
    >>> [(rank.estimate, rank.low, rank.high) for rank in rank_intervals(scores)]
    [(1.0, 1.0, 1.0), (3.0, 2.0, 3.0), (2.0, 2.0, 3.0)]
    """
    table = _table(scores)
    replicates = resample_means(table.T, n_resamples=n_resamples, rng=stream(seed, rng)).T
    means = table.mean(axis=1)
    ranges = rank_ranges(replicates, means, alpha=alpha)
    method = f"paired bootstrap z tests, {n_resamples} resamples, Holm, alpha {alpha:g}"
    return tuple(
        Estimate(float(1 + (means > mean).sum()), float(best), float(worst), table.shape[1], method)
        for mean, (best, worst) in zip(means, ranges, strict=True)
    )


def _standardised(difference: float, error: float, rounding: float) -> float:
    if abs(difference) <= rounding:
        return 0.0
    return difference / error if error > rounding else math.copysign(math.inf, difference)


def _checked(replicates: ArrayLike, estimates: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    draws, values = np.asarray(replicates, dtype=np.float64), np.asarray(estimates, dtype=np.float64)
    if values.ndim != 1 or draws.ndim != 2 or len(draws) != len(values) or draws.shape[1] < 2:
        raise UsageError(
            f"Replicates of shape {draws.shape} do not go with estimates of shape {values.shape}.",
            mend="Give (systems, resamples), two resamples at least, and (systems,).",
        )
    if not (np.isfinite(draws).all() and np.isfinite(values).all()):
        raise UsageError(
            "An estimate or replicate is not finite.", mend="Leave systems without a value out, and say so."
        )
    return draws, values


def _table(scores: Scores) -> NDArray[np.float64]:
    rows = scores.values() if isinstance(scores, Mapping) else scores
    table = [np.asarray(row, dtype=np.float64) for row in rows]
    shapes = {row.shape for row in table}
    if len(shapes) != 1 or table[0].ndim != 1 or len(table[0]) < 2:
        raise UsageError(
            f"The scores have the shapes {[row.shape for row in table]}.",
            mend="Give every system one number per item, for the same two items or more.",
        )
    return np.stack(table)
