"""Who may hold which rank in a column, who is likely to be best, who cannot be told apart: a paired test each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.compare.many import shared_draws
from embassay.protocols.comparisons import ALPHA
from embassay.protocols.standings import REFERENCE, Standing
from embassay.stats import best_shares, compare_replicates, freedom_of_difference, holm
from embassay.stats.ranks import PairTest

METHOD = (
    "Ranks are ranges: a system counts as better where a paired bootstrap test says so, with Holm's correction over "
    "all pairs of the column, alpha 0.05."
)
UNKNOWN = "nothing is kept of the items behind it"
UNTESTED = {
    "mteb": "published scores come without the items behind them",
    "sweep": "a sweep compares its stacks itself, in the report of its run",
}
"""By kind of board, why nothing is tested."""


@dataclass(frozen=True)
class Tested:
    """What tests say at one column, by system: `ranks`, `best` (share of resamples in which it is ahead of its group)
    and `alike` (those it cannot be told apart from). `top` are the first of the ranked group by value and its alike.
    `reason` says why there are none."""

    ranks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    best: Mapping[str, float] = field(default_factory=dict)
    alike: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    top: tuple[str, ...] = ()
    gap: tuple[float, float, float, float] | None = None
    """How far the first of the ranked group is ahead of the second: difference, low, high, adjusted p."""
    reason: str = ""


@dataclass(frozen=True)
class Pairs:
    """p of every pair of the systems `who` (each with what its replicates came from), not adjusted, (n, n)."""

    who: tuple[Hashable, ...] = ()
    p: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))


def told_apart(
    standings: Sequence[Standing],
    *,
    higher: bool,
    origins: Mapping[str, Hashable] | None = None,
    known: MutableMapping[str, Pairs] | None = None,
) -> Tested:
    """Test the standings of one place, those of each group among themselves; references are left out.

    `origins` says by system what its replicates came from, and `known` holds the pairs of each group from last time:
    pairs of the same origins are not tested again. It is brought up to date.
    """
    groups: dict[str, list[Standing]] = {}
    for one in standings:
        if one.group != REFERENCE and one.headline.value is not None:
            groups.setdefault(one.group, []).append(one)
    found = [_group(own, higher, origins or {}, known, group) for group, own in sorted(groups.items())]
    return Tested(
        {name: rank for one in found for name, rank in one.ranks.items()},
        {name: share for one in found for name, share in one.best.items()},
        {name: names for one in found for name, names in one.alike.items()},
        found[0].top if found else (),
        found[0].gap if found else None,
        found[0].reason if found else UNKNOWN,
    )


def _group(
    standings: Sequence[Standing],
    higher: bool,
    origins: Mapping[str, Hashable],
    known: MutableMapping[str, Pairs] | None,
    group: str,
) -> Tested:
    sign = 1.0 if higher else -1.0
    ordered = sorted(standings, key=lambda one: (-sign * (one.headline.value or 0.0), one.system))
    draws, reason = shared_draws(ordered)
    if reason:
        return Tested(reason=reason)
    those = _Field(
        ordered, sign * draws, sign * np.array([one.headline.value for one in ordered], dtype=np.float64)
    )
    before = known.get(group, Pairs()) if known is not None else Pairs()
    who = tuple((one.system, origins.get(one.system), draws.shape[1]) for one in ordered)
    pairs = Pairs(who, _p_values(those, who, before))
    if known is not None:
        known[group] = pairs
    return _said(those, pairs.p)


@dataclass(frozen=True)
class _Field:
    """Systems best first, with their replicates and values turned so that more is better."""

    standings: Sequence[Standing]
    draws: NDArray[np.float64]
    values: NDArray[np.float64]

    def tests(self, places: Sequence[int]) -> tuple[PairTest, ...]:
        """The tests of the systems at these places among themselves."""
        strata = [self.standings[i].headline.resampled for i in places]
        return compare_replicates(self.draws[list(places)], self.values[list(places)], strata=strata)


def _p_values(those: _Field, who: Sequence[Hashable], before: Pairs) -> NDArray[np.float64]:
    count = len(who)
    place = {one: i for i, one in enumerate(before.who)}
    old = [place.get(one, -1) for one in who]
    p = np.ones((count, count))
    kept = [i for i in range(count) if old[i] >= 0]
    if len(kept) < 2:
        for pair in those.tests(range(count)):
            p[pair.a, pair.b] = p[pair.b, pair.a] = pair.p
        return p
    p[np.ix_(kept, kept)] = before.p[np.ix_([old[i] for i in kept], [old[i] for i in kept])]
    for a, b in combinations(range(count), 2):
        if old[a] < 0 or old[b] < 0:
            p[a, b] = p[b, a] = those.tests((a, b))[0].p
    return p


def _said(those: _Field, p: NDArray[np.float64]) -> Tested:
    """Ranks and who cannot be told apart, from p adjusted by Holm over all pairs."""
    names = [one.system for one in those.standings]
    count = len(names)
    upper = np.triu_indices(count, 1)
    adjusted = np.ones((count, count))
    adjusted[upper] = holm(p[upper])
    adjusted = np.minimum(adjusted, adjusted.T)
    apart = adjusted < ALPHA
    better = apart & (those.values[:, None] > those.values[None, :])
    ranks = {
        name: (1 + int(better[:, i].sum()), count - int(better[i].sum())) for i, name in enumerate(names)
    }
    alike = {
        name: tuple(names[j] for j in range(count) if j != i and not apart[i, j])
        for i, name in enumerate(names)
    }
    first = those.tests((0, 1))[0]
    gap = (first.difference, first.low, first.high, float(adjusted[0, 1]))
    strata = [one.headline.resampled for one in those.standings[:2]]
    shares = best_shares(those.draws, those.values, freedom_of_difference(strata[0], strata[1]))
    best = dict(zip(names, shares.tolist(), strict=True))
    return Tested(ranks, best, alike, (names[0], *alike[names[0]]), gap)
