"""Who may hold which rank in a column, who is likely to be best, who cannot be told apart: a paired test each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from semblance.protocols.comparisons import ALPHA
from semblance.protocols.estimates import DEFINED
from semblance.protocols.standings import REFERENCE, Standing
from semblance.stats import compare_replicates

METHOD = (
    "Ranks are ranges: a system counts as better where a paired bootstrap test says so, with Holm's correction over "
    "all pairs of the column, alpha 0.05."
)
UNKNOWN = "no test: nothing is kept of the items behind it"


@dataclass(frozen=True)
class Tested:
    """What tests say at one column, by system: `ranks`, `best` (share of resamples in which it is ahead of its group)
    and `alike` (those it cannot be told apart from). `top` are the first of the ranked group by value and its alike.
    `reason` says why there are none."""

    ranks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    best: Mapping[str, float] = field(default_factory=dict)
    alike: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    top: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    """How many were ranked in the system's group."""
    gap: tuple[float, float, float, float] | None = None
    """How far the first of the ranked group is ahead of the second: difference, low, high, adjusted p."""
    reason: str = ""


def tested(standings: Sequence[Standing], *, higher: bool) -> Tested:
    """Test the standings of one place, those of each group among themselves; references are left out."""
    groups: dict[str, list[Standing]] = {}
    for one in standings:
        if one.group != REFERENCE and one.headline.value is not None:
            groups.setdefault(one.group, []).append(one)
    found = [_group(own, higher) for _, own in sorted(groups.items())]
    return Tested(
        {name: rank for one in found for name, rank in one.ranks.items()},
        {name: share for one in found for name, share in one.best.items()},
        {name: names for one in found for name, names in one.alike.items()},
        found[0].top if found else (),
        {name: size for one in found for name, size in one.sizes.items()},
        found[0].gap if found else None,
        found[0].reason if found else UNKNOWN,
    )


def _group(standings: Sequence[Standing], higher: bool) -> Tested:
    sign = 1.0 if higher else -1.0
    known = sorted(standings, key=lambda one: (-sign * (one.headline.value or 0.0), one.system))
    names = [one.system for one in known]
    draws, reason = _draws(known)
    if reason:
        return Tested(reason=reason)
    values = np.array([one.headline.value for one in known], dtype=np.float64)
    count = len(names)
    beats, beaten = [0] * count, [0] * count
    alike: list[list[str]] = [[] for _ in names]
    gap = None
    strata = [one.headline.resampled for one in known]
    for pair in compare_replicates(sign * draws, sign * values, strata=strata):
        if (pair.a, pair.b) == (0, 1):
            gap = (pair.difference, pair.low, pair.high, pair.p_adjusted)
        if pair.p_adjusted >= ALPHA:
            alike[pair.a].append(names[pair.b])
            alike[pair.b].append(names[pair.a])
            continue
        winner, loser = (pair.a, pair.b) if pair.difference > 0 else (pair.b, pair.a)
        beats[winner] += 1
        beaten[loser] += 1
    ranks = {name: (1 + beaten[i], count - beats[i]) for i, name in enumerate(names)}
    best = dict(zip(names, _best(sign * draws), strict=True))
    of = {name: tuple(others) for name, others in zip(names, alike, strict=True)}
    return Tested(ranks, best, of, (names[0], *of[names[0]]), dict.fromkeys(names, count), gap)


def _draws(known: Sequence[Standing]) -> tuple[NDArray[np.float64], str]:
    lengths = {len(one.headline.replicates) for one in known}
    if len(known) < 2:
        return np.empty((0, 0)), "fewer than two systems with a value"
    if len(lengths) != 1 or lengths == {0}:
        return np.empty((0, 0)), "no interval: there is nothing to resample"
    draws = np.stack([one.headline.replicates for one in known])
    defined = np.isfinite(draws).all(axis=0)
    return draws[:, defined], "" if defined.mean() >= DEFINED else "no interval: too few items"


def _best(draws: NDArray[np.float64]) -> list[float]:
    """Ties are shared out."""
    top = draws == draws.max(axis=0)
    return [float(share) for share in (top / top.sum(axis=0)).mean(axis=1)]
