"""Two correlations with the same gold, of people and of a system: how far apart they are, and how surely."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from embassay.measures import align, mean_pairwise, spearman
from embassay.protocols.hume.beyond.drawn import Floats
from embassay.protocols.hume.beyond.people import ItemRows, People, numbers

_MOST = 0.9999


@dataclass(frozen=True)
class Correlations:
    """Spearman's correlations of `people` with gold, of the `system` with gold, and of the two with each other
    (`shared`); `between` is that of two annotators, None for one and where ratings are not pooled; `k` are pooled."""

    people: float
    system: float
    shared: float
    between: float | None
    k: int

    @property
    def gap(self) -> float:
        """System minus people, in Fisher's z."""
        return math.atanh(self.system) - math.atanh(self.people)

    @property
    def spread(self) -> float:
        """The standard error of `gap` times sqrt(n - 3): variances of ranks by Bonett and Wright (2000), covariance of
        two correlations with one common variable by Steiger (1980)."""
        p, s, c = self.people, self.system, self.shared
        joint = c * (1 - p * p - s * s) - p * s * (1 - p * p - s * s - c * c) / 2
        together = joint / ((1 - p * p) * (1 - s * s))
        of_people, of_system = 1 + p * p / 2, 1 + s * s / 2
        return math.sqrt(max(of_people + of_system - 2 * together * math.sqrt(of_people * of_system), 1e-6))

    def moved(self, by: float) -> float:
        """The size of a difference in correlation that lies `by` in z from people, on the system's side."""
        sign = 1.0 if self.gap >= 0 else -1.0
        return abs(math.tanh(math.atanh(self.people) + sign * by) - self.people)

    def with_annotators(self, k: int) -> Correlations:
        """The same with `k` annotators: their mean is more reliable, and correlates the more with everything.

        Source: Spearman 1910, Brown 1910. Needs `between` above 0.
        """
        r = self.between or 0.0
        factor = math.sqrt(_reliability(k, r) / _reliability(self.k, r))
        return Correlations(_within(self.people * factor), self.system, _within(self.shared * factor), r, k)


def correlations(people: People, laid: ItemRows, system: Floats) -> Correlations | None:
    """Those of a system's similarities (n,) and of people's ratings, laid out over the same items. None where one is
    undefined."""
    gold = numbers(laid.gold or ())
    pooled = people.aggregation in ("paper", "pooled")
    k = len(people.taking_part) if pooled else 1
    each = [_three(gold, numbers(row), system) for row in laid.rows]
    of_people, shared = (float(np.mean(values)) for values in zip(*each, strict=True))
    of_system = _spearman(gold, system)
    if any(math.isnan(value) for value in (of_people, of_system, shared)):
        return None
    return Correlations(
        _within(of_people), _within(of_system), _within(shared), _between(people) if pooled else None, k
    )


def _three(gold: Floats, ratings: Floats, system: Floats) -> tuple[float, float]:
    there = ~np.isnan(ratings)
    return _spearman(gold[there], ratings[there]), _spearman(ratings[there], system[there])


def _between(people: People) -> float | None:
    if len(people.taking_part) < 2:
        return None
    found = mean_pairwise(align(people.taking_part).rows, spearman).value
    return None if math.isnan(found) else found


def _spearman(x: Floats, y: Floats) -> float:
    return float(spearman(x, y))


def _reliability(k: int, r: float) -> float:
    return k * r / (1 + (k - 1) * r)


def _within(r: float) -> float:
    return min(max(r, -_MOST), _MOST)
