"""How many items or annotators would separate a system from people, and what this study could have separated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from embassay.errors import UsageError
from embassay.protocols.hume.inference.differences import (
    Components,
    Correlations,
    SystemValues,
    components,
    correlations,
)
from embassay.protocols.hume.inference.layouts import People, numbers, people_rows
from embassay.protocols.hume.inference.resampling import Floats

MOST_ITEMS, MOST_ANNOTATORS = 10_000, 100
_LEAST_ITEMS = 5


@dataclass(frozen=True)
class Needed:
    """`items` in all, with these annotators, and `annotators` in all, with these items, that would separate a system
    from people if the true difference is the one observed; None, with `note`, where no number up to the limit does, or
    none can be computed. `smallest`: the least difference that a study of this size finds at the given power."""

    items: int | None
    annotators: int | None
    smallest: float | None
    n: int
    k: int
    note: str = ""

    @property
    def more_items(self) -> int | None:
        """Items to be added; 0 where there are enough."""
        return None if self.items is None else max(0, self.items - self.n)

    @property
    def more_annotators(self) -> int | None:
        """Annotators to be added; 0 where there are enough."""
        return None if self.annotators is None else max(0, self.annotators - self.k)


def needed(people: People, system: SystemValues, *, power: float = 0.8, alpha: float = 0.05) -> Needed:
    """What would separate a system from people in the test of `compare_with_people`, at a `power` and level `alpha`.

    Classification and reranking: from the variance of the differences item by item. More annotators lower what is
    between annotators and left over in it (two-way analysis of variance), never what is between items. Where people are
    scored by their vote it is that of the mean of annotators, if both are on one side of the system. STS: Fisher's z
    of the two correlations, which share gold (Steiger 1980; Bonett and Wright 2000); more annotators raise people's
    correlation as Spearman and Brown say. Clustering: nothing, as there is not a test. An observed difference is itself
    uncertain, and so are these numbers: take them as an order of size. Raises UsageError for a power or alpha out of
    range.

    >>> gold = {f"{i:02}": 1 for i in range(40)}
    >>> answers = {"ann": {item: int(int(item) % 5 > 0) for item in gold}}
    >>> from embassay.protocols.hume.study import TaskSpec
    >>> people = People(TaskSpec("t", "classification", "eng"), gold, answers)
    >>> found = needed(people, {item: float(int(item) % 3 > 0) for item in gold})
    >>> found.items, found.annotators, round(found.smallest, 2)
    (137, None, 0.28)
    """
    if not (0 < alpha < 1 and alpha < power < 1):
        raise UsageError(f"Power {power} at level {alpha} is not to be had.", mend="Use 0.8 and 0.05.")
    items = sorted(set(people.scored_items) & system.keys())
    k = 1 if people.aggregation == "first" else len(people.taking_part)
    nothing = Needed(None, None, None, len(items), k)
    if people.task.family == "clustering":
        return replace(nothing, note="Groups have no test over items.")
    if len(items) < _LEAST_ITEMS:
        return replace(nothing, note=f"Fewer than {_LEAST_ITEMS} items say nothing about others.")
    reach = reach_of(power, alpha)
    laid = people_rows(people, items)
    values = numbers([system[item] for item in items])
    if people.task.family == "sts":
        return _by_correlation(correlations(people, laid, values), nothing, reach)
    single = people_rows(replace(people, aggregation="mean" if k > 1 else "first"), items)
    mean = np.nanmean(np.stack([numbers(row) for row in laid.rows]), axis=0)
    parts = components(np.stack([values - numbers(row) for row in single.rows]))
    return _by_variance(values - mean, parts, nothing, reach)


@dataclass(frozen=True)
class Reach:
    """How many standard errors a difference must have for the `test`, and how many more for the `power`."""

    test: float
    power: float

    @property
    def both(self) -> float:
        """Those of a difference that is found so often."""
        return self.test + self.power


def reach_of(power: float, alpha: float) -> Reach:
    """Normal quantiles: 1.96 and 0.84 for 80% power at 5%."""
    z = NormalDist().inv_cdf
    return Reach(z(1 - alpha / 2), z(power))


def annotators_by_variance(parts: Components, n: int, least: int, reach: Reach) -> int | None:
    """How many annotators, from `least` on, find the mean difference with `n` items: None up to the limit.

    The test sees what varies over items. Which annotators take part moves the difference as well, and so counts for the
    power.
    """

    def enough(k: int) -> bool:
        over_items = (parts.items + parts.residual / k) / max(n - reach.test**2 / 2, 1)
        spread = over_items + parts.annotators / k
        return abs(parts.mean) >= reach.test * math.sqrt(over_items) + reach.power * math.sqrt(spread)

    return _first(enough, least)


def annotators_by_correlation(at: Correlations, n: int, least: int, reach: Reach) -> int | None:
    """The same for STS, where their mean rating becomes more reliable; None also for one annotator."""
    if at.between is None or at.between <= 0:
        return None

    def enough(k: int) -> bool:
        then = at.with_annotators(k)
        return abs(then.gap) >= reach.both * then.spread / math.sqrt(max(n - 3, 1))

    return _first(enough, least)


def _by_variance(differences: Floats, parts: Components | None, found: Needed, reach: Reach) -> Needed:
    gap, variance = float(differences.mean()), float(differences.var(ddof=1))
    if variance <= 0:
        return replace(found, note="The difference is the same on every item.")
    # Guenther 1981: what a t test needs more than a normal one.
    extra = reach.test**2 / 2
    smallest = reach.both * math.sqrt(variance / max(found.n - extra, 1))
    items = _up_to(reach.both**2 * variance / gap**2 + extra) if gap else None
    known = replace(found, items=items, smallest=smallest)
    # A vote of more people gets better than their mean: where the two lie on either side of the system, nothing of
    # the mean holds for the vote.
    if parts is None or parts.mean * gap <= 0:
        return _noted(known, known=False)
    return _noted(replace(known, annotators=annotators_by_variance(parts, found.n, found.k, reach)))


def _by_correlation(at: Correlations | None, found: Needed, reach: Reach) -> Needed:
    if at is None:
        return replace(found, note="A correlation is undefined: ratings or similarities do not vary.")
    smallest = at.moved(reach.both * at.spread / math.sqrt(max(found.n - 3, 1)))
    items = _up_to((reach.both * at.spread / at.gap) ** 2 + 3) if at.gap else None
    annotators = annotators_by_correlation(at, found.n, found.k, reach)
    return _noted(
        replace(found, items=items, annotators=annotators, smallest=smallest),
        known=at.between is not None and at.between > 0,
    )


def _first(enough: Callable[[int], bool], least: int) -> int | None:
    return next((k for k in range(least, MOST_ANNOTATORS + 1) if enough(k)), None)


def _up_to(number: float) -> int | None:
    return math.ceil(number) if number <= MOST_ITEMS else None


def _noted(found: Needed, *, known: bool = True) -> Needed:
    """With why there is no number; `known` is whether annotators can be told from chance at all."""
    said = []
    if found.items is None:
        said.append(f"No number of items up to {MOST_ITEMS:,} would do.")
    if found.k < 2:
        said.append("One annotator shows nothing of others.")
    elif not known:
        said.append("What more annotators would do cannot be told from these.")
    elif found.annotators is None:
        said.append(f"With these items no number of annotators up to {MOST_ANNOTATORS} would do.")
    return replace(found, note=" ".join(said))
