"""How many items or annotators would separate a system from people, and what this study could have separated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from semblance.errors import UsageError
from semblance.protocols.hume.beyond.components import Components, components
from semblance.protocols.hume.beyond.correlations import Correlations, correlations
from semblance.protocols.hume.beyond.paired import SystemValues
from semblance.protocols.hume.beyond.people import People, numbers, people_rows

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
    between annotators and left over in it (two-way analysis of variance, mean of annotators also where people are
    scored by their vote), never what is between items. STS: Fisher's z of the two correlations, which share gold
    (Steiger 1980; Bonett and Wright 2000); more annotators raise people's correlation as Spearman and Brown say.
    Clustering: nothing, as there is no test. An observed difference is itself uncertain, and so are these numbers: take
    them as an order of size. Raises UsageError for a power or alpha out of range.

    >>> gold = {f"{i:02}": 1 for i in range(40)}
    >>> answers = {"ann": {item: int(int(item) % 5 > 0) for item in gold}}
    >>> from semblance.protocols.hume.study import TaskSpec
    >>> people = People(TaskSpec("t", "classification", "eng"), gold, answers)
    >>> found = needed(people, {item: float(int(item) % 3 > 0) for item in gold})
    >>> found.items, found.annotators, round(found.smallest, 2)
    (137, None, 0.28)
    """
    if not (0 < alpha < 1 and alpha < power < 1):
        raise UsageError(f"Power {power} at level {alpha} is not to be had.", mend="Use 0.8 and 0.05.")
    items = sorted(set(people.items) & system.keys())
    k = len(people.taking_part)
    nothing = Needed(None, None, None, len(items), k)
    if people.task.family == "clustering":
        return replace(nothing, note="Groups have no test over items.")
    if len(items) < _LEAST_ITEMS:
        return replace(nothing, note=f"Fewer than {_LEAST_ITEMS} items say nothing about others.")
    reach = _Reach(_z(1 - alpha / 2), _z(power))
    laid = people_rows(people, items)
    values = numbers([system[item] for item in items])
    if people.task.family == "sts":
        return _by_correlation(correlations(people, laid, values), nothing, reach)
    single = people_rows(replace(people, aggregation="mean"), items)
    mean = np.nanmean(np.stack([numbers(row) for row in laid.rows]), axis=0)
    parts = components(np.stack([values - numbers(row) for row in single.rows]))
    return _by_variance(values - mean, parts, nothing, reach)


@dataclass(frozen=True)
class _Reach:
    """How many standard errors the test asks for, and how many the power."""

    test: float
    power: float

    @property
    def both(self) -> float:
        return self.test + self.power


def _by_variance(differences: np.ndarray, parts: Components | None, found: Needed, reach: _Reach) -> Needed:
    n, gap, variance = len(differences), float(abs(differences.mean())), float(differences.var(ddof=1))
    if variance <= 0:
        return replace(found, note="The difference is the same on every item.")
    # Guenther 1981: what a t test needs more than a normal one.
    extra = reach.test**2 / 2
    smallest = reach.both * math.sqrt(variance / max(n - extra, 1))
    items = _up_to(reach.both**2 * variance / gap**2 + extra, MOST_ITEMS) if gap else None

    def enough(k: int) -> bool:
        assert parts is not None
        over_items = (parts.items + parts.residual / k) / max(n - extra, 1)
        spread = over_items + parts.annotators / k
        return abs(parts.mean) >= reach.test * math.sqrt(over_items) + reach.power * math.sqrt(spread)

    annotators = _first(enough, found.k) if parts else None
    return replace(
        found, items=items, annotators=annotators, smallest=smallest, note=_note(items, annotators, found.k)
    )


def _by_correlation(at: Correlations | None, found: Needed, reach: _Reach) -> Needed:
    if at is None:
        return replace(found, note="A correlation is undefined: ratings or similarities do not vary.")
    extra = 3
    gap = abs(at.gap)
    smallest = at.moved(reach.both * at.spread / math.sqrt(max(found.n - extra, 1)))
    items = _up_to((reach.both * at.spread / gap) ** 2 + extra, MOST_ITEMS) if gap else None

    def enough(k: int) -> bool:
        then = at.with_annotators(k)
        return abs(then.gap) >= reach.both * then.spread / math.sqrt(max(found.n - extra, 1))

    annotators = _first(enough, found.k) if at.between is not None and at.between > 0 else None
    return replace(
        found, items=items, annotators=annotators, smallest=smallest, note=_note(items, annotators, found.k)
    )


def _first(enough: Callable[[int], bool], least: int) -> int | None:
    return next((k for k in range(least, MOST_ANNOTATORS + 1) if enough(k)), None)


def _up_to(number: float, most: int) -> int | None:
    return math.ceil(number) if number <= most else None


def _note(items: int | None, annotators: int | None, k: int) -> str:
    said = []
    if items is None:
        said.append(f"No number of items up to {MOST_ITEMS:,} would do.")
    if k < 2:
        said.append("One annotator shows nothing of others.")
    elif annotators is None:
        said.append(f"With these items no number of annotators up to {MOST_ANNOTATORS} would do.")
    return " ".join(said)


def _z(q: float) -> float:
    return NormalDist().inv_cdf(q)
