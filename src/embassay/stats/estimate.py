"""What every statistic returns, and what every statistic asks of its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError


@dataclass(frozen=True)
class Estimate:
    """A value, its interval, the number of items behind it, and in words how the interval was made.

    `low` and `high` are NaN where one item says nothing about the spread; `method` then says so.
    """

    estimate: float
    low: float
    high: float
    n: int
    method: str


@dataclass(frozen=True)
class Significance(Estimate):
    """An estimate with a two-sided test that it is 0: the test's statistic and its p-value."""

    statistic: float
    p: float


def sample(x: ArrayLike, name: str = "x", *, most_dimensions: int = 1) -> NDArray[np.float64]:
    """`x` as an array (n,), or (n, m) with two `most_dimensions`, of finite floats; UsageError otherwise."""
    values = np.asarray(x, dtype=np.float64)
    if not 1 <= values.ndim <= most_dimensions or not values.size:
        raise UsageError(
            f"{name} has the shape {values.shape}.", mend="Give one number per item, and at least one item."
        )
    bad = np.unique(np.nonzero(~np.isfinite(values))[0])
    if len(bad):
        raise UsageError(
            f"{name} is not finite for {len(bad)} of {len(values)} items, the first at position {bad[0]}.",
            mend="Leave undefined items out (on both sides of a comparison), and report how many.",
        )
    return values


def paired_differences(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """`a - b` item by item, (n,); UsageError where the two do not have the same items."""
    first, second = sample(a, "a"), sample(b, "b")
    if len(first) != len(second):
        raise UsageError(
            f"a has {len(first)} items and b has {len(second)}.",
            mend="Give both for the same items, in one order.",
        )
    return first - second


def critical(confidence: float) -> float:
    """Standard normal quantile of a two-sided interval: 1.96 for 0.95."""
    check_confidence(confidence)
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def check_confidence(confidence: float) -> None:
    """Raise UsageError unless 0 < confidence < 1."""
    if not 0 < confidence < 1:
        raise UsageError(
            f"The confidence is {confidence}.", mend="It must lie between 0 and 1, as 0.95 does."
        )
