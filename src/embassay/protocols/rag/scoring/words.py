"""Numbers and names as sentences have them."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols.numbers import interval, score
from embassay.protocols.rag.scoring.record import Evidence


def percent(value: float) -> str:
    """A share as percent with one decimal.

    >>> percent(0.8521)
    '85.2%'
    """
    return f"{100 * value:.1f}%"


def told(evidence: Evidence) -> str:
    """A number with its interval in brackets; %PROC as percent.

    >>> told(Evidence("PROC@10", 0.9, 0.85, 0.95)), told(Evidence("%PROC@10", 0.5))
    ('0.900 (0.850–0.950)', '50.0%')
    """
    if evidence.what.startswith("%"):
        text = percent(evidence.value)
        if evidence.low is None or evidence.high is None:
            return text
        return f"{text} ({percent(evidence.low)[:-1]}–{percent(evidence.high)})"
    text = score(evidence.value)
    if evidence.low is None or evidence.high is None:
        return text
    return f"{text} ({interval(evidence.low, evidence.high)})"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
