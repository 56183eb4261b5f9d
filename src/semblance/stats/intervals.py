"""Intervals in closed form: of a share and of a correlation."""

from __future__ import annotations

import math

from semblance.errors import UsageError
from semblance.stats.estimate import Estimate, critical


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


def fisher_z(r: float, n: int, *, confidence: float = 0.95) -> Estimate:
    """Fisher's interval of a correlation `r` of `n` pairs: tanh(atanh r +- z / sqrt(n - 3)).

    Stays within -1 to 1, where both ends equal r. Source: Fisher 1921; HUME table 8 (there on Spearman's).
    Raises UsageError for r outside -1 to 1 or n below 4.

    >>> result = fisher_z(0.826478, 40)
    >>> round(result.low, 6), round(result.high, 6)
    (0.693519, 0.904992)
    """
    if not -1 <= r <= 1 or n < 4:
        raise UsageError(
            f"A correlation of {r} over {n} pairs has no interval.", mend="Give -1 <= r <= 1 and n >= 4."
        )
    half = critical(confidence) / math.sqrt(n - 3)
    centre = math.atanh(r) if abs(r) < 1 else math.copysign(math.inf, r)
    return Estimate(
        float(r), math.tanh(centre - half), math.tanh(centre + half), n, f"{confidence:.0%} Fisher z"
    )
