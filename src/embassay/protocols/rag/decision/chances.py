"""Which items are worth asking about: what is foretold of each, and the chance it gets.

A foretold value that is wrong costs labels and never the truth: what is drawn corrects it (`stats.sequences`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.measures.judgements import GRADES, UNJUDGED
from embassay.protocols.rag.decision.population import Floats, Ints, Labels, Population

BANDS = np.array([1, 2, 4, 6, 11])
"""First ranks of the bands by which passages are told apart."""
_FIRST_GUESS, _SHY, _STRENGTH = 0.3, 0.5, 5.0
LEAST_SPREAD = 0.2
"""No passage is thought surer than this, so that a surprise costs no more than a few draws."""


@dataclass(frozen=True)
class Guess:
    """What is foretold of the items that are left: `values` (n, k), and `weight` (n,), what chances are like."""

    values: Floats
    weight: Floats


class Chooser:
    """Foretells from ranks, from the grades of a judge (`guide`) where there are some, and from labels so far."""

    def __init__(self, population: Population, guide: Labels) -> None:
        self._population = population
        self._guide = guide
        self._judged = np.array([guide.get(key, UNJUDGED) for key in population.keys], dtype=np.int64)
        band = np.searchsorted(BANDS, population.best_rank, side="right")
        shared = np.minimum((population.ranks > 0).sum(axis=1), 2)
        first = np.where(population.ranks > 0, population.ranks, population.asked.cutoff + 1).argmin(axis=1)
        cell = ((first * (len(BANDS) + 1) + band) * 3 + shared) * (len(GRADES) + 1) + self._judged
        self._cell = np.unique(cell, return_inverse=True)[1]
        self._query_guess = self._of_judge() if population.asked.linear is None else None

    def guess(self, labelled: Sequence[int], labels: Labels, active: NDArray[np.bool_]) -> Guess:
        """From `labelled` items (places) with their `labels`, for the comparisons that are still `active` (k,)."""
        if self._population.asked.linear is not None:
            return self._passages(labelled, labels, active)
        return self._queries(labelled, labels, active)

    def _passages(self, labelled: Sequence[int], labels: Labels, active: NDArray[np.bool_]) -> Guess:
        population = self._population
        assert population.asked.linear is not None
        members = np.array([own[0] for own in population.members], dtype=np.int64)
        known = members[list(labelled)]
        gain = population.asked.linear.gain[[labels[population.keys[place]] for place in known]]
        likely = self._gains(known, gain)[members]
        spread = np.maximum(np.sqrt(likely * (1 - likely)), LEAST_SPREAD)
        reach = np.abs(population.coefficients[:, active]).max(axis=1, initial=0.0)
        return Guess(population.coefficients * likely[:, None], reach * spread)

    def _gains(self, known: Ints, gain: Floats) -> Floats:
        """The expected gain of every passage: each cell leans on the judge's grade, and that on all labels."""
        assert self._population.asked.linear is not None
        overall = (gain.sum() + _FIRST_GUESS * _STRENGTH) / (len(gain) + _STRENGTH)
        by_grade = self._population.asked.linear.gain * _SHY + overall * (1 - _SHY)
        by_grade[UNJUDGED] = overall
        wider = _smoothed(self._judged, known, gain, by_grade[self._judged])
        return _smoothed(self._cell, known, gain, wider)

    def _queries(self, labelled: Sequence[int], labels: Labels, active: NDArray[np.bool_]) -> Guess:
        population = self._population
        values = np.zeros_like(population.low)
        if self._query_guess is not None and self._guide:
            foretold = self._query_guess
            seen = population.values(labelled, labels)
            told = foretold[list(labelled)]
            slope = ((told * seen).sum() + _SHY * _prior(foretold)) / ((told**2).sum() + _prior(foretold))
            values = np.clip(foretold * np.clip(slope, 0.0, 1.0), population.low, population.high)
        width = (population.high - population.low)[:, active].max(axis=1, initial=0.0) / 4
        reach = np.sqrt(width**2 + (values[:, active] ** 2).max(axis=1, initial=0.0))
        return Guess(values, reach / np.sqrt(population.cost))

    def _of_judge(self) -> Floats:
        """What the judge's grades say of every query."""
        every = {key: int(grade) for key, grade in zip(self._population.keys, self._judged, strict=True)}
        return self._population.values(range(len(self._population.low)), every)


def _prior(foretold: Floats) -> float:
    """As much as five queries weigh."""
    return float(_STRENGTH * (foretold**2).mean()) + 1e-12


def _smoothed(cell: Ints, known: Ints, gain: Floats, prior: Floats) -> Floats:
    """The mean gain of each passage's cell, leaning on the `prior` of the passage."""
    size = int(cell.max()) + 1
    count = np.bincount(cell[known], minlength=size)
    total = np.bincount(cell[known], weights=gain, minlength=size)
    return np.asarray((total[cell] + _STRENGTH * prior) / (count[cell] + _STRENGTH))
