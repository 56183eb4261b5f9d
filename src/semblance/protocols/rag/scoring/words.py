"""Numbers and names as sentences have them."""

from __future__ import annotations

from collections.abc import Sequence

from semblance.protocols.rag.scoring.record import Evidence

MINUS = "−"
_SMALL = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def number(value: float) -> str:
    """Three decimals, a true minus sign, none on what rounds to zero.

    >>> number(0.5234), number(-0.0041), number(-0.0001)
    ('0.523', '−0.004', '0.000')
    """
    text = f"{value:.3f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", MINUS)


def percent(value: float) -> str:
    """A share as percent with one decimal.

    >>> percent(0.8521)
    '85.2%'
    """
    return f"{100 * value:.1f}%"


def span(low: float, high: float) -> str:
    """An interval; with `to` where a dash would read as a minus.

    >>> span(0.51, 0.5362), span(-0.004, 0.026)
    ('0.510–0.536', '−0.004 to 0.026')
    """
    ends = number(low), number(high)
    return (" to " if MINUS in "".join(ends) else "–").join(ends)


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
    text = number(evidence.value)
    if evidence.low is None or evidence.high is None:
        return text
    return f"{text} ({span(evidence.low, evidence.high)})"


def in_words(n: int) -> str:
    """A small count in words, digits above twelve."""
    return _SMALL[n] if n < len(_SMALL) else f"{n:,}"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def counted(n: int, noun: str) -> str:
    """A count and its noun.

    >>> counted(1, "query"), counted(3000, "query")
    ('1 query', '3,000 queries')
    """
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun[:-1]}ies" if noun.endswith("y") else f"{n:,} {noun}s"
