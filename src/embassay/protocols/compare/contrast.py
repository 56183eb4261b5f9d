"""The difference of two systems at one place, which way is better, and all that is known of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.compare.values import PerItem, Place, RunValues, Side, check_names, wanted
from embassay.protocols.kernel.comparisons import ALPHA, Standing
from embassay.protocols.kernel.estimates import DEFINED
from embassay.stats import (
    Freedom,
    PairTest,
    best_shares,
    compare_replicates,
    freedom_of_difference,
    randomization_test,
    rank_ranges,
    smallest_difference,
    t_quantile,
    t_tail,
    t_test,
    wilcoxon,
)
from embassay.stats.intervals import ROUNDING, shared_degrees, shared_freedom
from embassay.stats.ranks import not_meeting

METHOD = "paired bootstrap: t test of the difference with its bootstrap standard error"
UNPAIRED = "t test of the difference with the bootstrap standard errors of both runs"
_NONE = float("nan")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ByItem:
    """Tests on the differences of items: their number, the mean difference in standard deviations of the differences
    (`effect`, Cohen's d_z; NaN where they do not vary), p by random swaps of the sides and by Wilcoxon's signed ranks,
    and the Hodges-Lehmann shift."""

    n: int
    effect: float
    randomization_p: float
    wilcoxon_p: float
    shift: float


@dataclass(frozen=True)
class Contrast:
    """Value of `a` less value of `b`, in the measure's unit, with a 95% interval, the standard error behind it with its
    degrees of freedom `df`, and a two-sided p. `smallest` is the least true difference that the very test finds with
    80% power at 5%, with the correction for its `tests`.

    `difference` is None where a side has no value, the rest NaN where there is no interval; `reason` says why. Where
    every resample gives the same difference nothing is tested either: `error` is 0. `n` is the smaller number of items.
    `p_adjusted`, `smallest` and `tests`, the size of its family, are filled over a table by `adjusted`.
    """

    a: str
    b: str
    task: str
    dataset: str
    measure: str
    value_a: float | None
    value_b: float | None
    difference: float | None
    low: float = _NONE
    high: float = _NONE
    error: float = _NONE
    p: float = _NONE
    p_adjusted: float = _NONE
    smallest: float = _NONE
    n: int = 0
    method: str = ""
    by_item: ByItem | None = None
    reason: str = ""
    df: float = math.inf
    tests: int = 1
    disjoint: bool = False
    """Whether the two sides' own intervals do not meet."""


def contrast(
    a: Side, b: Side, *, paired: bool = True, most: float | None = None, seed: int = 1337
) -> Contrast:
    """Compare two sides of one place. Without pairing the errors of both add up, and items are not compared. `most` are
    the degrees of freedom of all systems of the place together (`stats.shared_freedom`)."""
    first, second = a.standing.headline, b.standing.headline
    task, dataset, measure = a.standing.place
    made = Contrast(
        a.name, b.name, task, dataset, measure, first.value, second.value, None, n=min(first.n, second.n)
    )
    for side in (first, second):
        if side.value is None:
            return replace(made, reason=f"{side.system}: {side.reason}")
    if a.standing.group != b.standing.group:
        return replace(made, reason="the two were scored by different methods")
    difference = float(first.value or 0.0) - float(second.value or 0.0)
    free = freedom_of_difference(first.resampled, second.resampled, paired=paired, most=most)
    error = _error(first.replicates, second.replicates, free, paired)
    made = replace(made, difference=difference, by_item=_by_item(a.items, b.items, seed) if paired else None)
    if math.isnan(error):
        return replace(made, reason="no interval: there is nothing to resample")
    if error <= ROUNDING * _scale(made):
        same = abs(difference) <= ROUNDING * _scale(made)
        why = "the two do not differ on any item" if same else "every resample gives the same difference"
        return replace(made, difference=0.0 if same else difference, error=0.0, reason=f"no test: {why}")
    half = t_quantile(0.975, free.df) * error
    p = t_test(difference, error, _scale(made), free.df)[1]
    return replace(
        made, low=difference - half, high=difference + half, error=error, df=free.df, p=p, p_adjusted=p,
        disjoint=not_meeting(first.interval, second.interval),
        smallest=smallest_difference(error, df=free.df), method=METHOD if paired else UNPAIRED,
    )  # fmt: skip


def one_sided(found: Contrast) -> float:
    """p of the test that `a` is no worse than `b`: small where a is worse. NaN without an interval.

    >>> made = Contrast("a", "b", "t", "", "m", 0.5, 0.6, -0.1, error=0.05)
    >>> round(one_sided(made), 4)
    0.0228
    """
    if found.difference is None or math.isnan(found.error):
        return _NONE
    score, _ = t_test(found.difference, found.error, _scale(found), found.df)
    if found.error == 0:
        return 0.0 if score < 0 else 1.0
    return t_tail(-score, found.df)


def without_test(found: Contrast, reason: str) -> Contrast:
    """The contrast without its test, and why."""
    return replace(found, p=_NONE, p_adjusted=_NONE, smallest=_NONE, low=_NONE, high=_NONE, reason=reason)


def corrected(found: Contrast, p_adjusted: float, tests: int) -> Contrast:
    """The contrast as one of so many tests, each of which must hold at 5% over all of them: what it detects is what the
    hardest step of Holm's lets through.

    >>> made = Contrast("a", "b", "t", "", "m", 0.5, 0.6, -0.1, error=0.05)
    >>> [round(corrected(made, 0.1, tests).smallest, 3) for tests in (1, 5)]
    [0.14, 0.171]
    """
    smallest = smallest_difference(found.error, alpha=ALPHA / tests, df=found.df)
    return replace(found, p_adjusted=p_adjusted, tests=tests, smallest=smallest)


def _scale(found: Contrast) -> float:
    return max(abs(found.value_a or 0.0), abs(found.value_b or 0.0))


def _error(first: Floats, second: Floats, free: Freedom, paired: bool) -> float:
    if not len(first) or not len(second):
        return _NONE
    if not paired:
        known = [draws[np.isfinite(draws)] for draws in (first, second)]
        return free.factor * math.hypot(*(float(np.std(draws, ddof=1)) for draws in known))
    if len(first) != len(second):
        return _NONE
    differences = first - second
    defined = differences[np.isfinite(differences)]
    return free.error(defined) if len(defined) >= DEFINED * len(differences) else _NONE


def _by_item(first: PerItem | None, second: PerItem | None, seed: int) -> ByItem | None:
    if first is None or second is None:
        return None
    # Kept or lost on both sides: an item with one value says nothing of a difference.
    shared = sorted(
        item
        for item in first.keys() & second.keys()
        if first[item] == first[item] and second[item] == second[item]
    )
    if len(shared) < 2:
        return None
    x, y = (np.array([side[item] for item in shared]) for side in (first, second))
    spread = float(np.std(x - y, ddof=1))
    effect = float(np.mean(x - y)) / spread if spread > 0 else _NONE
    swaps, ranks = randomization_test(x, y, seed=seed), wilcoxon(x - y)
    return ByItem(len(shared), effect, swaps.p, ranks.p, ranks.estimate)


LOWER = frozenset({"drop"})
"""Headlines that no registry lists: what noise costs."""


def higher_is_better(measure: str) -> bool:
    """True unless the measure is known to be better when lower, as `Harm@10`.

    >>> higher_is_better("overall"), higher_is_better("Harm@10"), higher_is_better("drop")
    (True, False, False)
    """
    from embassay.errors import UsageError
    from embassay.measures import MEASURES

    if measure in LOWER:
        return False
    try:
        facts = MEASURES.get(MEASURES.parse(measure).name).facts
    except UsageError:
        return True
    return dict(facts).get("direction") != "lower"


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
