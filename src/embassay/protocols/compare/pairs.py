"""Two systems over all places of a run, or a system in two runs that asked the same of the same items."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from embassay.errors import UsageError
from embassay.protocols.compare.contrast import Contrast, contrast, corrected, without_test
from embassay.protocols.compare.many import most_degrees, pair_tests
from embassay.protocols.compare.values import RunValues, check_names, wanted
from embassay.protocols.kernel.comparisons import OVERALL
from embassay.runs.files import tails
from embassay.stats import Estimate, Significance, hodges_lehmann, mixed_mean, wilcoxon
from embassay.stats.ranks import corrected_pairs


@dataclass(frozen=True)
class Across:
    """What several datasets say together: the Hodges-Lehmann shift of their differences with Wilcoxon's test, and their
    mean with an interval for further datasets. With few datasets neither can say much: five give no p below 0.06."""

    task: str
    measure: str
    datasets: int
    shift: Estimate
    test: Significance
    mean: Estimate


@dataclass(frozen=True)
class PairOfSystems:
    """All contrasts of `a` and `b`, p corrected by Holm within each family, and what datasets say together. `among` is
    the same question as the run's ranks ask it, where these are of more than the two."""

    contrasts: tuple[Contrast, ...]
    across: tuple[Across, ...]
    pairing: Pairing
    among: Among | None = None


@dataclass(frozen=True)
class Among:
    """The test of the first contrast among all pairs of the systems that a run ranks there: p corrected by Holm over so
    many `pairs`, and whether the ranks tell the two `apart`."""

    pairs: int
    p_adjusted: float
    apart: bool


def compare_systems(
    first: RunValues,
    a: str,
    b: str,
    second: RunValues | None = None,
    *,
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
    seed: int = 1337,
) -> PairOfSystems:
    """`a` of `first` against `b` of `second` (the same run where left out), at every place that both have. Where both
    are one name, the contrasts add that of the run to it.

    Raises UsageError for a system or a task that is not there, or one system against itself.
    """
    other = second or first
    first.check([a])
    other.check([b])
    if a == b and second is None:
        raise UsageError(f"{a!r} is compared with itself.", mend="Name two systems, or a second run.")
    check_names(first, tasks, measures)
    how = pairing(first.manifest, other.manifest) if second else Pairing(True)
    found = []
    for place in first.places:
        sides = first.side(place, a), other.side(place, b)
        if sides[0] is not None and sides[1] is not None and wanted(place, tasks, measures):
            why = first.no_verdict(place) or other.no_verdict(place)
            most = None if second else most_degrees(first.at(place), sides[0].standing.group)
            made = contrast(sides[0], sides[1], paired=how.paired, most=most, seed=seed)
            found.append(without_test(made, f"no verdict: {why}") if why else made)
    if not found:
        raise UsageError(
            f"{a} and {b} share nothing of that.", mend="Give two systems or runs of one protocol."
        )
    contrasts = adjusted(_named(found, first, other))
    among = None if second else _among(first, leading(contrasts), a, b)
    return PairOfSystems(contrasts, tuple(_across(contrasts, seed)), how, among)


def leading(contrasts: Sequence[Contrast]) -> Contrast:
    """What the verdict is on: the first difference over datasets that has a value."""
    known = [one for one in contrasts if one.difference is not None]
    return next((one for one in known if not one.dataset), (known or contrasts)[0])


def _among(run: RunValues, one: Contrast, a: str, b: str) -> Among | None:
    """What the run's ranks say of the two at the place of a contrast; None where they rank only these, or not both."""
    place = (one.task, one.dataset, one.measure)
    groups = {own.group for own in run.at(place) if own.system in (a, b)}
    known = [own for own in run.at(place) if own.headline.value is not None and {own.group} == groups]
    names = [own.system for own in known]
    if len(names) < 3 or a not in names or b not in names or math.isnan(one.p):
        return None
    found = pair_tests(known)
    here = next((pair for pair in found if {names[pair.a], names[pair.b]} == {a, b}), None)
    return None if here is None else Among(len(found), here.p_adjusted, here.apart())


def _named(found: Sequence[Contrast], first: RunValues, other: RunValues) -> Iterable[Contrast]:
    """One system in two runs is told by the run: `minilm (june)`."""
    before, after = tails([first.path, other.path])
    for one in found:
        alike = one.a == one.b
        yield replace(one, a=f"{one.a} ({before})", b=f"{one.b} ({after})") if alike else one


def adjusted(contrasts: Iterable[Contrast]) -> tuple[Contrast, ...]:
    """The same with p corrected by Holm within each family, over those that have one: the overall score alone, the
    parts that it is made of, and the datasets of these. Two whose own intervals do not meet are tested alone."""
    every = list(contrasts)
    families: dict[tuple[bool, bool], list[int]] = {}
    for i, one in enumerate(every):
        if not math.isnan(one.p):
            families.setdefault((one.task == OVERALL, bool(one.dataset)), []).append(i)
    for family in families.values():
        p = [every[i].p for i in family]
        known = corrected_pairs(p, [every[i].disjoint for i in family], [True] * len(p))
        for i, p_adjusted in zip(family, known, strict=True):
            every[i] = corrected(every[i], p_adjusted, len(family))
    return tuple(every)


def _across(contrasts: Sequence[Contrast], seed: int) -> Iterable[Across]:
    of_task: dict[tuple[str, str], list[float]] = {}
    for one in contrasts:
        if one.dataset and one.difference is not None:
            of_task.setdefault((one.task, one.measure), []).append(one.difference)
    for (task, measure), differences in of_task.items():
        if len(differences) > 1:
            d = np.array(differences)
            mean = mixed_mean(d, range(len(d)), [0] * len(d))
            yield Across(task, measure, len(d), hodges_lehmann(d, seed=seed), wilcoxon(d), mean)


_SAME = ("seed", "limit", "tasks", "options", "split", "grades", "tokenizer")
"""Arguments on which items, their edits and their resamples depend."""


@dataclass(frozen=True)
class Pairing:
    """`paired` where replicate b of both runs comes from one resample of the same items; else `reason` says why not."""

    paired: bool
    reason: str = ""


def pairing(first: Mapping[str, Any], second: Mapping[str, Any]) -> Pairing:
    """Compare the manifests of two runs.

    >>> run = {"protocol": "sage", "arguments": {"seed": 1}, "datasets": [{"name": "a", "fingerprint": "f"}]}
    >>> pairing(run, run).paired, pairing(run, {**run, "arguments": {"seed": 2}}).reason
    (True, 'seed differs: 1 and 2')
    """
    if first.get("protocol") != second.get("protocol"):
        return Pairing(False, f"protocol differs: {first.get('protocol')} and {second.get('protocol')}")
    if first.get("resampling") != second.get("resampling"):
        return Pairing(False, "the runs drew their resamples by other rules, in two releases")
    ours, theirs = first.get("arguments") or {}, second.get("arguments") or {}
    for name in _SAME:
        if ours.get(name) != theirs.get(name):
            return Pairing(False, f"{name} differs: {ours.get(name)} and {theirs.get(name)}")
    data = [
        {one["name"]: one.get("fingerprint") for one in run.get("datasets", ())} for run in (first, second)
    ]
    for name in data[0].keys() & data[1].keys():
        if data[0][name] != data[1][name]:
            return Pairing(False, f"the data of {name} differ")
    return Pairing(True)
