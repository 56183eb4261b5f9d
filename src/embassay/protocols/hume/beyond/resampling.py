"""Bootstrap intervals over items of statistics that take a resample as counts of items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.stats.intervals import Estimate, check_confidence, t_quantile
from embassay.stats.resampling import DEFAULT_SEED, resampled_rows, row_counts, stream

Floats = NDArray[np.float64]
Drawn = Callable[[Floats], Floats]
"""Counts of items (b, n) -> values (b,), or (b, m) for m statistics of the same items."""
Kind = Literal["percentile", "expanded", "bca"]
Range = tuple[float, float]
SHARE, CORRELATION, DISTANCE = (0.0, 1.0), (-1.0, 1.0), (0.0, float("inf"))
"""The least and greatest value of accuracies and MAPs, of correlations and kappas, and of distances."""
_DRAWS = 1 << 16
_MOST_UNDEFINED = 0.05
_ROUNDING = 1e-12
ALIKE = "the same in every resample: these items do not show how it varies"
"""Perfect agreement on 20 items is common at a true kappa of 0.9: an interval without width would be wrong."""
_LEAST = 3


@dataclass(frozen=True)
class Draws:
    """How resamples are drawn and read: so many, for an interval that holds so often, from the stream of a seed.

    Without a `kind` every statistic has the one that held best in simulation: `bca`, for differences `expanded`.
    """

    n_resamples: int = 2000
    confidence: float = 0.95
    seed: int = DEFAULT_SEED
    kind: Kind | None = None


DRAWS = Draws()


@dataclass(frozen=True)
class Resampled(Estimate):
    """An estimate with its bootstrap interval and the two-sided `p` that it is 0, NaN where there is none. In
    `undefined` of `resamples` resamples the statistic has no value; over 5% of them there is no interval, nor is there
    one where all resamples give the same: `reason` says so."""

    p: float
    undefined: int
    resamples: int
    reason: str = ""


def resampled(
    statistic: Drawn, n: int, draws: Draws = DRAWS, *, within: Sequence[Range] = (CORRELATION,)
) -> tuple[Resampled, ...]:
    """The value of each statistic over all `n` items, with its interval over resamples of items.

    All statistics see the same resamples. The kind is how an interval is read off the replicates: `percentile`;
    `expanded`, the same after they were moved away from the estimate by what a t has over a normal, as few items
    spread too little; or `bca`, which also mends bias and skew (Efron 1987) by leaving out one item at a time.
    `within` are the least and greatest values of each statistic, or of all: an interval that was widened ends there.
    Source: Efron and Tibshirani 1993, chapter 14; Hesterberg 2015 for `expanded`. Raises UsageError for no items.
    """
    check_confidence(draws.confidence)
    draws = replace(draws, kind=draws.kind or "bca")
    if n < 1:
        raise UsageError("There is no item to resample.", mend="Give the answers to one item at least.")
    estimates = _columns(statistic(np.ones((1, n))))[0]
    if n < _LEAST:
        return tuple(no_interval(value, n, f"fewer than {_LEAST} items") for value in estimates.tolist())
    replicates = np.concatenate(
        [
            _columns(statistic(row_counts(rows).astype(np.float64)))
            for rows in resampled_rows(n, draws.n_resamples, stream(draws.seed, None), most=_DRAWS // n)
        ]
    )
    left_out = _each_left_out(statistic, n) if draws.kind == "bca" else np.empty((0, len(estimates)))
    ranges = within if len(within) > 1 else tuple(within) * len(estimates)
    found = (
        _interval(float(estimate), replicates[:, i], left_out[:, i], n, draws)
        for i, estimate in enumerate(estimates)
    )
    return tuple(
        replace(one, low=float(np.clip(one.low, *ends)), high=float(np.clip(one.high, *ends)))
        for one, ends in zip(found, ranges, strict=True)
    )


def no_interval(value: float, n: int, reason: str, undefined: int = 0, resamples: int = 0) -> Resampled:
    """A value without an interval, and why."""
    nan = float("nan")
    return Resampled(value, nan, nan, n, "", nan, undefined, resamples, reason)


def _each_left_out(statistic: Drawn, n: int) -> Floats:
    step = max(1, _DRAWS // n)
    blocks = [np.arange(start, min(start + step, n)) for start in range(0, n, step)]
    return np.concatenate([_columns(statistic(_all_but(block, n))) for block in blocks])


def _all_but(items: NDArray[np.int64], n: int) -> Floats:
    counts = np.ones((len(items), n))
    counts[np.arange(len(items)), items] = 0
    return counts


def _columns(values: Floats) -> Floats:
    return values.reshape(len(values), -1)


def _interval(estimate: float, replicates: Floats, left_out: Floats, n: int, draws: Draws) -> Resampled:
    confidence, kind = draws.confidence, draws.kind
    every, found = len(replicates), replicates[~np.isnan(replicates)]
    undefined = every - len(found)
    if np.isnan(estimate):
        return no_interval(estimate, n, "the value is undefined", undefined, every)
    if undefined > _MOST_UNDEFINED * every:
        return no_interval(estimate, n, f"undefined in {undefined} of {every} resamples", undefined, every)
    if np.ptp(found) <= _ROUNDING * max(abs(estimate), 1.0):
        return no_interval(estimate, n, ALIKE, undefined, every)
    if kind != "percentile":
        found = estimate + (found - estimate) * _expansion(n, confidence)
    shift, skew = _bias_and_skew(estimate, found, left_out) if kind == "bca" else (0.0, 0.0)
    ends = [_moved(_z(q), shift, skew) for q in ((1 - confidence) / 2, (1 + confidence) / 2)]
    low, high = np.quantile(found, ends)
    method = f"{confidence:.0%} {kind} bootstrap of items, {every} resamples"
    if undefined:
        method += f", {undefined} of them without a value"
    return Resampled(estimate, float(low), float(high), n, method, _p(found, shift, skew), undefined, every)


def _expansion(n: int, confidence: float) -> float:
    """How much wider than the percentile bootstrap's a t interval of a mean of n items is."""
    level = 0.5 + confidence / 2
    return float(np.sqrt(n / (n - 1)) * t_quantile(level, n - 1)) / _z(level)


