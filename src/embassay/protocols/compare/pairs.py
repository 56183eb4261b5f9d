"""Two systems over all places of a run, or a system in two runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from embassay.errors import UsageError
from embassay.protocols.compare.contrast import Contrast, contrast
from embassay.protocols.compare.pairing import Pairing, pairing
from embassay.protocols.compare.values import RunValues, check_names, wanted
from embassay.runs.tails import tails
from embassay.stats import Estimate, Significance, hodges_lehmann, holm, mixed_mean, wilcoxon


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
    """All contrasts of `a` and `b`, p corrected by Holm over them, and what datasets say together."""

    contrasts: tuple[Contrast, ...]
    across: tuple[Across, ...]
    pairing: Pairing


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
            found.append(contrast(sides[0], sides[1], paired=how.paired, seed=seed))
    if not found:
        raise UsageError(
            f"{a} and {b} share nothing of that.", mend="Give two systems or runs of one protocol."
        )
    contrasts = adjusted(_named(found, first, other))
    return PairOfSystems(contrasts, tuple(_across(contrasts, seed)), how)


def _named(found: Sequence[Contrast], first: RunValues, other: RunValues) -> Iterable[Contrast]:
    """One system in two runs is told by the run: `minilm (june)`."""
    before, after = tails([first.path, other.path])
    for one in found:
        alike = one.a == one.b
        yield replace(one, a=f"{one.a} ({before})", b=f"{one.b} ({after})") if alike else one


def adjusted(contrasts: Iterable[Contrast]) -> tuple[Contrast, ...]:
    """The same with p corrected by Holm over those that have one."""
    every = list(contrasts)
    tested = [i for i, one in enumerate(every) if not math.isnan(one.p)]
    for i, p in zip(tested, holm([every[i].p for i in tested]) if tested else (), strict=True):
        every[i] = replace(every[i], p_adjusted=p)
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
