"""One number for a short list: quality per second. It is no measure of quality (spec rag 3.5)."""

from __future__ import annotations

from collections.abc import Mapping

from embassay.errors import UsageError

WEIGHTS: Mapping[str, float] = {
    "N-Recall4+@10": 1.0, "RA-nWG@10": 1.0, "N-Recall4+@30": 1.0, "RA-nWG@30": 1.0,
}  # fmt: skip
"""What the average performance is the mean of."""


def average_performance(quality: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS) -> float:
    """The weighted mean of these measures. UsageError where one is missing or the weights have no sum."""
    missing = [name for name in weights if name not in quality]
    total = sum(weights.values())
    if missing or not total > 0:
        raise UsageError(
            f"The average performance needs {', '.join(missing) or 'weights above 0'}.",
            mend="Measure them at 10 and 30.",
        )
    return sum(quality[name] * weight for name, weight in weights.items()) / total


def efficiency(performance: float, milliseconds: float) -> float:
    """Performance per second. The published leaderboard takes the reranker's median time for `milliseconds`, the
    end-to-end variant that of the whole query. UsageError for no time.

    >>> round(efficiency(0.817, 332.9), 3)
    2.454
    """
    if not milliseconds > 0:
        raise UsageError(f"{milliseconds:g} ms is no time to divide by.", mend="Give a time above 0.")
    return performance / (milliseconds / 1000)
