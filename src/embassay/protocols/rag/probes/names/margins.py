"""Margins of similarity, over queries and runs, and what an ablation does to them (spec rag 5.1, 5.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError

Floats = NDArray[np.float64]
LEAST_MARGIN = 0.02
"""A base margin below this is too small to take a percentage of."""


@dataclass(frozen=True)
class Margins:
    """How much closer the right passage is to the query than others are; arrays of one shape.

    `name`: than the closer impostor on the topic; `topic`: than the same author on another topic; `both`: than another
    author on another topic.
    """

    name: Floats
    topic: Floats
    both: Floats


def margins(similarities: Floats) -> Margins:
    """The margins from the similarities of a query to C1, C2a, C2b, C3, C4: (..., 5) -> (...).

    >>> one = margins(np.array([0.71, 0.55, 0.58, 0.42, 0.25]))
    >>> round(float(one.name), 2), round(float(one.topic), 2), round(float(one.both), 2)
    (0.13, 0.29, 0.46)
    """
    values = np.asarray(similarities, dtype=np.float64)
    if values.shape[-1:] != (5,):
        raise UsageError(f"Similarities of shape {values.shape} are no bundles.", mend="The last axis has 5.")
    right = values[..., 0]
    impostors = values[..., 1:3].max(axis=-1)
    return Margins(right - impostors, right - values[..., 3], right - values[..., 4])


@dataclass(frozen=True)
class OverRuns:
    """The mean of run means, and their standard deviation (ddof 1; NaN for one run)."""

    mean: float
    sd: float
    runs: int


def over_runs(values: Floats) -> OverRuns:
    """From (runs, queries): each run's mean over its queries, then over the runs.

    >>> result = over_runs(np.array([[0.161], [0.158], [0.163], [0.157], [0.161]]))
    >>> round(result.mean, 3), round(result.sd, 6)
    (0.16, 0.002449)
    """
    means = np.asarray(values, dtype=np.float64).mean(axis=1)
    sd = float(means.std(ddof=1)) if len(means) > 1 else float("nan")
    return OverRuns(float(means.mean()), sd, len(means))


@dataclass(frozen=True)
class Change:
    """An ablation against the base, over the same rows (run, query).

    `percent` is the mean of the rows' changes in percent, over the `kept` rows of `rows`: those whose base margin is
    `LEAST_MARGIN` at least. `ratio_percent` is the change of the means over the same rows, `absolute` the mean change
    over all rows. NaN where no row is kept.
    """

    percent: float
    ratio_percent: float
    absolute: float
    kept: int
    rows: int

    @property
    def excluded_share(self) -> float:
        """The share of rows that no percentage is taken of."""
        return 1 - self.kept / self.rows


def change(base: Floats, ablated: Floats, *, least: float = LEAST_MARGIN) -> Change:
    """What an ablation does to a margin; both (runs, queries) or (rows,), the same rows.

    >>> result = change(np.array([0.2, 0.1, 0.015, 0.3]), np.array([0.05, 0.04, 0.0, 0.06]))
    >>> round(result.percent, 6), round(result.ratio_percent, 6), result.kept
    (-71.666667, -75.0, 3)
    """
    before, after = np.asarray(base, dtype=np.float64).ravel(), np.asarray(ablated, dtype=np.float64).ravel()
    if before.shape != after.shape or not len(before):
        raise UsageError(
            f"{len(before)} margins cannot be compared with {len(after)}.", mend="Give the same rows of both."
        )
    kept = before >= least
    absolute = float((after - before).mean())
    if not kept.any():
        return Change(float("nan"), float("nan"), absolute, 0, len(before))
    rows = 100 * (after[kept] - before[kept]) / before[kept]
    ratio = 100 * (after[kept].mean() / before[kept].mean() - 1)
    return Change(float(rows.mean()), float(ratio), absolute, int(kept.sum()), len(before))
