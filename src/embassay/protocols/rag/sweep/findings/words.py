"""Money, times and differences as sentences have them."""

from __future__ import annotations

from embassay.protocols import numbers
from embassay.protocols.rag.golden.summary import Figure

HARDLY = 0.00005
"""Dollars that print as none."""


def ms(value: float) -> str:
    """Milliseconds per query, finer where they are few.

    >>> ms(332.9), ms(4.26), ms(0.0312)
    ('333 ms', '4.3 ms', '0.031 ms')
    """
    if abs(value) >= 99.5:
        return f"{numbers.score(value, 0)} ms"
    return f"{numbers.score(value, 1 if abs(value) >= 0.95 else 3)} ms"


def usd(value: float) -> str:
    """Dollars per 1,000 queries, finer where they are under a cent.

    >>> usd(1.25), usd(0.0042), usd(0.0)
    ('$1.25', '$0.0042', '$0')
    """
    if not value:
        return "$0"
    return f"${value:,.2f}" if abs(value) >= 0.00995 else f"${value:.4f}"


def ms_more(value: float) -> str:
    """A difference of times.

    >>> ms_more(145.9), ms_more(-20.0)
    ('146 ms more', '20.0 ms less')
    """
    return f"{ms(abs(value))} {'more' if value >= 0 else 'less'}"


def dollars_more(value: float) -> str:
    """A difference of prices.

    >>> dollars_more(1.25), dollars_more(0.0)
    ('$1.25 more', 'at the same price')
    """
    if abs(value) < HARDLY:
        return "at the same price"
    return f"{usd(abs(value))} {'more' if value > 0 else 'less'}"


def told(value: Figure, *, signed: bool = False) -> str:
    """A score with its interval in brackets.

    >>> told(Figure(0.804, 0.77, 0.84, 50)), told(Figure(-0.01, -0.02, 0.001, 50), signed=True)
    ('0.804 (0.770–0.840)', '−0.010 (−0.020 to 0.001)')
    """
    if value.value is None:
        return "n/a"
    text = numbers.change(value.value) if signed else numbers.score(value.value)
    if value.low is None or value.high is None:
        return text
    return f"{text} ({numbers.interval(value.low, value.high)})"


def percent(value: float) -> str:
    """A ratio as percent with one decimal.

    >>> percent(0.929)
    '92.9%'
    """
    return f"{numbers.score(100 * value, 1)}%"
