"""Systems against people: paired differences, correlations with the same gold, and where differences come from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError
from embassay.measures import align, mean_pairwise, spearman
from embassay.protocols.hume.inference.resampling import (
    Draws,
    Floats,
    ItemRows,
    People,
    Range,
    Resampled,
    drawn_mean,
    no_interval,
    numbers,
    people_rows,
    people_score,
    resampled,
    row_score,
)
from embassay.protocols.hume.study import Family, TaskSpec
from embassay.stats import mixed_mean

DRAWS = Draws(n_resamples=10_000)
SystemValues = Mapping[str, Any]
"""What a system has of every item, by item id; items it failed on are absent. Classification: 1 for a right label and 0
for a wrong one, or the share of repeats that were right. Reranking: the AP of the query. STS: the similarity of the two
texts. Clustering: the id of the item's group."""
_RANGE: Mapping[Family, Range] = {
    "classification": (-1.0, 1.0),
    "clustering": (-1.0, 1.0),
    "reranking": (-1.0, 1.0),
    "sts": (-2.0, 2.0),
}
NO_CLUSTERS = "one partition of one set of items: resampled items do not show what other items would give"


@dataclass(frozen=True)
class Compared:
    """A system minus people, over the items that both have.

    `system` and `people` are their scores on these items, `difference` the one minus the other with interval and `p`.
    The interval is NaN, and `reason` says why, where none can be had.
    """

    system: float
    people: float
    difference: Resampled

    @property
    def reason(self) -> str:
        """Why there is no interval; empty where there is one."""
        return self.difference.reason


def compare_with_people(
    people: People, systems: Mapping[str, SystemValues], draws: Draws = DRAWS
) -> dict[str, Compared]:
    """Every system's score minus people's, with a bootstrap interval over items and a two-sided p that they are equal.

    A resample draws items, each with gold, the answers of people and those of the system; both are scored on it by the
    family's main measure and the convention of `people`. Systems with the same items see the same resamples. So it
    asks what other items like these would give, with these annotators: their own spread has no part in it.
    Clustering has a difference and no interval: see `NO_CLUSTERS` and docs/hume_beyond.md.
    Source: spec hume 7 and ambiguity 13. Raises DataError for a system without an item that people answered.

    >>> answers = {"ann": dict(a=1, b=1, c=1, d=0, e=1, f=1)}
    >>> people = People(TaskSpec("colours", "classification", "eng"), dict.fromkeys("abcdef", 1), answers)
    >>> found = compare_with_people(people, {"m": dict(a=0, b=1, c=0, d=0, e=0, f=0.5)})["m"]
    >>> round(found.difference.estimate, 4), found.difference.high < 0
    (-0.5833, True)
    """
    answered = set(people.scored_items)
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, values in systems.items():
        items = tuple(sorted(answered & values.keys()))
        if not items:
            raise DataError(
                f"{name} has no item of {people.task.name} that people answered.",
                mend="Give its values by item id.",
            )
        groups.setdefault(items, []).append(name)
    found: dict[str, Compared] = {}
    for items, names in groups.items():
        rows = [[systems[name][item] for item in items] for name in names]
        found |= dict(
            zip(names, _compared(people.task, people_rows(people, items), rows, draws), strict=True)
        )
    return {name: found[name] for name in systems}


def _compared(task: TaskSpec, laid: ItemRows, rows: Sequence[Sequence[Any]], draws: Draws) -> list[Compared]:
    n, once = len(laid.items), np.ones((1, len(laid.items)))
    people = float(people_score(task, laid, once)[0])
    scores = _system_scores(task, laid, rows, once)[0].tolist()

    def difference(counts: Floats) -> Floats:
        return _system_scores(task, laid, rows, counts) - people_score(task, laid, counts)[:, None]

    if task.family == "clustering":
        differences = [no_interval(score - people, n, NO_CLUSTERS) for score in scores]
    else:
        # Differences are nearly symmetric: mending bias and skew only adds noise to them (docs/hume_beyond.md).
        differences = list(
            resampled(
                difference, n, replace(draws, kind=draws.kind or "expanded"), within=(_RANGE[task.family],)
            )
        )
    return [Compared(score, people, one) for score, one in zip(scores, differences, strict=True)]


def _system_scores(task: TaskSpec, laid: ItemRows, rows: Sequence[Sequence[Any]], counts: Floats) -> Floats:
    """(b, systems)."""
    if task.family in ("classification", "reranking"):
        return drawn_mean(counts, np.stack([numbers(row) for row in rows], axis=1))
    return np.stack([row_score(task, laid.gold, row, counts) for row in rows], axis=1)


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


_MOST_WITH_GAPS = 600
"""Values of a table with gaps; its quadratic forms take their square in memory."""


@dataclass(frozen=True)
class Components:
    """The mean of a table of annotators by items, and the variances between items, between annotators, and of what is
    left. A negative estimate is 0."""

    mean: float
    items: float
    annotators: float
    residual: float


def components(table: Floats) -> Components | None:
    """Variance components of a table (annotators, items), both drawn at random, NaN where one did not answer.

    From the mean squares of the two-way analysis of variance without replication (Searle, Casella and McCulloch 1992),
    with gaps by Henderson's method 3 (`mixed_mean`), and of more than 600 values over the items that all answered.
    None for one annotator, or where items and annotators cannot be told apart.

    >>> components(np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]))
    Components(mean=1.5, items=1.0, annotators=0.5, residual=0.0)
    """
    answered = ~np.isnan(table)
    if len(table) > 1 and not answered.all() and 1 < answered.sum() <= _MOST_WITH_GAPS:
        return _with_gaps(table, answered)
    whole = table[:, answered.all(axis=0)]
    return _balanced(whole) if min(whole.shape) > 1 else None


def _balanced(whole: Floats) -> Components:
    k, n = whole.shape
    mean = whole.mean()
    of_annotators, of_items = whole.mean(axis=1), whole.mean(axis=0)
    rest = whole - of_annotators[:, None] - of_items + mean
    residual = float((rest**2).sum() / ((k - 1) * (n - 1)))
    between_items, between_annotators = k * of_items.var(ddof=1), n * of_annotators.var(ddof=1)
    return Components(
        float(mean),
        max(0.0, float(between_items - residual) / k),
        max(0.0, float(between_annotators - residual) / n),
        residual,
    )


def _with_gaps(table: Floats, answered: NDArray[np.bool_]) -> Components | None:
    annotators, items = np.nonzero(answered)
    found = mixed_mean(table[answered], items.tolist(), annotators.tolist())
    spreads = found.sd_rows, found.sd_columns, found.sd_residual
    if any(math.isnan(one) for one in spreads):
        return None
    return Components(found.estimate, *(one**2 for one in spreads))
