"""Who may hold which rank in a column, and who cannot be told apart: paired tests on the replicates of runs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, starmap
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from embassay.errors import EmbassayError
from embassay.protocols.compare import ComparableRun, read_comparable_run, stack_shared_replicates
from embassay.protocols.kernel.comparisons import (
    ALPHA,
    REFERENCE,
    SystemHeadlineValue,
    SystemStanding,
    average_headline_components,
    explain_missing_verdict,
    read_standings,
)
from embassay.records import ResampledUnitGroup
from embassay.stats import best_shares, freedom_of_difference, t_quantile, t_tail, t_test
from embassay.stats.intervals import ROUNDING, find_pooled_degrees_of_differences, pool_freedom_over_pair_differences
from embassay.stats.ranks import compute_p_of_equal_signs, correct_p_values_by_holm
from embassay.web.leaderboard.folders import HEADLINES, LoadedRunData, Place, display_system_name

METHOD = (
    "Ranks are ranges: a system counts as better if a paired bootstrap test shows it, with Holm's correction over "
    "all pairs in the column and alpha 0.05."
)
UNKNOWN = "no values for its items are stored"
UNTESTED = {
    "mteb": "published scores do not include the values of items",
    "sweep": "a sweep compares its stacks in its own report",
}
"""By kind of board, why nothing is tested."""


@dataclass(frozen=True)
class LeaderGap:
    """How far the first of the ranked group is ahead of the second: the difference with its interval, p alone and
    adjusted over the pairs of so many `systems`."""

    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    systems: int


@dataclass(frozen=True)
class LeaderboardColumnTestResults:
    """What tests say at one column, by system: `ranks`, `best` (share of resamples in which it is ahead of its group)
    and `alike` (those it cannot be told apart from). `top` are the first of the ranked group by value and its alike.
    `reason` says why there are none."""

    ranks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    best: Mapping[str, float] = field(default_factory=dict)
    alike: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    top: tuple[str, ...] = ()
    gap: LeaderGap | None = None
    reason: str = ""


@dataclass(frozen=True)
class SystemPairTests:
    """Every pair of the systems `who` (each with what its replicates came from): `tests` (n, n, 3) hold the
    statistic of the difference (NaN where the two do not differ on any item) with its degrees of freedom, by the pair
    alone and at most."""

    who: tuple[Hashable, ...] = ()
    tests: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0, 3)))


def compute_pair_tests_of_column(
    standings: Sequence[SystemStanding],
    *,
    higher: bool,
    origins: Mapping[str, Hashable] | None = None,
    known: MutableMapping[str, SystemPairTests] | None = None,
) -> LeaderboardColumnTestResults:
    """Test the standings of one place, those of each group among themselves; references are left out.

    `origins` says by system what its replicates came from, and `known` holds the pairs of each group from last time:
    pairs of the same origins are not tested again. It is brought up to date.
    """
    groups: dict[str, list[SystemStanding]] = {}
    for standing in standings:
        if standing.group != REFERENCE and standing.headline.value is not None:
            groups.setdefault(standing.group, []).append(standing)
    if why := _explain_no_verdict(standings):
        return LeaderboardColumnTestResults(reason=why)
    parts = [
        _test_systems_of_rank_group(members, higher, origins or {}, known, group)
        for group, members in sorted(groups.items())
    ]
    return LeaderboardColumnTestResults(
        {name: rank for part in parts for name, rank in part.ranks.items()},
        {name: share for part in parts for name, share in part.best.items()},
        {name: names for part in parts for name, names in part.alike.items()},
        parts[0].top if parts else (),
        parts[0].gap if parts else None,
        parts[0].reason if parts else UNKNOWN,
    )


def _explain_no_verdict(standings: Sequence[SystemStanding]) -> str:
    if not standings:
        return ""
    sides = [
        [standing.headline for standing in standings if (standing.group == REFERENCE) is of_reference]
        for of_reference in (False, True)
    ]
    return explain_missing_verdict(standings[0].task, sides[0], sides[1])


def _test_systems_of_rank_group(
    standings: Sequence[SystemStanding],
    higher: bool,
    origins: Mapping[str, Hashable],
    cache: MutableMapping[str, SystemPairTests] | None,
    group: str,
) -> LeaderboardColumnTestResults:
    sign = 1.0 if higher else -1.0
    ordered = sorted(standings, key=lambda standing: (-sign * (standing.headline.value or 0.0), standing.system))
    draws, reason = stack_shared_replicates(ordered)
    if reason:
        return LeaderboardColumnTestResults(reason=reason)
    values = np.array([standing.headline.value for standing in ordered], dtype=np.float64)
    those = _RankedSystems(
        ordered,
        sign * draws,
        sign * values,
        [standing.headline.list_separately_resampled_strata for standing in ordered],
    )
    before = cache.get(group, SystemPairTests()) if cache is not None else SystemPairTests()
    who = tuple((standing.system, origins.get(standing.system), draws.shape[1]) for standing in ordered)
    pairs = SystemPairTests(who, _pair_tests(those, who, before))
    if cache is not None:
        cache[group] = pairs
    return _rank_from_tests(those, pairs.tests)


@dataclass(frozen=True)
class _RankedSystems:
    """Systems best first, with their replicates and values turned so that more is better, and what was resampled."""

    standings: Sequence[SystemStanding]
    draws: NDArray[np.float64]
    values: NDArray[np.float64]
    strata: Sequence[Sequence[ResampledUnitGroup]]

    def test(self, a: int, b: int) -> tuple[float, float, float]:
        """Statistic and degrees of one pair, as `SystemPairTests` keeps them."""
        alone, most = (freedom_of_difference(self.strata[a], self.strata[b], most=most) for most in (None, np.inf))
        difference, scale = self.values[a] - self.values[b], float(np.abs(self.values).max(initial=0))
        error = alone.error(self.draws[a] - self.draws[b])
        score = t_test(difference, error, scale)[0]
        return score if score or error > ROUNDING * scale else np.nan, alone.df, most.df


def _pair_tests(those: _RankedSystems, who: Sequence[Hashable], before: SystemPairTests) -> NDArray[np.float64]:
    place = {key: i for i, key in enumerate(before.who)}
    old = [place.get(key, -1) for key in who]
    table = np.full((len(who), len(who), 3), np.nan)
    for a, b in combinations(range(len(who)), 2):
        is_old = old[a] >= 0 and old[b] >= 0
        table[a, b] = before.tests[old[a], old[b]] if is_old else those.test(a, b)
        table[b, a] = table[a, b]
    return table


def _compute_pairwise_p_values(
    those: _RankedSystems, tests: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """p of every pair, alone and adjusted: as `compare_replicates` has them."""
    count = len(those.standings)
    upper = np.triu_indices(count, 1)
    shared = find_pooled_degrees_of_differences(those.strata)
    scores, alone, most = tests[upper].T
    degrees = alone if shared is None else np.minimum(most, shared)
    tested = ~np.isnan(scores)
    sizes = np.where(tested, np.abs(scores), 0.0)
    p = list(starmap(_p_of_statistic, zip(sizes.tolist(), degrees.tolist(), strict=True)))
    values = np.ones((2, count, count))
    values[:, *upper] = p, correct_p_values_by_holm(p, tested.tolist())
    # The lower triangle still has 1 everywhere: it takes the values of the upper one.
    values = np.minimum(values, values.transpose(0, 2, 1))
    return values[0], values[1]


def _p_of_statistic(size: float, df: float) -> float:
    return compute_p_of_equal_signs(df) if np.isinf(size) else min(1.0, 2 * t_tail(size, df))


def _rank_from_tests(those: _RankedSystems, tests: NDArray[np.float64]) -> LeaderboardColumnTestResults:
    """Ranks and who cannot be told apart, from p adjusted by Holm over all pairs."""
    names = [standing.system for standing in those.standings]
    count = len(names)
    p, adjusted = _compute_pairwise_p_values(those, tests)
    apart = adjusted < ALPHA
    better = apart & (those.values[:, None] > those.values[None, :])
    ranks = {name: (1 + int(better[:, i].sum()), count - int(better[i].sum())) for i, name in enumerate(names)}
    alike = {name: tuple(names[j] for j in range(count) if j != i and not apart[i, j]) for i, name in enumerate(names)}
    shared = pool_freedom_over_pair_differences(those.strata)
    free = freedom_of_difference(
        those.strata[0], those.strata[1], most=find_pooled_degrees_of_differences(those.strata)
    )
    difference = float(those.values[0] - those.values[1])
    reach = t_quantile(0.975, free.df) * free.error(those.draws[0] - those.draws[1])
    gap = LeaderGap(difference, difference - reach, difference + reach, float(p[0, 1]), float(adjusted[0, 1]), count)
    shares = best_shares(those.draws, those.values, shared or free)
    best = dict(zip(names, shares.tolist(), strict=True))
    return LeaderboardColumnTestResults(ranks, best, alike, (names[0], *alike[names[0]]), gap)


def average_standings(place: Place, parts: Sequence[SystemStanding]) -> SystemStanding:
    """The mean of one system's standings, resample by resample; without a value where one has none."""
    system, group = parts[0].system, parts[0].group
    missing = [part.headline for part in parts if part.headline.value is None]
    if missing:
        return SystemStanding(*place, SystemHeadlineValue.none(system, missing[0].reason), group)
    mean = average_headline_components([part.headline.component for part in parts])
    return SystemStanding(*place, SystemHeadlineValue.of(system, mean, f"mean over {len(parts)} datasets"), group)


