"""Whether two series of scores over the same pairs rise together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Correlation:
    """Spearman's correlation over `n` pairs, -1 to 1, with the two-sided p of the t approximation; both None where
    either series is constant or there are fewer than three pairs."""

    rho: float | None
    p: float | None
    n: int


def correlated(
    x: Sequence[float] | NDArray[np.float64], y: Sequence[float] | NDArray[np.float64]
) -> Correlation:
    """Spearman's correlation of two series of equal length, ties sharing the mean of their ranks.

    >>> correlated([1, 2, 3, 4], [2, 4, 6, 9]).rho
    1.0
    """
    from scipy.stats import spearmanr

    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Correlation(None, None, len(x))
    found = spearmanr(x, y)
    return Correlation(float(found.statistic), float(found.pvalue), len(x))
