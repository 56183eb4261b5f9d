"""What a system can hope for: how well one person does when the others are taken for gold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from embassay.errors import UsageError
from embassay.protocols.hume.beyond.drawn import Floats, drawn_mean, drawn_spearman
from embassay.protocols.hume.beyond.drawn_groups import drawn_v_measure, indicators
from embassay.protocols.hume.beyond.people import People, numbers
from embassay.protocols.hume.beyond.pooling import most_votes, relevant_to_most
from embassay.protocols.hume.beyond.resampling import (
    CORRELATION,
    DRAWS,
    SHARE,
    Draws,
    Range,
    Resampled,
    no_interval,
    resampled,
)
from embassay.protocols.hume.scoring.marked import marked_ap
from embassay.protocols.hume.study import Family

ONE = "one annotator has no others"
GROUPS = "resampled items inflate a V-measure: copies of an item are always together"
Held = Sequence[Mapping[str, Any]]
"""The answers of the other annotators, by item id."""


@dataclass(frozen=True)
class Ceiling:
    """`value` is the mean over `annotators` of what each scores against the others, with an interval over items; NaN,
    with its `reason`, for one annotator. `items` are those two or more answered; on `dropped` of the scored answers of
    reranking the others found nothing relevant, and there is no average precision."""

    value: Resampled
    annotators: Mapping[str, float]
    items: int
    dropped: int = 0


def human_ceiling(people: People, draws: Draws = DRAWS) -> Ceiling:
    """Leave one annotator out, take the others' answers put together as gold, score the one; the mean over annotators.

    Classification: the others' vote; where it is tied, the share of the tied labels that the answer has (one of two:
    a half), as an order of labels must not decide what people can reach. STS: Spearman's with the others' mean rating.
    Reranking: AP, where a document is relevant that at least half of the others marked; AP knows no grades, and people
    miss more than they add, so a tie counts as relevant. Clustering: the mean V-measure against each other annotator.
    Not the score against the dataset's gold: a system compares with it by `against_people`.
    Raises UsageError where nobody answered.

    >>> from embassay.protocols.hume.study import TaskSpec
    >>> votes = {"ann": dict(a="x", b="y", c="x"), "bob": dict(a="x", b="y", c="y"), "cat": dict(a="x", b="x", c="z")}
    >>> found = human_ceiling(People(TaskSpec("t", "classification", "eng"), {}, votes))
    >>> {name: round(value, 3) for name, value in found.annotators.items()}
    {'ann': 0.5, 'bob': 0.5, 'cat': 0.333}
    """
    taking_part = people.taking_part
    if not taking_part:
        raise UsageError(f"Nobody answered {people.task.name}.", mend="Give the annotations of this task.")
    items = [item for item in people.items if sum(item in own for own in taking_part.values()) > 1]
    if len(taking_part) < 2 or not items:
        reason = ONE if len(taking_part) < 2 else "no item has two annotators"
        return Ceiling(no_interval(float("nan"), len(items), reason), {}, len(items))
    parts: dict[str, Callable[[Floats], Floats]] = {}
    dropped = 0
    for name, own in taking_part.items():
        others = [other for key, other in taking_part.items() if key != name]
        parts[name] = scorer_against(people, own, others, items)
        dropped += _without_relevant(people, own, others, items)
    once = np.ones((1, len(items)))
    each = {name: float(part(once)[0]) for name, part in parts.items()}

    def mean(counts: Floats) -> Floats:
        return np.asarray(np.mean([part(counts) for part in parts.values()], axis=0))

    if people.task.family == "clustering":
        value = no_interval(float(mean(once)[0]), len(items), GROUPS)
    else:
        value = resampled(mean, len(items), draws, within=(range_of(people.task.family),))[0]
    return Ceiling(value, each, len(items), dropped)


def range_of(family: Family) -> Range:
    """The least and greatest main measure of a family."""
    return CORRELATION if family == "sts" else SHARE


def scorer_against(
    people: People, own: Mapping[str, Any], others: Held, items: Sequence[str]
) -> Callable[[Floats], Floats]:
    """How one's answers score against the answers of others put together, in every resample of `items`: (b,)."""
    family = people.task.family
    if family == "clustering":
        mine = indicators([own.get(item) for item in items])
        theirs = [indicators([other.get(item) for item in items]) for other in others]
        return lambda counts: np.asarray(
            np.mean([drawn_v_measure(counts, mine, one) for one in theirs], axis=0)
        )
    given = {item: [other[item] for other in others if item in other] for item in items}
    if family == "sts":
        mine = numbers([own.get(item) for item in items])
        mean = numbers([float(np.mean(votes)) if votes else None for votes in given.values()])
        return lambda counts: drawn_spearman(counts, mine, mean)
    value = _credit if family == "classification" else _precision(people)
    values = numbers(
        [value(own[item], votes) if item in own and votes else None for item, votes in given.items()]
    )
    return lambda counts: drawn_mean(counts, values)


def _credit(answer: Any, votes: Sequence[Any]) -> float:
    best = most_votes(votes)
    return 1 / len(best) if answer in best else 0.0


def _precision(people: People) -> Callable[[Any, Sequence[Any]], float | None]:
    def value(marks: Any, votes: Sequence[Any]) -> float | None:
        gold = relevant_to_most(votes)
        return marked_ap(gold, marks, human_ap_mode=people.human_ap_mode) if any(gold) else None

    return value


def _without_relevant(people: People, own: Mapping[str, Any], others: Held, items: Sequence[str]) -> int:
    if people.task.family != "reranking":
        return 0
    given = [[other[item] for other in others if item in other] for item in items if item in own]
    return sum(not any(relevant_to_most(votes)) for votes in given if votes)
