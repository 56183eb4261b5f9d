"""Whether a dataset needs more runs: the rule of `--until-ci`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.stats.intervals import t_quantile

CONFIDENCE = 0.95


def half_widths(deltas: ArrayLike) -> NDArray[np.float64]:
    """Half the width of the 95% t interval of each system's mean drop, (systems, runs) -> (systems,).

    In the unit of `deltas`: t(0.975, runs - 1) x sample sd / sqrt(runs), a sample being the runs of one dataset.
    Infinite with one run; NaN for a system that lacks a run. Raises UsageError for other shapes, or no runs.

    >>> half_widths([[-0.010, -0.012, -0.014]]).round(4).tolist()
    [0.005]
    """
    values = np.asarray(deltas, dtype=np.float64)
    if values.ndim != 2 or not values.shape[1]:
        raise UsageError(
            f"The drops have the shape {values.shape}.", mend="Give (systems, runs), one run at least."
        )
    systems, runs = values.shape
    if runs == 1:
        return np.full(systems, math.inf)
    spread = np.std(values, axis=1, ddof=1) / math.sqrt(runs)
    return np.asarray(t_quantile(0.5 + CONFIDENCE / 2, runs - 1) * spread)


def over_runs(sources: Sequence[NDArray[np.float64]]) -> float | None:
    """Half the width of the 95% t interval of a drop that is the mean of several sources' means over runs, (runs,)
    each; None where one has a single run. Of one source it is `half_widths`.

    >>> round(over_runs([np.array([-0.010, -0.012, -0.014])]), 4)
    0.005
    """
    if not sources or min(map(len, sources)) < 2:
        return None
    variance = sum(float(np.var(runs, ddof=1)) / len(runs) for runs in sources) / len(sources) ** 2
    freedom = sum(len(runs) - 1 for runs in sources)
    return float(t_quantile(0.5 + CONFIDENCE / 2, freedom)) * math.sqrt(variance)


def more_runs_needed(deltas: ArrayLike, points: float) -> bool:
    """Whether any system's drop on a dataset is still known to less than +- `points` (1 point = 0.01).

    `deltas` (systems, runs) are fractions, paraphrased less original. A system with NaN for a run (it has no score
    there) is not waited for, as more runs would not mend it; so without any other the answer is no.
    Raises UsageError for other shapes, no runs, or `points` that are not positive.

    >>> drops = [[-0.010, -0.012, -0.014]]
    >>> more_runs_needed(drops, points=0.4), more_runs_needed(drops, points=0.5)
    (True, False)
    """
    if not points > 0:
        raise UsageError(
            f"The half-width to reach is {points} points.", mend="Give a number above 0, as 0.5."
        )
    values = np.asarray(deltas, dtype=np.float64)
    return bool((100 * half_widths(values)[~np.isnan(values).any(axis=-1)] > points).any())
