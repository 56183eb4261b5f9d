"""One call for all three questions of `compare`: two systems of a run, one system in two runs, all that a run ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from embassay.errors import UsageError
from embassay.protocols.compare.contrast import (
    Contrast,
    Field,
    contrast,
    corrected,
    fields,
    most_degrees,
    pair_tests,
    without_test,
)
from embassay.protocols.compare.values import RunValues, check_names, read_values, wanted
from embassay.protocols.kernel.comparisons import OVERALL
from embassay.registry import attribute
from embassay.runs.folder import tails
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


class InFolder(Protocol):
    """What has the folder of a run, as `embassay.sage.run` gives it."""

    @property
    def path(self) -> Path | None:
        """The folder."""


@dataclass(frozen=True)
class Comparison:
    """Two systems (`pair`), or all systems of a run (`fields`). Printed, it is what the command says."""

    protocol: str
    pair: PairOfSystems | None = None
    fields: tuple[Field, ...] = ()

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """First minus second at every place that both have: the overall score first, then tasks and datasets. Empty for
        all systems of a run."""
        return self.pair.contrasts if self.pair else ()

    @property
    def leading(self) -> Contrast:
        """The contrast that the verdict is about. UsageError for all systems of a run, which have none."""
        if not self.contrasts:
            raise UsageError("All systems of a run have no one difference.", mend="Name two systems.")
        return leading(self.contrasts)

    def __str__(self) -> str:
        """Verdict, table and notes in 80 columns."""
        # How it looks is said above the protocols, and found when somebody looks.
        look = "embassay.report.comparisons:render_" + ("pair" if self.pair else "fields")
        return str(attribute(look)(self.pair or self.fields, self.protocol).plain)


def compare(
    *runs: str | Path | InFolder,
    a: str | None = None,
    b: str | None = None,
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
    datasets: Sequence[str] = (),
    seed: int = 1337,
) -> Comparison:
    """System `a` against `b` in one run; `a` in a run against `b` (by default `a`) in a second; without names, all
    systems of a run. `runs` are folders, or runs as `embassay.open_run` gives them.

    Differences are paired over the same items where both runs have them. p is corrected by Holm within each family: the
    overall score alone, its parts among themselves. `tasks` and `measures` keep these alone, `datasets` too for all
    systems; `seed` is that of the random swaps.

    Raises UsageError for a name that is not in the run, DataError for a folder without a run.
    """
    if not 1 <= len(runs) <= 2:
        raise UsageError(f"{len(runs)} runs are given.", mend="Give one run, or two.")
    read = [read_values(folder_of(run)) for run in runs]
    protocol = read[0].protocol
    if a is None and b is None and len(read) == 1:
        return Comparison(protocol, fields=tuple(fields(read[0], tasks, datasets, measures)))
    if datasets:
        raise UsageError(
            "A dataset is chosen, and two systems are compared over all of them.",
            mend="Leave it out, or leave out the names of the systems.",
        )
    if a is None:
        raise UsageError("The system to compare, a, is missing.", mend="Name it, or leave out b as well.")
    if b is None and len(read) == 1:
        raise UsageError("The system to compare with, b, is missing.", mend="Name it, or give a second run.")
    pair = compare_systems(read[0], a, b or a, *read[1:], tasks=tasks, measures=measures, seed=seed)
    return Comparison(protocol, pair)


def folder_of(run: str | Path | InFolder) -> Path:
    """The folder of a run that is given as a path or as a run. UsageError for a run that kept none."""
    if isinstance(run, str | Path):
        return Path(run)
    if run.path is None:
        raise UsageError("The run has no folder.", mend="Run it with out=FOLDER.")
    return run.path