def _bias_and_skew(estimate: float, replicates: Floats, left_out: Floats) -> tuple[float, float]:
    """The normal quantile of the share of replicates below the estimate, and the acceleration by the jackknife."""
    tie = _ROUNDING * max(abs(estimate), 1.0)
    below = ((replicates < estimate - tie).mean() + (replicates <= estimate + tie).mean()) / 2
    moved = left_out[~np.isnan(left_out)]
    moved = moved.mean() - moved
    square = float((moved**2).sum())
    skew = float((moved**3).sum() / (6 * square**1.5)) if square > 0 else 0.0
    return _z(_inside(float(below), len(replicates))), skew


def _moved(z: float, shift: float, skew: float) -> float:
    """The quantile of the replicates at which the BCa interval of normal quantile `z` ends."""
    moved = shift + z
    scale = 1 - skew * moved
    return NormalDist().cdf(shift + moved / scale) if scale > 0 else (1.0 if moved > 0 else 0.0)


def _p(replicates: Floats, shift: float, skew: float) -> float:
    """Twice the level at which an end of the interval is 0; one is added to both counts, so that it is never 0."""
    n = len(replicates)
    above = min((int((replicates >= -_ROUNDING).sum()) + 1) / (n + 1), 1.0)
    below = min((int((replicates <= _ROUNDING).sum()) + 1) / (n + 1), 1.0)
    at, sign = (below, 1) if below < above else (above, -1)
    if at >= 1:
        return 1.0
    w = sign * _z(at) - shift
    level = w / (1 + skew * w) - shift if 1 + skew * w > 0 else w - shift
    return min(1.0, 2 * NormalDist().cdf(sign * level))


def _inside(share: float, n: int) -> float:
    return min(max(share, 0.5 / n), 1 - 0.5 / n)


def _z(q: float) -> float:
    return NormalDist().inv_cdf(q)
