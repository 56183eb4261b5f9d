"""How sure a difference is: two systems of a run, one system in two runs, or all that a run ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from embassay.errors import EmbassayError, UsageError
from embassay.protocols.kernel.comparisons import ALPHA, OVERALL, SystemStanding, clip_difference_interval
from embassay.protocols.kernel.estimates import DEFINED
from embassay.protocols.kernel.outcome import render_terminal_view, render_view_as_html
from embassay.protocols.run_values import (
    ComparableRun,
    PerItem,
    Place,
    SystemStandingWithItemValues,
    check_tasks_measures_datasets_in_run,
    is_higher_measure_better,
    is_value_place_selected,
    read_comparable_run,
)
from embassay.runs.folder import MANIFEST, RunFolder, make_distinct_folder_names
from embassay.stats import (
    Estimate,
    Freedom,
    PairTest,
    Significance,
    best_shares,
    compare_replicates,
    freedom_of_difference,
    hodges_lehmann,
    holm,
    mixed_mean,
    randomization_test,
    smallest_difference,
    t_quantile,
    t_tail,
    t_test,
    wilcoxon,
)
from embassay.stats.intervals import ROUNDING, find_pooled_degrees_of_differences, pool_freedom_over_pair_differences
from embassay.stats.ranks import make_rank_ranges

METHOD = "paired bootstrap: t test of the difference with its bootstrap standard error"
UNPAIRED = "t test of the difference with the bootstrap standard errors of both runs"
MOST_RUNS = 200
"""Folders that are looked at for a run to name."""
_NONE = float("nan")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ItemDifferenceTests:
    """Tests on the differences of items: their number, the mean difference in standard deviations of the differences
    (`effect`, Cohen's d_z; NaN where they do not vary), p from a permutation test and a Wilcoxon signed-rank test,
    and the Hodges-Lehmann shift."""

    n: int
    effect: float
    randomization_p: float
    wilcoxon_p: float
    shift: float


@dataclass(frozen=True)
class SystemContrast:
    """Value of `a` less value of `b`, in the measure's unit, with a 95% interval, the standard error behind it with its
    degrees of freedom `df`, and a two-sided p. `smallest` is the least true difference that the very test finds with
    80% power at 5%, with the correction for its `tests`.

    `difference` is None where a side has no value, the rest NaN where there is no interval; `reason` says why. Where
    every resample gives the same difference nothing is tested either: `error` is 0. `n` is the smaller number of items.
    `p_adjusted`, `smallest` and `tests`, the size of its family,
    are filled over a table by `correct_contrasts_by_holm`.
    `judged_less` is the one of which fewer passages are graded: it is not declared worse.
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
    by_item: ItemDifferenceTests | None = None
    reason: str = ""
    df: float = math.inf
    tests: int = 1
    judged_less: str = ""


def contrast_two_systems_by_test(
    a: SystemStandingWithItemValues,
    b: SystemStandingWithItemValues,
    *,
    paired: bool = True,
    most: float | None = None,
    seed: int = 1337,
) -> SystemContrast:
    """Compare two sides of one place. Without pairing the errors of both add up, and items are not compared. `most` are
    the degrees of freedom of all systems of the place together (`stats.pool_freedom_over_pair_differences`)."""
    first, second = a.standing.headline, b.standing.headline
    task, dataset, measure = a.standing.place
    made = SystemContrast(
        a.name, b.name, task, dataset, measure, first.value, second.value, None, n=min(first.n, second.n)
    )
    for side in (first, second):
        if side.value is None:
            return replace(made, reason=f"{side.system}: {side.reason}")
    if a.standing.group != b.standing.group:
        return replace(made, reason="the two were scored by different methods")
    difference = float(first.value or 0.0) - float(second.value or 0.0)
    free = freedom_of_difference(
        first.list_separately_resampled_strata, second.list_separately_resampled_strata, paired=paired, most=most
    )
    error = _compute_difference_error(first.replicates, second.replicates, free, paired)
    made = replace(
        made, difference=difference, by_item=_test_item_differences(a.items, b.items, seed) if paired else None
    )
    if math.isnan(error):
        return replace(made, reason="no interval: there is nothing to resample")
    if error <= ROUNDING * _find_larger_magnitude_of_contrast(made):
        apart = 0.0 if abs(difference) <= ROUNDING * _find_larger_magnitude_of_contrast(made) else difference
        return replace(made, difference=apart, error=0.0, reason=_explain_unvaried_difference(apart))
    half = t_quantile(0.975, free.df) * error
    low, high = clip_difference_interval(difference - half, difference + half, first, second)
    p = t_test(difference, error, _find_larger_magnitude_of_contrast(made), free.df)[1]
    return replace(
        made, low=low, high=high, error=error, df=free.df, p=p, p_adjusted=p,
        smallest=smallest_difference(error, df=free.df), method=METHOD if paired else UNPAIRED
    )  # fmt: skip


def find_known_contrast(
    run: ComparableRun, a: SystemStandingWithItemValues, b: SystemStandingWithItemValues, seed: int = 1337
) -> SystemContrast | None:
    """Two sides of one run at one place, as the run itself states their contrast; None where it states none."""
    place = a.standing.place
    known = run.find_known_contrast(place, a.name, b.name)
    if known is None:
        return None
    first, second = a.standing.headline, b.standing.headline
    made = SystemContrast(
        a.name, b.name, *place, first.value, second.value, known.difference, error=known.error, n=known.n,
        by_item=_test_item_differences(a.items, b.items, seed)
    )  # fmt: skip
    if known.low is None or known.high is None:
        return replace(made, reason=_explain_unvaried_difference(known.difference))
    smallest = smallest_difference(known.error, df=known.df)
    return replace(
        made, low=known.low, high=known.high, df=known.df, p=known.p, p_adjusted=known.p, smallest=smallest,
        method=known.method, judged_less=known.judged_less
    )  # fmt: skip


def _explain_unvaried_difference(difference: float) -> str:
    why = "every resample gives the same difference" if difference else "the two do not differ on any item"
    return f"no test: {why}"


def compute_one_sided_p(found: SystemContrast) -> float:
    """p of the test that `a` is no worse than `b`: small where a is worse. NaN without an interval.

    >>> made = SystemContrast("a", "b", "t", "", "m", 0.5, 0.6, -0.1, error=0.05)
    >>> round(compute_one_sided_p(made), 4)
    0.0228
    """
    if found.difference is None or math.isnan(found.error):
        return _NONE
    score, _ = t_test(found.difference, found.error, _find_larger_magnitude_of_contrast(found), found.df)
    # Without any spread a loss is certain, and anything else is no loss.
    if found.error == 0:
        return 0.0 if score < 0 else 1.0
    return t_tail(-score, found.df)


def drop_contrast_test(found: SystemContrast, reason: str) -> SystemContrast:
    """The contrast without its test, and why."""
    return replace(found, p=_NONE, p_adjusted=_NONE, smallest=_NONE, low=_NONE, high=_NONE, reason=reason)


def correct_contrast_p(found: SystemContrast, p_adjusted: float, tests: int) -> SystemContrast:
    """The contrast as one of so many tests, each of which must hold at 5% over all of them: what it detects is what the
    hardest step of Holm's lets through.

    >>> made = SystemContrast("a", "b", "t", "", "m", 0.5, 0.6, -0.1, error=0.05)
    >>> [round(correct_contrast_p(made, 0.1, tests).smallest, 3) for tests in (1, 5)]
    [0.14, 0.171]
    """
    smallest = smallest_difference(found.error, alpha=ALPHA / tests, df=found.df)
    return replace(found, p_adjusted=p_adjusted, tests=tests, smallest=smallest)


def _find_larger_magnitude_of_contrast(found: SystemContrast) -> float:
    return max(abs(found.value_a or 0.0), abs(found.value_b or 0.0))


def _compute_difference_error(first: Floats, second: Floats, free: Freedom, paired: bool) -> float:
    if not len(first) or not len(second):
        return _NONE
    if not paired:
        known = [draws[np.isfinite(draws)] for draws in (first, second)]
        return free.factor * math.hypot(*(float(np.std(draws, ddof=1)) for draws in known))
    # Paired resamples come one after the other from one stream: the first of both are of the same items.
    both = min(len(first), len(second))
    differences = first[:both] - second[:both]
    defined = differences[np.isfinite(differences)]
    return free.error(defined) if len(defined) >= DEFINED * len(differences) else _NONE


def _test_item_differences(first: PerItem | None, second: PerItem | None, seed: int) -> ItemDifferenceTests | None:
    if first is None or second is None:
        return None
    # Kept or lost on both sides: an item with one value says nothing of a difference.
    shared = sorted(
        item for item in first.keys() & second.keys() if first[item] == first[item] and second[item] == second[item]
    )
    if len(shared) < 2:
        return None
    x, y = (np.array([side[item] for item in shared]) for side in (first, second))
    spread = float(np.std(x - y, ddof=1))
    effect = float(np.mean(x - y)) / spread if spread > 0 else _NONE
    swaps, ranks = randomization_test(x, y, seed=seed), wilcoxon(x - y)
    return ItemDifferenceTests(len(shared), effect, swaps.p, ranks.p, ranks.point)


@dataclass(frozen=True, kw_only=True)
class SystemRankAtPlace(Estimate):
    """A system at a place. `best` is how likely it is ahead of all (ties shared out), by its resamples; ranks are
    None where the place has no tests."""

    system: str
    rank_low: int | None = None
    rank_high: int | None = None
    best: float | None = None


@dataclass(frozen=True)
class RankedSystemGroup:
    """The systems of one group at a place, best first. `groups` are the runs of neighbours that no test tells apart, by
    position, each as long as can be; a system may be in several, so being in one is not being equal. `reason` says why
    there are no tests. `missing` are systems without a value, with their reasons. `floor` is what the best reference,
    which knows nothing, scores there, and `method` that of the tests."""

    task: str
    dataset: str
    measure: str
    group: str
    entrants: tuple[SystemRankAtPlace, ...]
    groups: tuple[tuple[int, int], ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    floor: float | None = None
    method: str = METHOD


def list_ranked_system_groups(
    run: ComparableRun, tasks: Sequence[str] = (), datasets: Sequence[str] = (), measures: Sequence[str] = ()
) -> Iterator[RankedSystemGroup]:
    """Every place of a run as fields, one per group of systems. UsageError for a name that is not in the run."""
    check_tasks_measures_datasets_in_run(run, tasks, measures, datasets)
    for place in run.value_places:
        if not is_value_place_selected(place, tasks, measures) or (datasets and place[1] not in datasets):
            continue
        every = run.at(place)
        for group in dict.fromkeys(one.group for one in every):
            own = [one for one in every if one.group == group]
            made = make_ranked_system_group(place, group, own, run.explain_no_verdict(place), run)
            how = next((known.method for known in run.known if known.place == place), METHOD)
            yield replace(
                made, floor=run.find_best_reference_score(place, higher=is_higher_measure_better(place[2])), method=how
            )


def make_ranked_system_group(
    place: Place,
    group: str,
    standings: Sequence[SystemStanding],
    no_verdict: str = "",
    run: ComparableRun | None = None,
) -> RankedSystemGroup:
    """One field, of a `run` that may state its own tests. Ranks are by paired bootstrap t tests, Holm over its pairs,
    alpha 0.05. There are none where `no_verdict` says why."""
    task, dataset, measure = place
    sign = 1.0 if is_higher_measure_better(measure) else -1.0
    known = [standing for standing in standings if standing.headline.value is not None]
    known.sort(key=lambda one: (-sign * (one.headline.value or 0.0), one.system))
    missing = tuple(
        (standing.system, standing.headline.reason) for standing in standings if standing.headline.value is None
    )
    entrants = tuple(_make_system_rank_at_place(one) for one in known)
    draws, reason = stack_shared_replicates(known)
    reason = reason or no_verdict
    if reason:
        return RankedSystemGroup(task, dataset, measure, group, entrants, (), missing, reason)
    values = np.array([one.headline.value for one in known], dtype=np.float64)
    strata = [one.headline.list_separately_resampled_strata for one in known]
    tests = list_system_pair_tests(known, run)
    ranges = make_rank_ranges(
        [replace(test, difference=sign * test.difference) for test in tests], len(known), alpha=ALPHA
    )
    free = pool_freedom_over_pair_differences(strata) or freedom_of_difference(strata[0], strata[1])
    best = best_shares(sign * draws, sign * values, free).tolist()
    entrants = tuple(
        replace(entrant, rank_low=low, rank_high=high, best=share)
        for entrant, (low, high), share in zip(entrants, ranges, best, strict=True)
    )
    return RankedSystemGroup(
        task, dataset, measure, group, entrants, _group_indistinguishable(tests, len(known)), missing
    )


def _make_system_rank_at_place(one: SystemStanding) -> SystemRankAtPlace:
    low, high = one.headline.interval
    return SystemRankAtPlace(float(one.headline.value or 0.0), low, high, one.headline.n, system=one.system)


def list_system_pair_tests(known: Sequence[SystemStanding], run: ComparableRun | None = None) -> tuple[PairTest, ...]:
    """The tests of every pair of systems with values at one place, first minus second, as the `run` states them where
    it does; none where they cannot be tested."""
    stated = (
        run.find_pair_tests(known[0].place, [standing.system for standing in known])
        if run is not None and known
        else None
    )
    if stated is not None:
        return stated
    draws, reason = stack_shared_replicates(known)
    if reason:
        return ()
    values = [one.headline.value or 0.0 for one in known]
    return compare_replicates(draws, values, strata=[one.headline.list_separately_resampled_strata for one in known])


def find_shared_degrees_of_freedom(standings: Sequence[SystemStanding], group: str) -> float | None:
    """The degrees of freedom that the differences of a group's systems have together, where they have."""
    known = [standing for standing in standings if standing.group == group and standing.headline.value is not None]
    return find_pooled_degrees_of_differences([one.headline.list_separately_resampled_strata for one in known])


def stack_shared_replicates(known: Sequence[SystemStanding]) -> tuple[NDArray[np.float64], str]:
    """The replicates of systems, (systems, B), on the resamples where all are defined; or why they cannot be tested."""
    lengths = {len(one.headline.replicates) for one in known}
    if len(known) < 2:
        return np.empty((0, 0)), "fewer than two systems with a value"
    if len(lengths) != 1 or lengths == {0}:
        return np.empty((0, 0)), "no interval: there is nothing to resample"
    draws = np.stack([one.headline.replicates for one in known])
    defined = np.isfinite(draws).all(axis=0)
    return draws[:, defined], "" if defined.mean() >= DEFINED else "no interval: too few items"


def _group_indistinguishable(pairs: Sequence[PairTest], systems: int) -> tuple[tuple[int, int], ...]:
    apart = {(pair.a, pair.b) for pair in pairs if pair.apart(ALPHA)}
    found: list[tuple[int, int]] = []
    for first in range(systems):
        last = first
        while last + 1 < systems and not any((i, last + 1) in apart for i in range(first, last + 1)):
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return tuple(found)


@dataclass(frozen=True)
class DifferenceAcrossDatasets:
    """What several datasets say together: the Hodges-Lehmann shift of their differences with Wilcoxon's test, and their
    mean with an interval for further datasets. With few datasets neither can say much: five give no p below 0.06."""

    task: str
    measure: str
    datasets: int
    shift: Estimate
    test: Significance
    mean: Estimate


@dataclass(frozen=True)
class SystemPairComparison:
    """All contrasts of `a` and `b`, p corrected by Holm within each family, and what datasets say together. `among` is
    the same question as the run's ranks ask it, where these are of more than the two."""

    contrasts: tuple[SystemContrast, ...]
    across: tuple[DifferenceAcrossDatasets, ...]
    pairing: ReplicatePairingVerdict
    among: CorrectedTestOfSystemPair | None = None


@dataclass(frozen=True)
class CorrectedTestOfSystemPair:
    """The test of the first contrast among all pairs of the systems that a run ranks there: p corrected by Holm over so
    many `pairs`, and whether the ranks tell the two `apart`."""

    pairs: int
    p_adjusted: float
    apart: bool


def compare_systems(
    first: ComparableRun,
    a: str,
    b: str,
    second: ComparableRun | None = None,
    *,
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
    seed: int = 1337,
) -> SystemPairComparison:
    """`a` of `first` against `b` of `second` (the same run where left out), at every place that both have. Where both
    are one name, the contrasts add that of the run to it.

    Raises UsageError for a system or a task that is not there, or one system against itself.
    """
    other = second or first
    first.check([a])
    other.check([b])
    if a == b and second is None:
        raise UsageError(f"{a!r} is compared with itself.", mend="Name two systems, or a second run.")
    check_tasks_measures_datasets_in_run(first, tasks, measures)
    how = determine_replicate_pairing(first.manifest, other.manifest) if second else ReplicatePairingVerdict(True)
    found = []
    for place in dict.fromkeys((*first.value_places, *other.value_places)):
        sides = first.find_system_values_at_place(place, a), other.find_system_values_at_place(place, b)
        if sides[0] is not None and sides[1] is not None and is_value_place_selected(place, tasks, measures):
            why = first.explain_no_verdict(place) or other.explain_no_verdict(place)
            most = None if second else find_shared_degrees_of_freedom(first.at(place), sides[0].standing.group)
            stated = None if second else find_known_contrast(first, sides[0], sides[1], seed)
            paired = determine_replicate_pairing_at_place(how, place, first, other).paired if second else True
            made = stated or contrast_two_systems_by_test(sides[0], sides[1], paired=paired, most=most, seed=seed)
            if data := explain_differing_datasets(first, other, place):
                made = replace(drop_contrast_test(made, data), difference=None, error=_NONE, by_item=None)
            made = drop_contrast_test(made, f"no verdict: {why}") if why and not data else made
            # Within one run the record itself says who is judged less; across two it is worked out here.
            found.append(_add_run_names_to_contrast(made, first, second) if second else made)
    if not found:
        raise UsageError(
            f"{a} and {b} have no scores in common.", mend="Give two systems or runs of the same protocol."
        )
    contrasts = correct_contrasts_by_holm(found)
    among = None if second else _find_rank_test(first, choose_verdict_contrast(contrasts), a, b)
    return SystemPairComparison(contrasts, tuple(_compare_pair_over_datasets(contrasts, seed)), how, among)


def explain_differing_datasets(first: ComparableRun, second: ComparableRun, place: Place) -> str:
    """Why a mean over datasets does not compare two runs: they have it over different ones, so that their difference
    is one of texts, not of systems. Empty where it does."""
    task, dataset, _ = place
    ours, theirs = first.list_task_datasets(task), second.list_task_datasets(task)
    if dataset or ours == theirs:
        return ""
    runs = zip(make_distinct_folder_names([first.path, second.path]), (ours - theirs, theirs - ours), strict=True)
    only = [f"{', '.join(sorted(names)[:3])}{' ...' * (len(names) > 3)} only in {run}" for run, names in runs if names]
    return f"the runs have different data: {'; '.join(only)}"


def choose_verdict_contrast(contrasts: Sequence[SystemContrast]) -> SystemContrast:
    """What the verdict is on: the first difference over datasets that has a value."""
    known = [one for one in contrasts if one.difference is not None]
    return next((one for one in known if not one.dataset), (known or contrasts)[0])


def _find_rank_test(run: ComparableRun, one: SystemContrast, a: str, b: str) -> CorrectedTestOfSystemPair | None:
    """Find the run's rank test of two systems; None where it ranks only these, or not both."""
    place = (one.task, one.dataset, one.measure)
    groups = {own.group for own in run.at(place) if own.system in (a, b)}
    known = [own for own in run.at(place) if own.headline.value is not None and {own.group} == groups]
    names = [own.system for own in known]
    if len(names) < 3 or a not in names or b not in names or math.isnan(one.p):
        return None
    found = list_system_pair_tests(known, run)
    here = next((pair for pair in found if {names[pair.a], names[pair.b]} == {a, b}), None)
    return None if here is None else CorrectedTestOfSystemPair(len(found), here.p_adjusted, here.apart())


def _add_run_names_to_contrast(made: SystemContrast, first: ComparableRun, second: ComparableRun) -> SystemContrast:
    """One system in two runs is told by the run: `minilm (june)`. Which of the two is judged less is said of these
    names."""
    less = first.find_less_judged_run(second, made.measure, (made.a, made.b), made.difference)
    a, b = made.a, made.b
    if a == b:
        before, after = make_distinct_folder_names([first.path, second.path])
        a, b = f"{a} ({before})", f"{b} ({after})"
    return replace(made, a=a, b=b, judged_less={"first": a, "second": b}.get(less, ""))


def correct_contrasts_by_holm(contrasts: Iterable[SystemContrast]) -> tuple[SystemContrast, ...]:
    """The same with p corrected by Holm within each family, over those that have one: the overall score alone, the
    parts that it is made of, and the datasets of these."""
    every = list(contrasts)
    families: dict[tuple[bool, bool], list[int]] = {}
    for i, one in enumerate(every):
        if not math.isnan(one.p):
            families.setdefault((one.task == OVERALL, bool(one.dataset)), []).append(i)
    for family in families.values():
        known = holm([every[i].p for i in family])
        for i, p_adjusted in zip(family, known, strict=True):
            every[i] = correct_contrast_p(every[i], p_adjusted, len(family))
    return tuple(every)


def _compare_pair_over_datasets(contrasts: Sequence[SystemContrast], seed: int) -> Iterable[DifferenceAcrossDatasets]:
    of_task: dict[tuple[str, str], list[float]] = {}
    for one in contrasts:
        if one.dataset and one.difference is not None:
            of_task.setdefault((one.task, one.measure), []).append(one.difference)
    for (task, measure), differences in of_task.items():
        if len(differences) > 1:
            d = np.array(differences)
            mean = mixed_mean(d, range(len(d)), [0] * len(d))
            yield DifferenceAcrossDatasets(task, measure, len(d), hodges_lehmann(d, seed=seed), wilcoxon(d), mean)


_SAME = ("seed", "limit", "tasks", "options", "split", "grades", "tokenizer")
"""Arguments on which items, their edits and their resamples depend."""


@dataclass(frozen=True)
class ReplicatePairingVerdict:
    """`paired` where replicate b of both runs comes from one resample of the same items; else `reason` says why not."""

    paired: bool
    reason: str = ""


def determine_replicate_pairing(first: Mapping[str, Any], second: Mapping[str, Any]) -> ReplicatePairingVerdict:
    """Compare the manifests of two runs.

    >>> run = {"protocol": "sage", "arguments": {"seed": 1}, "datasets": [{"name": "a", "fingerprint": "f"}]}
    >>> determine_replicate_pairing(run, run).paired, determine_replicate_pairing(run, {**run, "arguments": {
    ...     "seed": 2}}).reason
    (True, 'seed differs: 1 and 2')
    """
    if first.get("protocol") != second.get("protocol"):
        return ReplicatePairingVerdict(False, f"protocol differs: {first.get('protocol')} and {second.get('protocol')}")
    if first.get("resampling") != second.get("resampling"):
        return ReplicatePairingVerdict(False, "the runs come from releases that draw resamples differently")
    ours, theirs = first.get("arguments") or {}, second.get("arguments") or {}
    for name in _SAME:
        if ours.get(name) != theirs.get(name):
            return ReplicatePairingVerdict(False, f"{name} differs: {ours.get(name)} and {theirs.get(name)}")
    data = [
        {dataset["name"]: dataset.get("fingerprint") for dataset in run.get("datasets", ())} for run in (first, second)
    ]
    for name in data[0].keys() & data[1].keys():
        if data[0][name] != data[1][name]:
            return ReplicatePairingVerdict(False, f"the runs have different data for {name}")
    return ReplicatePairingVerdict(True)


def determine_replicate_pairing_at_place(
    how: ReplicatePairingVerdict, place: Place, first: ComparableRun, second: ComparableRun
) -> ReplicatePairingVerdict:
    """Compare the manifests of two runs at one place, to see whether their replicates pair."""
    if not how.paired:
        return how
    if reason := first.unpaired.get(place[2]) or second.unpaired.get(place[2]):
        return ReplicatePairingVerdict(False, reason)
    if first.groups != second.groups:
        return ReplicatePairingVerdict(False, "the runs group their items differently")
    return how


class HasRunFolder(Protocol):
    """What has the folder of a run, as `embassay.sage.run` gives it."""

    @property
    def path(self) -> Path | None:
        """The folder."""


@dataclass(frozen=True)
class SystemsComparison:
    """Two systems (`pair`), or all systems of a run (`list_ranked_system_groups`). Printed, it is what the command
    says."""

    protocol: str
    pair: SystemPairComparison | None = None
    fields: tuple[RankedSystemGroup, ...] = ()

    @property
    def contrasts(self) -> tuple[SystemContrast, ...]:
        """First minus second at every place that both have: the overall score first, then tasks and datasets. Empty for
        all systems of a run."""
        return self.pair.contrasts if self.pair else ()

    @property
    def leading(self) -> SystemContrast:
        """The contrast that the verdict is about. UsageError for all systems of a run, which have none."""
        if not self.contrasts:
            raise UsageError("A difference needs two systems.", mend="Name two systems.")
        return choose_verdict_contrast(self.contrasts)

    def __str__(self) -> str:
        """Verdict, table and notes in 80 columns."""
        view = "compared_pair_view" if self.pair else "ranked_groups_view"
        return render_terminal_view(view, self.pair or self.fields, self.protocol)

    def _repr_html_(self) -> str:
        """The comparison as HTML, for a notebook."""
        view = "compared_pair_view" if self.pair else "ranked_groups_view"
        return render_view_as_html(view, self.pair or self.fields, self.protocol)


def compare(
    *runs: str | Path | HasRunFolder,
    a: str | None = None,
    b: str | None = None,
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
    datasets: Sequence[str] = (),
    seed: int = 1337,
) -> SystemsComparison:
    """System `a` against `b` in one run; `a` in a run against `b` (by default `a`) in a second; without names, all
    systems of a run. `runs` are folders, or runs as `embassay.open_run` gives them.

    Differences are paired over the same items where both runs have them. p is corrected by Holm within each family: the
    overall score alone, its parts among themselves. `tasks` and `measures` keep these alone, `datasets` too for all
    systems; `seed` is that of the random swaps.

    Raises UsageError for a name that is not in the run, DataError for a folder without a run.
    """
    if not 1 <= len(runs) <= 2:
        names = [str(run) for run in runs[1:] if isinstance(run, str | Path) and not Path(run).exists()]
        by = f" Name systems with a and b: -a {names[0]} -b {names[1]}." if len(names) == 2 else ""
        raise UsageError(f"{len(runs)} runs are given.", mend=f"Give one or two runs.{by}")
    folders = [find_run_folder(run) for run in runs]
    if len(folders) == 2 and not any(folder.exists() for folder in folders):
        names = [str(folder) for folder in folders]
        run = quote(str(next(iter(find_runs_with_systems(names, Path())), "RUN")))
        first, second = map(quote, names)
        raise UsageError(
            f"{names[0]} and {names[1]} are not run folders.",
            mend=f"To compare two systems of a run: embassay compare {run} -a {first} -b {second}.",
        )
    read = [read_comparable_run(folder) for folder in folders]
    protocol = read[0].protocol_name
    if a is None and b is None and len(read) == 1:
        return SystemsComparison(protocol, fields=tuple(list_ranked_system_groups(read[0], tasks, datasets, measures)))
    if datasets:
        raise UsageError(
            "A dataset was selected, but two systems are compared over all datasets.",
            mend="Leave out the dataset, or leave out the names of the systems.",
        )
    if a is None:
        raise UsageError("The system to compare, a, is missing.", mend="Name a, or leave out b as well.")
    if b is None and len(read) == 1:
        raise UsageError("The system to compare with, b, is missing.", mend="Name b, or give a second run.")
    pair = compare_systems(read[0], a, b or a, *read[1:], tasks=tasks, measures=measures, seed=seed)
    return SystemsComparison(protocol, pair)


def find_runs_with_systems(systems: Sequence[str], folder: Path) -> list[Path]:
    """The runs in a folder, one or two levels below it, that have all of these systems: the latest first."""
    manifests = [path for depth in ("*", "*/*") for path in islice(folder.glob(f"{depth}/{MANIFEST}"), MOST_RUNS)]
    manifests.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [path.parent for path in manifests if _has_systems(path.parent, systems)]


def _has_systems(run: Path, systems: Sequence[str]) -> bool:
    try:
        manifest = RunFolder(run).read_manifest() or {}
        names = {system["name"] for system in manifest.get("systems", ())}
    except (EmbassayError, KeyError, TypeError):  # what is broken is no run to name
        return False
    return names.issuperset(systems)


def find_run_folder(run: str | Path | HasRunFolder) -> Path:
    """The folder of a run that is given as a path or as a run. UsageError for a run that kept none."""
    if isinstance(run, str | Path):
        return Path(run)
    if run.path is None:
        raise UsageError("The run has no folder.", mend="Run again with out=FOLDER.")
    return run.path


__all__ = [
    "ComparableRun",
    "HasRunFolder",
    "ItemDifferenceTests",
    "Place",
    "RankedSystemGroup",
    "ReplicatePairingVerdict",
    "SystemContrast",
    "SystemPairComparison",
    "SystemRankAtPlace",
    "SystemStandingWithItemValues",
    "SystemsComparison",
    "choose_verdict_contrast",
    "compare",
    "compare_systems",
    "compute_one_sided_p",
    "contrast_two_systems_by_test",
    "correct_contrasts_by_holm",
    "determine_replicate_pairing",
    "determine_replicate_pairing_at_place",
    "find_run_folder",
    "is_higher_measure_better",
    "list_ranked_system_groups",
    "read_comparable_run",
]
