"""Every measure of every run as one value with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from embassay.protocols.rag.scoring.measured import Asked
from embassay.protocols.rag.scoring.record import Value
from embassay.protocols.rag.scoring.resampled import Quantity, Resampled
from embassay.stats import percentile_interval

CONFIDENCE = 0.95


def values(
    resampled: Resampled, runs: Iterable[str], measures: Sequence[Asked], *, total: int, resamples: int
) -> tuple[Value, ...]:
    """The values of each run, measures in their order."""
    return tuple(
        _value(run, one, resampled.quantity(one.name, run), total, resamples)
        for run in runs
        for one in measures
    )


def interval(quantity: Quantity) -> tuple[float, float] | None:
    """The 95% interval of a quantity, None from fewer than two queries or where it is undefined in many resamples."""
    if quantity.n < 2 or not np.isfinite(quantity.value):
        return None
    low, high = percentile_interval(quantity.replicates, CONFIDENCE)
    return None if np.isnan(low) else (low, high)


def _value(run: str, asked: Asked, quantity: Quantity, total: int, resamples: int) -> Value:
    if not np.isfinite(quantity.value):
        reason = f"{asked.undefined} (all {total} queries)" if not quantity.n else "the ceiling is 0"
        return Value(run, asked.name, None, None, None, quantity.n, total, reason=reason)
    ends = interval(quantity)
    what = "ratio of means" if asked.is_ratio else "mean"
    method = f"{what} over {quantity.n} of {total} queries"
    if ends is None:
        return Value(run, asked.name, quantity.value, None, None, quantity.n, total, f"{method}, no interval")
    method += f"; 95% percentile bootstrap over queries, {resamples} resamples"
    return Value(run, asked.name, quantity.value, *ends, quantity.n, total, method)
