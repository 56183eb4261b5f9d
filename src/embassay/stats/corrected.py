"""The percentile interval of the bootstrap, mended for few items."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from embassay.stats.bootstrap import MOST_UNDEFINED, percentile_interval
from embassay.stats.estimate import check_confidence
from embassay.stats.freedom import NORMAL, Freedom
from embassay.stats.students import t_quantile

_LEAST = 1e-4
TIE = 1e-9
FEWEST = 8
"""Units from which percentiles of replicates hold what they promise (docs/how_sure.md)."""


def corrected_interval(
    replicates: ArrayLike, estimate: float, freedom: Freedom = NORMAL, confidence: float = 0.95
) -> tuple[float, float]:
    """Percentiles of the replicates (B,), moved by their bias and as far apart as Student's t says.

    The plain percentile interval is too narrow from few items, and to one side of the truth where the replicates are
    (an average precision rises when pairs are drawn twice). Its ends are taken at Phi(2 z0 -+ t x factor) instead of
    2.5% and 97.5%: z0 is the normal quantile of the share of replicates below the estimate, t and factor are of
    `freedom`. They never leave the range of the replicates. Below 8 units (7 degrees) they know too few values, and
    their range is no interval: then it is the estimate -+ t errors. Undefined replicates and errors as
    in `percentile_interval`.
    Source: Efron 1981 (bias correction), Hesterberg 2015 (widening).

    >>> from embassay.stats.freedom import freedom_of_units
    >>> draws = np.random.default_rng(0).normal(5, 1, 10_000)
    >>> [round(end, 1) for end in corrected_interval(draws, 5)]
    [3.1, 7.0]
    >>> [round(end, 1) for end in corrected_interval(draws, 5, freedom_of_units(5))]
    [1.9, 8.1]
    """
    from scipy.special import ndtr, ndtri

    check_confidence(confidence)
    values = np.asarray(replicates, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        return percentile_interval(values, confidence)
    defined = values[~np.isnan(values)]
    if len(defined) < (1 - MOST_UNDEFINED) * len(values):
        return float("nan"), float("nan")
    if freedom.df < FEWEST - 1:
        half = t_quantile((1 + confidence) / 2, freedom.df) * freedom.error(defined)
        return float(estimate - half), float(estimate + half)
    # Replicates that are the estimate but for the rounding of sums, which differs between processors, are ties.
    tie = TIE * max(1.0, abs(estimate))
    below = ((defined < estimate - tie).mean() + (defined <= estimate + tie).mean()) / 2
    bias = ndtri(np.clip(below, _LEAST, 1 - _LEAST))
    reach = freedom.factor * t_quantile((1 + confidence) / 2, freedom.df)
    low, high = np.quantile(defined, ndtr([2 * bias - reach, 2 * bias + reach]))
    return float(low), float(high)
