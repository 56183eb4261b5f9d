"""How well a bootstrap standard error is known, from what was resampled by itself.

Resampling n units gives a variance that is too small by (n - 1) / n and known only to n - 1 degrees of freedom. A
headline is a sum over strata (datasets, halves of a task, runs), each resampled by itself, some of few units: its
degrees of freedom are Welch's and Satterthwaite's for that sum. Of a difference they follow from the differences within
each stratum, so that a stratum in which two systems agree counts for nothing. Where more than two systems are compared,
how much of the variance is a stratum's is known better from all their differences than from those of one pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embassay.records import Component, Stratum

KEPT = 200
"""Resamples that a stratum keeps: they tell how large its share of the variance is to a tenth."""


@dataclass(frozen=True)
class Freedom:
    """`df` degrees of freedom of a bootstrap standard error, and the `factor` by which resampling made it too small."""

    df: float = math.inf
    factor: float = 1.0

    def error(self, replicates: np.ndarray) -> float:
        """The standard error from replicates (B,), mended."""
        return self.factor * float(np.std(replicates, ddof=1))


NORMAL = Freedom()
"""Of a standard error that is known: the normal law."""


def freedom_of_units(units: int) -> Freedom:
    """Of `units` that were resampled together.

    >>> freedom_of_units(5)
    Freedom(df=4.0, factor=1.118033988749895)
    """
    return NORMAL if units < 2 else Freedom(float(units - 1), math.sqrt(units / (units - 1)))


def freedom(strata: Sequence[Stratum]) -> Freedom:
    """Of a sum over strata. Normal where none of them varies.

    The rule takes each stratum's share of the variance for known. A stratum of few units whose variance happens to come
    out small would then make the error small and its degrees many at once: a test at 5% erred in 5.9%. So shares are
    those of the variance that is to be expected given what was seen (the mean of the scaled inverse chi-squared law):
    a stratum of few units counts for more of the degrees, and for no more of the error.

    Source: Welch 1938, Satterthwaite 1946; the shares are ours (docs/how_sure.md).

    >>> few, many = np.array([-1.0, 1.0]), np.array([-0.1, 0.1])
    >>> found = freedom([Stratum(3, few), Stratum(100, many)])
    >>> round(found.df, 2), round(found.factor, 2)
    (2.01, 1.22)
    """
    raw = [(one.units, _variance(one.draws)) for one in strata if one.units > 1]
    mended = [variance * units / (units - 1) for units, variance in raw]
    total = sum(mended)
    if not total > 0:
        return NORMAL
    expected = [(units, own * _expected(units - 1)) for own, (units, _) in zip(mended, raw, strict=True)]
    return Freedom(_satterthwaite(expected), math.sqrt(total / sum(variance for _, variance in raw)))


def freedom_of_difference(
    a: Sequence[Stratum], b: Sequence[Stratum], *, paired: bool = True, most: float | None = None
) -> Freedom:
    """Of the difference of two sums: paired, stratum by stratum; else both have their own.

    `most` are the degrees that all systems of a comparison have together (`shared_freedom`); with it the shares of the
    variance count as they were seen, up to so many degrees. Sums over different strata have no paired ones: then the
    fewer degrees and the larger factor count.
    """
    if not paired:
        return freedom([*a, *b])
    if _layout(a) != _layout(b):
        first, second = freedom(a), freedom(b)
        return Freedom(min(first.df, second.df), max(first.factor, second.factor))
    both = [
        Stratum(min(one.units, other.units), one.draws - other.draws) for one, other in zip(a, b, strict=True)
    ]
    found = freedom(both)
    if most is None or found.factor == 1.0:
        return found
    raw = [(one.units, _variance(one.draws)) for one in both if one.units > 1]
    seen = _satterthwaite([(units, own * units / (units - 1)) for units, own in raw])
    return Freedom(min(seen, most), found.factor)


def shared_freedom(strata: Sequence[Sequence[Stratum]]) -> Freedom | None:
    """Of the differences of three systems or more, each with the same strata, taken together: the variance of a stratum
    is the mean over all pairs. None for fewer, for other strata, or where nothing varies.

    One pair's three clustering sets often differ little by chance; the test then believes a small error with many
    degrees, and of fifteen pairs one erred in 9% of the worlds. The mean over pairs says how large that stratum is.

    >>> rng = np.random.default_rng(0)
    >>> three = [[Stratum(3, rng.normal(0, 0.2, 200)), Stratum(40, rng.normal(0, 0.5, 200))] for _ in range(3)]
    >>> round(freedom_of_difference(*three[:2]).df), round(shared_freedom(three).df)
    (7, 19)
    """
    many = len(strata)
    if many < 3 or len({_layout(one) for one in strata}) != 1:
        return None
    raw = []
    for own in zip(*strata, strict=True):
        units, draws = min(one.units for one in own), np.stack([one.draws for one in own])
        draws = draws[:, np.isfinite(draws).all(axis=0)]
        if units < 2 or draws.shape[1] < 2:
            continue
        each, total = np.var(draws, axis=1, ddof=1).sum(), np.var(draws.sum(axis=0), ddof=1)
        raw.append((units, max(0.0, float(many * each - total)) / (many * (many - 1) / 2)))
    mended = [(units, own * units / (units - 1)) for units, own in raw]
    total = sum(own for _, own in mended)
    if not total > 0:
        return None
    expected = [(units, own * _expected((units - 1) * (many - 1))) for units, own in mended]
    return Freedom(_satterthwaite(expected), math.sqrt(total / sum(own for _, own in raw)))


def shared_degrees(strata: Sequence[Sequence[Stratum]]) -> float | None:
    """The degrees of `shared_freedom`, where there is one."""
    found = shared_freedom(strata)
    return None if found is None else found.df


def _layout(strata: Sequence[Stratum]) -> tuple[int, ...]:
    """What two lists of strata must share to be paired."""
    return tuple(len(one.draws) for one in strata)


def _satterthwaite(variances: Sequence[tuple[int, float]]) -> float:
    """Degrees of a sum of (units, variance), infinite where none varies."""
    spread = sum(own * own / (units - 1) for units, own in variances)
    return sum(own for _, own in variances) ** 2 / spread if spread > 0 else math.inf


def strata_of(part: Component) -> tuple[Stratum, ...]:
    """What was resampled for a component: its strata, or its units together; nothing where it has no replicates."""
    if part.strata or not len(part.replicates):
        return part.strata
    return (Stratum(resampled_units(part), part.replicates[:KEPT]),)


def resampled_units(part: Component) -> int:
    """How many units were resampled: the items, where nothing else is said."""
    return part.n if part.units is None else part.units


def scaled(strata: Sequence[Stratum], weight: float) -> tuple[Stratum, ...]:
    """What they add to a mean in which their sum has this weight."""
    return tuple(Stratum(one.units, weight * one.draws) for one in strata)


def _expected(df: int) -> float:
    """The variance to be expected over the one that was seen, with so many degrees of freedom. For one and two it is
    not bounded: what holds a test at 5% in simulation stands in."""
    return df / (df - 2) if df > 2 else {1: 20.0, 2: 5.0}[df]


def _variance(draws: np.ndarray) -> float:
    known = draws[np.isfinite(draws)]
    return float(np.var(known, ddof=1)) if len(known) > 1 else 0.0