_ITEMS = ("score", "names", "noise")
"""Kinds of runs that keep no headlines: their replicates come from their items."""
At = Mapping[tuple[Place, str], SystemStanding]
"""Standings by place and system."""


class RunStandingsCache:
    """Standings of runs at some places. `most_bytes` bounds what is kept; those asked for last stay."""

    def __init__(self, most_bytes: int = 256 * 2**20) -> None:
        self._most, self._size = most_bytes, 0
        self._kept: OrderedDict[tuple[object, ...], dict[tuple[Place, str], SystemStanding]] = OrderedDict()
        self._lock = Lock()

    def at(self, run: LoadedRunData, places: Iterable[Place]) -> At:
        """The standings of a run at these places; empty for one that cannot have any or whose file is damaged."""
        wanted = frozenset(places)
        key = (run.name, run.folder.stamp, wanted)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        standings = {
            (place, standing.system): standing
            for place, standing in _iterate_places_with_standings(run)
            if place in wanted
        }
        with self._lock:
            if key not in self._kept:
                self._kept[key] = standings
                self._size += _count_replicate_bytes(standings)
            # The last one stays even where it alone is too large: it is about to be used.
            while self._size > self._most and len(self._kept) > 1:
                self._size -= _count_replicate_bytes(self._kept.popitem(last=False)[1])
        return standings


