"""What a task of any protocol gets besides the system and the data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Spread, Tokenizer
from embassay.randomness import generator
from embassay.runs.execution import HERE
from embassay.stats import resample_means

Columns = NDArray[np.float64]


@dataclass(frozen=True)
class Context(ABC):
    """The seed and the run's tokenizer; `dataset` names the random streams. Protocols add their options."""

    dataset: str
    tokenizer: Tokenizer
    seed: int = 1337
    groups: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Item -> name of the group that it is drawn with; empty where every item is drawn by itself."""
    spread: Spread = field(default=HERE, kw_only=True, compare=False)
    """Where the parts of the work are done."""

    @property
    @abstractmethod
    def resamples(self) -> int:
        """Bootstrap resamples behind every interval."""

    def stream(self, purpose: str) -> np.random.Generator:
        """The random stream of the bootstrap: of the seed, the dataset and the purpose but not of the system, so
        that the same rows are drawn for every system and their differences are paired."""
        return generator(self.seed, "bootstrap", self.dataset, purpose)

    def grouped(self, ids: Sequence[str]) -> NDArray[np.int64] | None:
        """The group of each item, 0 .. g - 1, (n,); None where every item is drawn by itself."""
        places: dict[str, int] = {}
        labels = [places.setdefault(self.groups.get(one, one), len(places)) for one in ids]
        return None if len(places) == len(labels) else np.array(labels, dtype=np.int64)

    def bootstrap(self, columns: Columns, purpose: str, groups: NDArray[np.int64] | None = None) -> Columns:
        """Bootstrap means of the columns (n, m) over their rows, or over `groups` of them (n,): (resamples, m).

        Rows of NaN (lost items) are drawn too, and left out of the means.
        """
        rng, n, lost = self.stream(purpose), self.resamples, lost_rows(columns)
        if groups is None and not lost.any():
            return resample_means(columns, n_resamples=n, rng=rng)
        filled = np.column_stack([np.where(lost[:, None], 0.0, columns), ~lost])
        if groups is not None:
            sums = np.zeros((int(groups.max()) + 1, filled.shape[1]))
            np.add.at(sums, groups, filled)
            filled = sums
        means = resample_means(filled, n_resamples=n, rng=rng)
        with np.errstate(invalid="ignore"):
            return means[:, :-1] / means[:, -1:]


def lost_rows(columns: Columns) -> NDArray[np.bool_]:
    """Which rows of (n, m) hold a NaN, (n,)."""
    return np.asarray(np.isnan(columns).any(axis=1))
