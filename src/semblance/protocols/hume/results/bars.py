"""Values with intervals, as the record keeps them."""

from __future__ import annotations

import math

from semblance.protocols.hume.summary.record import Bar
from semblance.stats import Estimate


def bar_of(found: Estimate) -> Bar:
    """An estimate as a bar: NaN ends are no interval.

    >>> bar_of(Estimate(0.5, math.nan, math.nan, 3, "none: fewer than 4 items")).low is None
    True
    """
    return Bar(
        value=found.estimate, low=known(found.low), high=known(found.high), n=found.n, method=found.method
    )


def no_bar(reason: str, n: int = 0) -> Bar:
    """No value, and why."""
    return Bar(value=None, n=n, reason=reason)


def known(value: float | None) -> float | None:
    """NaN as None."""
    return None if value is None or math.isnan(value) else value
