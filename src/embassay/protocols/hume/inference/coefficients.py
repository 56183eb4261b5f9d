"""Intervals over items of every coefficient of agreement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from embassay.measures import align, cohen_kappa, krippendorff_alpha
from embassay.measures.correlation import spearman
from embassay.protocols.hume.inference.resampling import (
    CORRELATION,
    DISTANCE,
    DRAWS,
    SHARE,
    Drawn,
    Draws,
    Floats,
    Resampled,
    drawn_ari,
    drawn_cohen,
    drawn_fleiss,
    drawn_mean,
    drawn_pearson,
    drawn_spearman,
    drawn_v_measure,
    indicators,
    no_interval,
    numbers,
    resampled,
)
from embassay.protocols.hume.scoring.people import MIN_SHARED, least_shared
from embassay.protocols.hume.study import Answers, Family

COPIES = "resampled items inflate a V-measure: copies of an item are always together"
_WITHIN = {"percent_agreement": SHARE, "v_measure": SHARE, "absolute_difference": DISTANCE}
Rows = Sequence[tuple[Any, ...]]


def agreement_intervals(
    family: Family,
    answers: Answers,
    draws: Draws = DRAWS,
    *,
    min_shared: int = MIN_SHARED,
) -> dict[str, Resampled]:
    """Every coefficient of `people_agreement`, by the same name, with a bootstrap interval over items.

    A resample draws items with all their answers, so annotators stay who they are. `undefined` counts resamples without
    a value (all answers alike, one group). Classification: `fleiss_kappa`, `cohen_kappa`, `percent_agreement`, `alpha`;
    clustering: `ari`, over pairs of different items, and `v_measure` without an interval; reranking: `spearman`,
    `kendall` (the same on 0 and 1) and `cohen_kappa`, over queries; STS: `spearman`, `pearson`, `absolute_difference`,
    `alpha`. Empty where fewer than two annotators share an item. How often each interval holds: docs/hume_beyond.md.
    Source: spec hume 6 and 7.

    >>> answers = {"ann": dict(zip("abcdefgh", "xxyyxyxy")), "bob": dict(zip("abcdefgh", "xxyyxyyx"))}
    >>> found = agreement_intervals("classification", answers)["fleiss_kappa"]
    >>> found.estimate, found.low < 0.5 < found.high
    (0.5, True)
    """
    taking_part = {name: own for name, own in answers.items() if own}
    rows = align(taking_part).rows if taking_part else ()
    shared = [item for item in zip(*rows, strict=True) if sum(value is not None for value in item) > 1]
    if not shared:
        return {}
    least = least_shared(taking_part, min_shared)
    of: Mapping[Family, Callable[[Rows, int], dict[str, Drawn]]] = {
        "classification": _of_labels,
        "clustering": _of_groups,
        "reranking": _of_marks,
        "sts": _of_ratings,
    }
    statistics = of[family](list(zip(*shared, strict=True)), least)

    def every(counts: Floats) -> Floats:
        return np.stack([statistic(counts) for statistic in statistics.values()], axis=1)

    within = [_WITHIN.get(name, CORRELATION) for name in statistics]
    found = dict(zip(statistics, resampled(every, len(shared), draws, within=within), strict=True))
    if "v_measure" in found:
        found["v_measure"] = no_interval(found["v_measure"].estimate, len(shared), COPIES)
    return found


def _of_labels(rows: Rows, least: int) -> dict[str, Drawn]:
    labels = list(dict.fromkeys(value for row in rows for value in row if value is not None))
    given = [np.array([[float(value == label) for label in labels] for value in row]) for row in rows]
    votes = np.sum(given, axis=0)
    over = _Pairs(rows, least)
    kept = votes[:, :].sum(axis=1) == _modal(votes.sum(axis=1))

    def alpha(counts: Floats) -> Floats:
        return np.asarray(krippendorff_alpha(rows, "nominal", counts=counts))

    def equal(one: Floats, other: Floats) -> Drawn:
        both, same = one.sum(axis=1) * other.sum(axis=1), (one * other).sum(axis=1)
        values = np.where(both > 0, same, np.nan)
        return lambda counts: drawn_mean(counts, values)

    return {
        "fleiss_kappa": lambda counts: drawn_fleiss(counts[:, kept], votes[kept]),
        "cohen_kappa": over.mean(given, lambda one, other: lambda counts: drawn_cohen(counts, one, other)),
        "percent_agreement": over.mean(given, equal),
        "alpha": alpha,
    }


def _modal(sizes: Floats) -> float:
    """The commonest number of ratings from two on, the larger of two equally common ones: as `fleiss` has it."""
    found, times = np.unique(sizes[sizes > 1], return_counts=True)
    return float(found[times == times.max()].max())


def _of_groups(rows: Rows, least: int) -> dict[str, Drawn]:
    given, over = [indicators(row) for row in rows], _Pairs(rows, least)
    return {
        "ari": over.mean(given, lambda one, other: lambda counts: drawn_ari(counts, one, other)),
        "v_measure": over.mean(given, lambda one, other: lambda counts: drawn_v_measure(counts, one, other)),
    }


def _of_ratings(rows: Rows, least: int) -> dict[str, Drawn]:
    given, over = [numbers(row) for row in rows], _Pairs(rows, least)

    def pearson(one: Floats, other: Floats) -> Drawn:
        both = ~np.isnan(one) & ~np.isnan(other)
        return lambda counts: drawn_pearson(counts[:, both], one[both], other[both])

    def alpha(counts: Floats) -> Floats:
        return np.asarray(krippendorff_alpha(rows, "interval", counts=counts))

    return {
        "spearman": over.mean(given, lambda one, other: lambda counts: drawn_spearman(counts, one, other)),
        "pearson": over.mean(given, pearson),
        "absolute_difference": over.mean(
            given, lambda one, other: lambda counts: drawn_mean(counts, np.abs(one - other))
        ),
        "alpha": alpha,
    }


def _of_marks(rows: Rows, least: int) -> dict[str, Drawn]:
    """The mean is over comparisons, each of two annotators on one query; a query brings all of its own."""
    pairs = [(rows[one], rows[other]) for one, other, _ in _Pairs(rows, least).shared]

    def over(measure: Callable[[Any, Any], Any]) -> Drawn:
        values = np.array([[_or_nan(measure, a, b) for a, b in zip(*pair, strict=True)] for pair in pairs])
        defined = (~np.isnan(values)).sum(axis=0).astype(np.float64)
        sums = np.nansum(values, axis=0)
        return lambda counts: _ratio(counts @ sums, counts @ defined)

    correlation = over(spearman)
    return {"spearman": correlation, "kendall": correlation, "cohen_kappa": over(cohen_kappa)}


def _or_nan(measure: Callable[[Any, Any], Any], one: Any, other: Any) -> float:
    return math.nan if one is None or other is None else float(measure(one, other))


class _Pairs:
    """Pairs of annotators (rows) who share enough items, with a mask of those: what a mean over pairs is taken of."""

    def __init__(self, rows: Rows, least: int) -> None:
        answered = np.array([[value is not None for value in row] for row in rows])
        every = [
            (one, other, (answered[one] & answered[other]).astype(np.float64))
            for one, other in combinations(range(len(rows)), 2)
        ]
        self.shared = [pair for pair in every if pair[2].sum() >= least]

    def mean(self, given: Sequence[Floats], of: Callable[[Floats, Floats], Drawn]) -> Drawn:
        """The mean over pairs of what is defined in a resample, each weighed by the items of it that both answered."""
        each = [(of(given[one], given[other]), both) for one, other, both in self.shared]

        def mean(counts: Floats) -> Floats:
            if not each:
                return np.full(len(counts), np.nan)
            values = np.stack([statistic(counts) for statistic, _ in each])
            weights = np.where(np.isnan(values), 0.0, np.stack([counts @ both for _, both in each]))
            return _ratio(
                (np.where(np.isnan(values), 0.0, values) * weights).sum(axis=0), weights.sum(axis=0)
            )

        return mean


def _ratio(above: Floats, below: Floats) -> Floats:
    found = np.full(above.shape, np.nan)
    np.divide(above, below, out=found, where=below > 0)
    return found