def _iterate_places_with_standings(run: LoadedRunData) -> Iterator[tuple[Place, SystemStanding]]:
    """Standings by place. A task of one dataset has its value under both; the file keeps it once."""
    datasets: dict[str, set[str]] = {}
    for work in run.work:
        datasets.setdefault(work.task, set()).add(work.dataset)
    every = [_use_display_name_in_standing(standing) for standing in load_run_standings(run)]
    places = {standing.place for standing in every}
    for standing in every:
        yield standing.place, standing
        of_task = datasets.get(standing.task, set())
        if not standing.dataset and len(of_task) == 1:
            (dataset,) = of_task
            if (place := (standing.task, dataset, standing.measure)) not in places:
                yield place, standing


def _use_display_name_in_standing(standing: SystemStanding) -> SystemStanding:
    name = display_system_name(standing.system)
    return standing if name == standing.system else replace(standing, headline=replace(standing.headline, system=name))


def load_run_standings(run: LoadedRunData) -> tuple[SystemStanding, ...]:
    """All standings of a run that has ended. A damaged file has none: the board shows values without ranks."""
    if run.is_running:
        return ()
    try:
        if (run.folder.path / HEADLINES).is_symlink():
            return ()
        if run.kind in _ITEMS:
            return read_comparable_run(run.folder.path).standings
        return read_standings(run.folder.path)
    except (EmbassayError, OSError, ValueError):
        return ()


def load_run_for_comparison(run: LoadedRunData) -> ComparableRun:
    """The same with items, for a comparison of two systems. DataError where there is nothing to compare."""
    return read_comparable_run(run.folder.path)


def _count_replicate_bytes(standings: Mapping[tuple[Place, str], SystemStanding]) -> int:
    return sum(standing.headline.replicates.nbytes + 200 for standing in standings.values())
