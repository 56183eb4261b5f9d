"""Is a new answer further away than repeats of the old one were? Tests that no shape of noise misleads.

Each of n items was answered once as a reference and then asked again R times; a repeat's value is its distance from the
reference. While nothing changes, a new answer's distance and those R are exchangeable, so it is the largest of all with
a chance of at most 1 / (R + 1), whatever the noise is. That chance is over the record too; given one record it is
beta(1, R) of each item, and the number of a window's looks at which an item exceeds its repeats is beta-binomial.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from embassay.stats.intervals import t_tail

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FAR = 4.0
"""An outlier is also so many times as far as the furthest of all repeats: a tail of the noise is not taken for it."""


def are_distances_above_repeats(new: Floats, repeats: Floats, floor: float) -> Bools:
    """Whether each new distance (n,) is above all of the item's repeats (n, R), and above `floor`, under which
    distances are rounding. A tie is none."""
    return np.asarray((new > repeats.max(axis=1, initial=0.0)) & (new > floor))


def compute_p_of_total_noise_exceedances(total: int, items: int, repeats: int, looks: int) -> float:
    """The chance that `items` exceed their `repeats` at `looks` looks together `total` times or more, while nothing
    changes: exact for continuous noise that is independent between items, an upper bound where values tie. In (0, 1].

    >>> round(compute_p_of_total_noise_exceedances(2, 2, 1, 1), 3), round(compute_p_of_total_noise_exceedances(
    ...     1, 1, 5, 1), 4)
    (0.25, 0.1667)
    """
    if total <= 0 or not items:
        return 1.0
    return float(_compute_exceedance_total_chances(items, repeats, looks)[total])


@lru_cache(maxsize=512)
def _compute_exceedance_total_chances(items: int, repeats: int, looks: int) -> Floats:
    """The chance of each total or more, from 0 to `items` x `looks`."""
    from scipy.stats import betabinom

    chance = betabinom.pmf(np.arange(looks + 1), looks, 1, repeats)
    size = items * looks + 1
    whole = np.fft.irfft(np.fft.rfft(chance, 2 * size) ** items, 2 * size)[:size]
    tails = np.cumsum(whole[::-1])[::-1]
    # Below this, the transform's own rounding is all there is.
    return np.clip(tails, size * np.finfo(float).eps, 1.0)


def find_outliers_and_smallest_p(new: Floats, repeats: Floats, floor: float) -> tuple[Bools, float]:
    """Which new distances (n,) lie beyond the noise altogether, and the smallest p of any, by Bonferroni over items.

    Student's t on logarithms with a spread common to all items, each with its own mean of `repeats` (n, R): the means
    are known from R values only, and so is the spread. An outlier is also FAR times as far as any repeat of any item.
    Valid for noise whose logarithm has no heavier tail than a normal one.
    """
    n, again = repeats.shape
    freedom = n * (again - 1)
    if not n or freedom < 1:
        return np.zeros(n, dtype=bool), 1.0
    logs = np.log(np.maximum(repeats, floor))
    means = logs.mean(axis=1)
    spread = np.sqrt(((logs - means[:, None]) ** 2).sum() / freedom)
    above = np.log(np.maximum(new, floor)) - means
    # Noise that never varied is taken to vary by a tenth: rounding alone does that.
    z = above / (max(float(spread), 0.1) * np.sqrt(1 + 1 / again))
    is_far = new > FAR * max(float(repeats.max(initial=0.0)), floor)
    p = np.array([t_tail(float(value), freedom) if far else 1.0 for value, far in zip(z, is_far, strict=True)])
    outlying = p * n < 1
    return outlying, float(min(1.0, n * p.min()))
