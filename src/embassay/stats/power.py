"""How large a difference must be to be seen."""

from __future__ import annotations

import math

from embassay.errors import UsageError
from embassay.stats.students import t_quantile

ALPHA, POWER = 0.05, 0.8


def smallest_difference(
    error: float, *, alpha: float = ALPHA, power: float = POWER, df: float = math.inf
) -> float:
    """The least true difference that a two-sided test at `alpha` finds with this `power`, from the standard error of
    the difference with its `df` degrees of freedom, in its unit: (t_(1-alpha/2) + t_power) x error, for infinite `df`
    with normal quantiles. Source: Lachin 1981.

    Raises UsageError for an error below 0, or alpha or power outside (0, 1).

    >>> round(smallest_difference(0.01), 4)
    0.028
    >>> round(smallest_difference(0.01, df=4), 4)
    0.0372
    """
    _check(error, alpha, power)
    return (t_quantile(1 - alpha / 2, df) + t_quantile(power, df)) * error


def items_needed(
    error: float, n: int, difference: float, *, alpha: float = ALPHA, power: float = POWER
) -> int | None:
    """How many items would show `difference` with this `power`, where `n` of the same kind leave a standard error of
    `error`: the error falls with the root of the items. None where the difference is 0. Errors as for
    `smallest_difference`, and for n below 1.

    >>> items_needed(0.02, 100, 0.028)
    401
    """
    if n < 1:
        raise UsageError(f"There are {n} items.", mend="Give 1 or more.")
    if difference == 0:
        return None
    ratio = smallest_difference(error, alpha=alpha, power=power) / abs(difference)
    return max(1, math.ceil(n * ratio**2))


def _check(error: float, alpha: float, power: float) -> None:
    if not error >= 0 or not 0 < alpha < 1 or not 0 < power < 1:
        raise UsageError(
            f"A standard error of {error}, alpha {alpha} and power {power} do not go together.",
            mend="Give an error from 0, and alpha and power between 0 and 1.",
        )
