"""Values with intervals, as the record keeps them."""

from __future__ import annotations

import math

from embassay.protocols.hume.beyond.resampling import Resampled
from embassay.protocols.hume.summary.record import Bar
from embassay.stats import Estimate


def as_bar(found: Estimate) -> Bar:
    """An estimate as a `Bar`: NaN becomes None. A value without an interval says why in `reason`.

    >>> from embassay.stats import wilson
    >>> as_bar(wilson(0.5, 10)).method
    '95% Wilson'
    """
    reason = found.reason if isinstance(found, Resampled) else ""
    value, low, high = (None if math.isnan(one) else one for one in (found.estimate, found.low, found.high))
    if value is None and not reason:
        reason = found.method or "the value is undefined"
    return Bar(value=value, low=low, high=high, n=found.n, method=found.method, reason=reason)


def no_bar(reason: str, n: int = 0) -> Bar:
    """No value, and why."""
    return Bar(value=None, n=n, reason=reason)


def known(value: float | None) -> float | None:
    """NaN as None."""
    return None if value is None or math.isnan(value) else value
