"""All systems at a place: who may hold which rank, who is likely to be best, who cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.compare.contrast import higher_is_better
from embassay.protocols.compare.values import Place, RunValues, check_names, wanted
from embassay.protocols.kernel.comparisons import ALPHA, Standing
from embassay.protocols.kernel.estimates import DEFINED
from embassay.stats import PairTest, best_shares, compare_replicates, freedom_of_difference, rank_ranges
from embassay.stats.freedom import shared_degrees, shared_freedom


@dataclass(frozen=True)
class Entrant:
    """A system at a place. `best` is how likely it is ahead of all (ties shared out), by its resamples; ranks are
    None where the place has no tests."""

    system: str
    value: float
    low: float | None
    high: float | None
    n: int
    rank_low: int | None = None
    rank_high: int | None = None
    best: float | None = None


@dataclass(frozen=True)
class Field:
    """The systems of one group at a place, best first. `groups` are the runs of neighbours that no test tells apart, by
    position, each as long as can be; a system may be in several, so being in one is not being equal. `reason` says why
    there are no tests. `missing` are systems without a value, with their reasons."""

    task: str
    dataset: str
    measure: str
    group: str
    entrants: tuple[Entrant, ...]
    groups: tuple[tuple[int, int], ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    reason: str = ""


def fields(
    run: RunValues, tasks: Sequence[str] = (), datasets: Sequence[str] = (), measures: Sequence[str] = ()
) -> Iterator[Field]:
    """Every place of a run as fields, one per group of systems. UsageError for a name that is not in the run."""
    check_names(run, tasks, measures, datasets)
    for place in run.places:
        if not wanted(place, tasks, measures) or (datasets and place[1] not in datasets):
            continue
        every = run.at(place)
        for group in dict.fromkeys(one.group for one in every):
            own = [one for one in every if one.group == group]
            yield field_of(place, group, own, run.no_verdict(place))


def field_of(place: Place, group: str, standings: Sequence[Standing], no_verdict: str = "") -> Field:
    """One field. Ranks are by paired bootstrap t tests, Holm over its pairs, alpha 0.05; two whose own intervals do not
    meet are told apart. There are none where `no_verdict` says why."""
    task, dataset, measure = place
    sign = 1.0 if higher_is_better(measure) else -1.0
    known = [one for one in standings if one.headline.value is not None]
    known.sort(key=lambda one: (-sign * (one.headline.value or 0.0), one.system))
    missing = tuple((one.system, one.headline.reason) for one in standings if one.headline.value is None)
    entrants = tuple(_entrant(one) for one in known)
    draws, reason = shared_draws(known)
    reason = reason or no_verdict
    if reason:
        return Field(task, dataset, measure, group, entrants, (), missing, reason)
    values = np.array([one.headline.value for one in known], dtype=np.float64)
    strata = [one.headline.resampled for one in known]
    intervals = [(one.low, one.high) for one in entrants]
    ranges = rank_ranges(sign * draws, sign * values, strata=strata, intervals=intervals, alpha=ALPHA)
    free = shared_freedom(strata) or freedom_of_difference(strata[0], strata[1])
    best = best_shares(sign * draws, sign * values, free).tolist()
    entrants = tuple(
        Entrant(one.system, one.value, one.low, one.high, one.n, low, high, share)
        for one, (low, high), share in zip(entrants, ranges, best, strict=True)
    )
    return Field(task, dataset, measure, group, entrants, _groups(pair_tests(known), len(known)), missing)


def _entrant(one: Standing) -> Entrant:
    low, high = one.headline.interval
    return Entrant(one.system, float(one.headline.value or 0.0), low, high, one.headline.n)


def pair_tests(known: Sequence[Standing]) -> tuple[PairTest, ...]:
    """The tests of every pair of systems with values at one place, first minus second; none where they cannot be
    tested."""
    draws, reason = shared_draws(known)
    if reason:
        return ()
    values = [one.headline.value or 0.0 for one in known]
    return compare_replicates(
        draws, values, strata=[one.headline.resampled for one in known],
        intervals=[one.headline.interval for one in known],
    )  # fmt: skip


def most_degrees(standings: Sequence[Standing], group: str) -> float | None:
    """The degrees of freedom that the differences of a group's systems have together, where they have."""
    known = [one for one in standings if one.group == group and one.headline.value is not None]
    return shared_degrees([one.headline.resampled for one in known])


def shared_draws(known: Sequence[Standing]) -> tuple[NDArray[np.float64], str]:
    """The replicates of systems, (systems, B), on the resamples where all are defined; or why they cannot be tested."""
    lengths = {len(one.headline.replicates) for one in known}
    if len(known) < 2:
        return np.empty((0, 0)), "fewer than two systems with a value"
    if len(lengths) != 1 or lengths == {0}:
        return np.empty((0, 0)), "no interval: there is nothing to resample"
    draws = np.stack([one.headline.replicates for one in known])
    defined = np.isfinite(draws).all(axis=0)
    return draws[:, defined], "" if defined.mean() >= DEFINED else "no interval: too few items"


def _groups(pairs: Sequence[PairTest], systems: int) -> tuple[tuple[int, int], ...]:
    apart = {(pair.a, pair.b) for pair in pairs if pair.apart(ALPHA)}
    found: list[tuple[int, int]] = []
    for first in range(systems):
        last = first
        while last + 1 < systems and not any((i, last + 1) in apart for i in range(first, last + 1)):
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return tuple(found)
