"""Correcting p-values for how many tests were made."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from embassay.errors import UsageError


def holm(p: ArrayLike) -> list[float]:
    """Holm's adjusted p-values of one family of tests, in the order given.

    The k-th smallest of m is multiplied by m - k + 1; none falls below one before it, none exceeds 1. Equal
    p-values get equal results. No tests give an empty list. Source: Holm 1979; PTEB tables 7 and 14.
    Raises UsageError for values outside 0 to 1.

    >>> holm([0.01, 0.04, 0.03, 0.005])
    [0.03, 0.06, 0.06, 0.02]
    """
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise UsageError(f"The p-values are {values.tolist()}.", mend="Give one number from 0 to 1 per test.")
    order = np.argsort(values, kind="stable")
    factors = len(values) - np.arange(len(values))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return [float(value) for value in adjusted]
