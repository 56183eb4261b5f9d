"""Student's t of an estimate and its standard error; the normal law where the error is known."""

from __future__ import annotations

import math

# Relative to the largest estimate: what two orders of summation may differ by.
ROUNDING = 1e-12


def t_test(difference: float, error: float, scale: float, df: float = math.inf) -> tuple[float, float]:
    """The statistic of a difference with this standard error, known to `df` degrees of freedom, and its two-sided p.
    Where the error is 0 the difference is certain; one in the last bits of values as large as `scale` is none.

    >>> t_test(0.1, 0.05, 1.0)[1].__round__(4), t_test(1e-17, 0.0, 1.0), t_test(0.1, 0.0, 1.0)
    (0.0455, (0.0, 1.0), (inf, 0.0))
    >>> t_test(0.1, 0.05, 1.0, 4)[1].__round__(4)
    0.1161
    """
    score = _standardised(difference, error, ROUNDING * scale)
    return score, min(1.0, 2 * t_tail(abs(score), df))


def t_tail(score: float, df: float) -> float:
    """The probability of more than `score` by Student's t, by the normal law for infinite `df`.

    >>> round(t_tail(1.96, math.inf), 4), round(t_tail(1.96, 10), 4)
    (0.025, 0.0392)
    """
    if math.isinf(df):
        return math.erfc(score / math.sqrt(2)) / 2
    from scipy.special import stdtr

    return float(stdtr(df, -score))


def t_quantile(share: float, df: float) -> float:
    """The quantile of Student's t, of the normal law for infinite `df`.

    >>> round(t_quantile(0.975, math.inf), 3), round(t_quantile(0.975, 4), 3)
    (1.96, 2.776)
    """
    from scipy.special import ndtri, stdtrit

    return float(ndtri(share) if math.isinf(df) else stdtrit(df, share))


def _standardised(difference: float, error: float, rounding: float) -> float:
    if abs(difference) <= rounding:
        return 0.0
    return difference / error if error > rounding else math.copysign(math.inf, difference)
