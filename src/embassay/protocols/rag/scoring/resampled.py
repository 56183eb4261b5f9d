"""Means over queries and their bootstrap replicates, every measure of every run from the same resamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.scoring.measured import Measured
from embassay.randomness import generator
from embassay.stats.masked import resample_defined_means

Floats = NDArray[np.float64]
SAME = 1e-12
"""Two orders of summation differ by no more."""


@dataclass(frozen=True)
class Quantity:
    """A mean over queries, or a ratio of two: its value, replicates (B,) and the `n` queries it is of. NaN where it is
    undefined."""

    value: float
    replicates: Floats
    n: int


class Resampled:
    """Quantities of runs, and differences of two runs, over one set of resamples.

    Each is over the queries where it is defined, a difference over those where it is on both sides. Columns are
    gathered first (`want`), resampled together, and then read.
    """

    def __init__(self, measured: Sequence[Measured], *, n_resamples: int, seed: int) -> None:
        self._measured = {one.run: one for one in measured}
        self._n_resamples, self._seed = n_resamples, seed
        self._places: dict[tuple[str, str, int, bytes], int] = {}
        self._columns: list[Floats] = []
        self._means = np.empty((0, 0))

    def want(self, measure: str, run: str, other: str = "") -> None:
        """Make ready a run's quantity, and with `other` the difference of the two."""
        for one in (run, other) if other else (run,):
            mask = self._mask(measure, run, other)
            for part, column in enumerate(self._measured[one].columns[measure].parts):
                key = (one, measure, part, mask.tobytes())
                if key not in self._places:
                    self._places[key] = len(self._columns)
                    self._columns.append(np.where(mask, column, np.nan))

    def resample(self) -> None:
        """Draw the resamples for all that is wanted."""
        rng = generator(self._seed, "resample")
        table = np.column_stack(self._columns)
        self._means = resample_defined_means(table, n_resamples=self._n_resamples, rng=rng)

    def quantity(self, measure: str, run: str, other: str = "") -> Quantity:
        """A run's quantity, over the queries where it is defined for `other` too."""
        mask = self._mask(measure, run, other)
        parts = range(len(self._measured[run].columns[measure].parts))
        places = [self._places[run, measure, part, mask.tobytes()] for part in parts]
        values = [float(self._columns[i][mask].mean()) if mask.any() else np.nan for i in places]
        replicates = [self._means[:, i] for i in places]
        if len(places) == 1:
            return Quantity(values[0], replicates[0], int(mask.sum()))
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = values[0] / values[1] if values[1] > 0 else np.nan
            return Quantity(
                ratio, np.where(replicates[1] > 0, replicates[0] / replicates[1], np.nan), int(mask.sum())
            )

    def difference(self, measure: str, a: str, b: str) -> Quantity:
        """Run `a` less run `b`; what differs by rounding alone is 0."""
        first, second = self.quantity(measure, a, b), self.quantity(measure, b, a)
        value, replicates = first.value - second.value, first.replicates - second.replicates
        replicates = np.where(np.abs(replicates) <= SAME, 0.0, replicates)
        return Quantity(0.0 if abs(value) <= SAME else value, replicates, first.n)

    def _mask(self, measure: str, run: str, other: str) -> NDArray[np.bool_]:
        mask = ~np.isnan(self._measured[run].columns[measure].parts[0])
        if other:
            mask = mask & ~np.isnan(self._measured[other].columns[measure].parts[0])
        return mask
