"""No worse than an earlier run: paired one-sided tests, corrected together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from embassay.errors import UsageError
from embassay.protocols.compare import (
    Contrast,
    Place,
    RunValues,
    Side,
    contrast,
    higher_is_better,
    one_sided,
    pairing,
)
from embassay.protocols.compare.values import wanted
from embassay.protocols.gate.bars import Verdict
from embassay.stats import holm


@dataclass(frozen=True)
class _Test:
    place: Place
    system: str
    found: Contrast | None
    p: float = math.nan
    reason: str = ""
    """Why it is not a test; empty where it is one."""
    stops: bool = False


def judged_against(
    now: RunValues,
    base: RunValues,
    *,
    alpha: float = 0.05,
    margin: float = 0.0,
    systems: Sequence[str] = (),
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
) -> tuple[Verdict, ...]:
    """Whether each ranked system of the earlier run is no worse now, at every headline over datasets.

    A test says worse where the difference is below -`margin` (above, where lower is better) with a one-sided p, by Holm
    over all tests of the call, below `alpha`: with nothing changed, the chance of any false alarm is at most about
    alpha. Runs whose items differ are tested unpaired, which every verdict says: such a test needs a larger fall. What
    has no value in one of the runs, no interval, or did not change on any item is not tested; the gate stops for a
    value that is gone, and for a fall without an interval. Raises UsageError for runs of two protocols, or where
    nothing is left to compare.
    """
    if now.protocol != base.protocol:
        raise UsageError(
            f"{base.path} is a {base.protocol} run and {now.path} a {now.protocol} run.",
            mend="Give runs of one protocol.",
        )
    base.check(systems)
    how = pairing(now.manifest, base.manifest)
    tests = [
        _tested(now, base, place, system, paired=how.paired, margin=margin)
        for place in _places(base, tasks, measures)
        for system in systems or [one.system for one in base.at(place)]
        if base.standing(place, system) is not None
    ]
    if not tests:
        raise UsageError(f"{base.path} has nothing of that to compare with.", mend="Leave out -s, -t or -m.")
    return tuple(_verdicts(tests, alpha, margin, now.protocol, how.reason))


def _places(base: RunValues, tasks: Sequence[str], measures: Sequence[str]) -> list[Place]:
    """Over datasets, where the run has that; a run of one kind of dataset has its own only."""
    named = [place for place in base.places if wanted(place, tasks, measures)]
    return [place for place in named if not place[1]] or named


def _tested(
    now: RunValues, base: RunValues, place: Place, system: str, *, paired: bool, margin: float
) -> _Test:
    before, after = base.standing(place, system), now.standing(place, system)
    if before is None or before.headline.value is None:
        return _Test(place, system, None, reason="it had no value before")
    if after is None or after.headline.value is None:
        why = after.headline.reason if after else "not in this run"
        return _Test(place, system, None, reason=f"no value now: {why}", stops=True)
    found = contrast(Side(after), Side(before), paired=paired)
    sign = 1.0 if higher_is_better(place[2]) else -1.0
    shifted = replace(found, difference=sign * (found.difference or 0.0) + margin)
    if math.isnan(found.p):
        same = found.error == 0 and found.difference == 0
        if same and None not in (*after.headline.interval, *before.headline.interval):
            return _Test(place, system, found, 1.0)
        fell = (shifted.difference or 0.0) < 0
        why = f"it fell, and it cannot be said whether by chance: {found.reason}" if fell else found.reason
        return _Test(place, system, found, reason=why, stops=fell)
    return _Test(place, system, found, one_sided(shifted))


def _verdicts(
    tests: Sequence[_Test], alpha: float, margin: float, protocol: str, unpaired: str
) -> Iterator[Verdict]:
    tested = [one.p for one in tests if one.p < 1]
    corrected = iter(holm(tested) if tested else ())
    measures: dict[str, set[str]] = {}
    for one in tests:
        measures.setdefault(one.place[0], set()).add(one.place[2])
    for one in tests:
        task, dataset, measure = one.place
        what = f"{task}.{measure}" if len(measures[task]) > 1 else task
        inside = f"{one.system},dataset={dataset}" if dataset else one.system
        bar = f"{protocol}.{what}[{inside}] no worse" + (f" than -{margin:g}" if margin else "")
        p = next(corrected) if one.p < 1 else one.p
        yield _verdict(one, bar, p, alpha, protocol, unpaired)


def _verdict(one: _Test, bar: str, p: float, alpha: float, protocol: str, unpaired: str) -> Verdict:
    found = one.found
    made = Verdict(bar, None, None, reason=one.reason, scale=protocol, is_change=True, stops=one.stops)
    if found is None:
        return made
    low, high = (None if math.isnan(end) else end for end in (found.low, found.high))
    made = replace(made, value=found.difference, low=low, high=high, n=found.n)
    if one.reason:
        return made
    worse = p < alpha
    reason = f"p {p:.3g} (one-sided, Holm) is below {alpha:g}" if worse else ""
    return replace(made, met=not worse, reason=reason, unpaired=unpaired, stops=worse)
