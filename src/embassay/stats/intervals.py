"""Intervals in closed form: of a share and of a correlation; and the plain range of a few values."""

from __future__ import annotations

import math
from typing import Literal

from numpy.typing import ArrayLike

from embassay.errors import UsageError
from embassay.stats.estimate import Estimate, critical, sample

Error = Literal["fisher", "bonett-wright"]


def wilson(p: float, n: int, *, confidence: float = 0.95) -> Estimate:
    """Wilson's score interval of a share `p` (any value in 0 to 1) of `n` items.

    Without continuity correction. Stays within 0 to 1. HUME uses it also for a V-measure or MAP of n items,
    as if it were a share.
    Source: Wilson 1927; HUME table 8. Raises UsageError for p outside 0 to 1 or n below 1.

    >>> result = wilson(22 / 48, 48)
    >>> round(result.low, 6), round(result.high, 6)
    (0.325752, 0.597089)
    """
    if not 0 <= p <= 1 or n < 1:
        raise UsageError(f"A share of {p} of {n} items has no interval.", mend="Give 0 <= p <= 1 and n >= 1.")
    z = critical(confidence)
    scale = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / scale
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale
    return Estimate(float(p), max(0.0, centre - half), min(1.0, centre + half), n, f"{confidence:.0%} Wilson")


def fisher_z(r: float, n: int, *, confidence: float = 0.95, error: Error = "fisher") -> Estimate:
    """Fisher's interval of a correlation `r` of `n` pairs: tanh(atanh r +- z se), with se = 1 / sqrt(n - 3).

    With the `error` "bonett-wright" se = sqrt((1 + r^2 / 2) / (n - 3)), which is better for Spearman's correlation.
    Stays within -1 to 1, where both ends equal r. Source: Fisher 1921; HUME table 8 (there on Spearman's); Bonett
    and Wright 2000. Raises UsageError for r outside -1 to 1, n below 4 or another error.

    >>> result = fisher_z(0.826478, 40)
    >>> round(result.low, 6), round(result.high, 6)
    (0.693519, 0.904992)
    >>> round(fisher_z(0.826478, 40, error="bonett-wright").low, 6)
    0.666108
    """
    if not -1 <= r <= 1 or n < 4:
        raise UsageError(
            f"A correlation of {r} over {n} pairs has no interval.", mend="Give -1 <= r <= 1 and n >= 4."
        )
    if error not in ("fisher", "bonett-wright"):
        raise UsageError(f"The error is {error!r}.", mend="Use fisher or bonett-wright.")
    spread = 1.0 if error == "fisher" else 1 + r * r / 2
    half = critical(confidence) * math.sqrt(spread / (n - 3))
    centre = math.atanh(r) if abs(r) < 1 else math.copysign(math.inf, r)
    name = "Fisher z" if error == "fisher" else "Bonett-Wright"
    return Estimate(
        float(r), math.tanh(centre - half), math.tanh(centre + half), n, f"{confidence:.0%} {name}"
    )


def observed_range(values: ArrayLike, n: int, of: str = "values") -> Estimate:
    """From the least to the greatest of `values` (k,), with their mean; not a confidence interval.

    `n` is the number of items behind each value, `of` what they are of. HUME's interval of two annotators' scores.
    Source: HUME table 8. Raises UsageError for no values or values that are not finite.

    >>> observed_range([0.631687, 0.352622], 30, "annotators").method
    'range of 2 annotators'
    """
    found = sample(values, "values")
    return Estimate(
        float(found.mean()), float(found.min()), float(found.max()), n, f"range of {len(found)} {of}"
    )
