"""What a system can hope for, and where it stands among people: as one more annotator beside the human ceiling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from embassay.errors import UsageError
from embassay.protocols.hume.inference.layouts import People, numbers
from embassay.protocols.hume.inference.resampling import (
    CORRELATION,
    DRAWS,
    SHARE,
    Draws,
    Floats,
    Range,
    Resampled,
    drawn_mean,
    drawn_spearman,
    drawn_v_measure,
    indicators,
    no_interval,
    resampled,
)
from embassay.protocols.hume.scoring.measures import marked_ap
from embassay.protocols.hume.study import Answers, Family, Label, Marks
from embassay.stats.intervals import Estimate, check_confidence, sample

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


def most_votes(votes: Sequence[Label]) -> frozenset[Label]:
    """The labels with the most votes: several where the vote is tied.

    >>> sorted(most_votes(["b", "a", "b", "a", "c"]))
    ['a', 'b']
    """
    counted = Counter(votes)
    most = max(counted.values())
    return frozenset(label for label, times in counted.items() if times == most)


def relevant_to_most(marks: Sequence[Marks]) -> Marks:
    """1 for every document that at least half of the people marked.

    >>> relevant_to_most([(1, 1, 0), (1, 0, 0)])
    (1, 1, 0)
    """
    return tuple(int(2 * sum(document) >= len(document)) for document in zip(*marks, strict=True))


SystemAnswers = Mapping[str, Any]
"""What a system answered, by item id, as a person would: a label, the id of a group, a number per pair of texts; for
reranking a score per document, in the order displayed."""


def against_people(people: People, system: SystemAnswers, draws: Draws = DRAWS) -> Resampled:
    """A system's mean score against the answers of all annotators but one, put together as in `human_ceiling`.

    Every annotator is left out once, so the system meets the same gold as the people of the ceiling do, made by as many
    voters: it is at the ceiling where it answers as they do, even if both differ from the dataset's gold. For one
    annotator NaN with a reason; no interval for clustering. An item counts where two or more annotators have it.

    >>> from embassay.protocols.hume.study import TaskSpec
    >>> votes = {"ann": dict(a="x", b="y", c="x"), "bob": dict(a="x", b="y", c="y")}
    >>> found = against_people(People(TaskSpec("t", "classification", "eng"), {}, votes), dict(a="x", b="y", c="x"))
    >>> round(found.estimate, 4)
    0.8333
    """
    taking_part: Answers = people.taking_part
    shared = [item for item in people.items if sum(item in own for own in taking_part.values()) > 1]
    items = [item for item in shared if item in system]
    if len(taking_part) < 2 or not items:
        reason = ONE if len(taking_part) < 2 else "no item has two annotators and an answer of the system"
        return no_interval(float("nan"), len(items), reason)
    parts = [
        scorer_against(people, system, [own for key, own in taking_part.items() if key != name], items)
        for name in taking_part
    ]

    def mean(counts: Floats) -> Floats:
        return np.asarray(np.mean([part(counts) for part in parts], axis=0))

    if people.task.family == "clustering":
        return no_interval(float(mean(np.ones((1, len(items))))[0]), len(items), GROUPS)
    return resampled(mean, len(items), draws, within=(range_of(people.task.family),))[0]


def among_people(score: float, annotators: Sequence[float], *, confidence: float = 0.95) -> Estimate:
    """The share of annotators who score below a system, 0 to 1, equals counting half; `n` is how many there are.

    The interval is Clopper and Pearson's for the share among all people like these: it holds its level for any number
    of them, and so says how little two tell (both below: from .16 to 1). With ties the halves go into its quantiles.
    It takes the scores of people as they are; their own uncertainty over items is not in it.
    Source: Clopper and Pearson 1934. Raises UsageError for no annotators or scores that are not finite.

    >>> found = among_people(0.8, [0.7, 0.75])
    >>> found.estimate, round(found.low, 3), found.high
    (1.0, 0.158, 1.0)
    """
    people = sample(list(annotators), "annotators")
    if score != score:
        raise UsageError("The system has no score.", mend="Leave it out and say why.")
    below = float((people < score).sum() + (people == score).sum() / 2)
    return share_of_people(below / len(people), len(people), confidence=confidence)


def share_of_people(share: float, n: int, *, confidence: float = 0.95) -> Estimate:
    """A share found among `n` annotators with the interval of `among_people`: from a record, which keeps the share.

    Raises UsageError for a share outside 0 to 1 or no annotators.

    >>> round(share_of_people(0.0, 5).high, 3)
    0.522
    """
    from scipy.stats import beta

    check_confidence(confidence)
    if not 0 <= share <= 1 or n < 1:
        raise UsageError(
            f"A share of {share} of {n} annotators is none.", mend="Give 0 <= share <= 1, n >= 1."
        )
    below, tail = share * n, (1 - confidence) / 2
    low = float(beta.ppf(tail, below, n - below + 1)) if below > 0 else 0.0
    high = float(beta.ppf(1 - tail, below + 1, n - below)) if below < n else 1.0
    return Estimate(share, low, high, n, f"{confidence:.0%} Clopper-Pearson over {n} annotators")
