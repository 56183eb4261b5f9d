"""Mean drops of groups of cells, and their difference, with bootstrap intervals over datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.pteb.analysis.drops import Drop
from embassay.randomness import generator
from embassay.stats import Estimate, percentile_interval, resample_means

SEED, RESAMPLES = 1337, 1000
METHOD = f"95% percentile bootstrap over datasets, {RESAMPLES} resamples"
FEWEST = 5
"""Datasets that an interval needs: resamples of two or three are two or three values."""


@dataclass(frozen=True)
class Group:
    """The mean delta of a group of cells (system x dataset), every cell alike.

    `delta.n` counts cells and `datasets` the datasets they are of; the interval draws datasets, with all their
    cells, and is NaN for fewer than five.
    """

    name: str
    delta: Estimate
    datasets: int


@dataclass(frozen=True)
class Contrast:
    """Two groups and the difference of their mean deltas, first minus second; both sides are drawn together.

    The difference is None where a group is empty.
    """

    first: Group | None
    second: Group | None
    difference: Estimate | None


def grouped(
    drops: Sequence[Drop], name: Callable[[Drop], str | None], order: Sequence[str], *, seed: int = SEED
) -> tuple[Group, ...]:
    """The groups that `name` gives the drops (None: in none), in `order`; empty ones are left out."""
    return tuple(
        _group(one, members, seed)
        for one in order
        if (members := [drop for drop in drops if name(drop) == one])
    )


def contrast(
    drops: Sequence[Drop], name: Callable[[Drop], str | None], first: str, second: str, *, seed: int = SEED
) -> Contrast:
    """The groups `first` and `second` of `grouped`, and their difference."""
    sides = {one: [drop for drop in drops if name(drop) == one] for one in (first, second)}
    groups = [_group(one, members, seed) if members else None for one, members in sides.items()]
    if None in groups:
        return Contrast(groups[0], groups[1], None)
    left, right = sides[first], sides[second]
    value = _mean(left) - _mean(right)
    places = list(dict.fromkeys(drop.place for drop in (*left, *right)))
    sums = np.hstack([_sums(left, places), _sums(right, places)])
    means = _resampled(sums, seed)
    with np.errstate(invalid="ignore"):
        draws = means[:, 0] / means[:, 1] - means[:, 2] / means[:, 3]
    return Contrast(groups[0], groups[1], _estimate(value, draws, len(left) + len(right), len(places)))


def _group(name: str, members: Sequence[Drop], seed: int) -> Group:
    places = list(dict.fromkeys(drop.place for drop in members))
    means = _resampled(_sums(members, places), seed)
    return Group(
        name, _estimate(_mean(members), means[:, 0] / means[:, 1], len(members), len(places)), len(places)
    )


def _resampled(sums: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    return resample_means(sums, n_resamples=RESAMPLES, rng=generator(seed, "bootstrap", "drops"))


def _sums(members: Sequence[Drop], places: Sequence[str]) -> NDArray[np.float64]:
    """Sum and count of the deltas of every place, (places, 2)."""
    rows = {place: row for row, place in enumerate(places)}
    sums = np.zeros((len(places), 2))
    for drop in members:
        sums[rows[drop.place]] += drop.delta, 1
    return sums


def _mean(members: Sequence[Drop]) -> float:
    return float(np.mean([drop.delta for drop in members]))


def _estimate(value: float, draws: NDArray[np.float64], n: int, places: int) -> Estimate:
    if places < FEWEST:
        told = f"no interval: {places} dataset{'' if places == 1 else 's'}, fewer than {FEWEST}"
        return Estimate(value, float("nan"), float("nan"), n, told)
    return Estimate(value, *percentile_interval(draws), n, METHOD)
