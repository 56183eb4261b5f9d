"""How the paper rounds: three ways, of which each table takes one. All give points of 100 with one decimal."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal


def plain(score: float) -> float:
    """Once (tables 2, 4-7 and 10-12).

    >>> plain(0.6805146)
    68.1
    """
    return float(f"{score * 100:.1f}")


def fraction_first(score: float) -> float:
    """The fraction to four decimals, then the points to one (table 1), so that 68.0515 becomes 68.0 by way of 68.05.

    >>> fraction_first(0.680515), fraction_first(0.92254)
    (68.0, 92.2)
    """
    return float(f"{round(score, 4) * 100:.1f}")


def percent_first(score: float) -> float:
    """The points to two decimals, then half up to one (table 8).

    >>> percent_first(0.67545), percent_first(0.8125)
    (67.6, 81.3)
    """
    points = Decimal(str(round(score * 100, 2)))
    return float(points.quantize(Decimal("0.1"), rounding=ROUND_HALF_UP))
