"""What would separate a system from people: closed forms, limits, and planted differences found as promised."""

from __future__ import annotations

import math

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.protocols.hume.ceiling import (
    PeopleSystemCorrelations,
    VarianceComponents,
    annotators_needed_by_variance,
    annotators_needed_for_sts,
    compare_with_people,
    compute_test_and_power_quantiles,
    estimate_variance_components,
    items_needed,
)
from embassay.protocols.hume.resampling import PeopleAnswers, ResamplingSettings
from embassay.protocols.hume.study import TaskSpec
from embassay.randomness import make_seeded_generator

REACH = compute_test_and_power_quantiles(0.8, 0.05)


def right_or_wrong(n: int, annotators: int, seed: int, system: float = 0.9) -> tuple[PeopleAnswers, dict[str, float]]:
    """Annotators right on seven items of ten, a system on more; gold is always 1."""
    rng = make_seeded_generator(seed, "power", str(n))
    ids = [f"{i:04}" for i in range(n)]
    answers = {
        f"ann {k}": dict(zip(ids, (rng.random(n) < 0.7).astype(int).tolist(), strict=True)) for k in range(annotators)
    }
    values = dict(zip(ids, (rng.random(n) < system).astype(float).tolist(), strict=True))
    return PeopleAnswers(TaskSpec("t", "classification", "eng"), dict.fromkeys(ids, 1), answers, "mean"), values


def rated(n: int, annotators: int, seed: int, system: float = 0.52) -> tuple[PeopleAnswers, dict[str, float]]:
    """Annotators who see gold with noise of one deviation, and a system with less."""
    rng = make_seeded_generator(seed, "ratings", str(n))
    gold, ids = rng.normal(size=n), [f"{i:04}" for i in range(n)]
    answers = {
        f"ann {k}": dict(zip(ids, (gold + rng.normal(0, 1, n)).tolist(), strict=True)) for k in range(annotators)
    }
    values = dict(zip(ids, (gold + rng.normal(0, system, n)).tolist(), strict=True))
    return PeopleAnswers(TaskSpec("t", "sts", "eng"), dict(zip(ids, gold.tolist(), strict=True)), answers), values


def test_items_of_a_mean() -> None:
    """(1.96 + .84)^2 variances over the squared difference, and 1.92 more for a t test."""
    people, values = right_or_wrong(40, 1, 1)
    own = next(iter(people.answers.values()))
    differences = np.array([values[item] - own[item] for item in own])
    found = items_needed(people, values)
    expected = 7.8489 * differences.var(ddof=1) / differences.mean() ** 2 + 1.9207
    assert found.items == math.ceil(expected)
    assert found.smallest == pytest.approx(2.80159 * math.sqrt(differences.var(ddof=1) / (40 - 1.9207)), rel=1e-4)


def test_components() -> None:
    """Planted variances are found again, and items that somebody left out are not used."""
    rng = make_seeded_generator(3, "components")
    table = rng.normal(0, 2, (1, 4000)) + rng.normal(0, 0.5, (60, 1)) + rng.normal(0, 1, (60, 4000)) + 3
    table[0, :10] = np.nan
    found = estimate_variance_components(table)
    assert found is not None
    assert (found.mean, found.items, found.residual) == pytest.approx((3, 4, 1), rel=0.1)
    assert found.annotators == pytest.approx(0.25, rel=0.5)
    assert estimate_variance_components(table[:1]) is None
    # Two who differ by one throughout: all between them. The reverse of each other: all residual, none negative.
    assert estimate_variance_components(np.array([[0.0, 1, 2], [1, 2, 3]])) == VarianceComponents(1.5, 1.0, 0.5, 0.0)
    reverse = estimate_variance_components(np.array([[0.0, 1, 2], [2, 1, 0]]))
    assert reverse is not None
    assert (reverse.items, reverse.annotators, reverse.residual) == (0.0, 0.0, 2.0)


def test_components_with_gaps() -> None:
    """Two of six annotators per item: no item has all, and the variances are still found; far apart they are not."""
    rng = make_seeded_generator(5, "gaps")
    table = rng.normal(0, 2, (1, 200)) + rng.normal(0, 1, (6, 1)) + rng.normal(0, 1, (6, 200))
    for item in range(200):
        table[rng.permutation(6)[2:], item] = np.nan
    found = estimate_variance_components(table)
    assert found is not None
    assert (found.items, found.residual) == pytest.approx((4, 1), rel=0.3)
    apart = np.full((2, 10), np.nan)
    apart[0, :5], apart[1, 5:] = rng.normal(size=5), rng.normal(size=5)
    assert estimate_variance_components(apart) is None
    whole = rng.normal(size=(3, 20))
    one_gap = whole.copy()
    one_gap[0, 0] = np.nan
    nearly, full = estimate_variance_components(one_gap), estimate_variance_components(whole)
    assert nearly is not None
    assert full is not None
    assert nearly.residual == pytest.approx(full.residual, rel=0.2)


def test_annotators_help_until_items_set_the_limit() -> None:
    """The least number that does, none where items alone vary too much, and none below those there are."""
    n = 40 + REACH.test**2 / 2
    few = VarianceComponents(mean=0.2, items=0.05, annotators=0.0, residual=0.4)
    k = annotators_needed_by_variance(few, round(n), 1, REACH)
    assert k is not None

    def reached(count: int) -> bool:
        return (
            REACH.standard_errors_for_test_and_power * math.sqrt((0.05 + 0.4 / count) / (round(n) - REACH.test**2 / 2))
            <= 0.2
        )

    assert reached(k)
    assert not reached(k - 1)
    assert annotators_needed_by_variance(few, round(n), k + 3, REACH) == k + 3
    assert annotators_needed_by_variance(VarianceComponents(0.2, 0.3, 0.0, 0.4), round(n), 1, REACH) is None
    apart = annotators_needed_by_variance(VarianceComponents(0.2, 0.05, 0.05, 0.4), round(n), 1, REACH)
    assert apart is not None
    assert apart > k


def test_ratings_become_more_reliable() -> None:
    """Spearman and Brown: two annotators with .5 between them have .667, four .8."""
    two = PeopleSystemCorrelations(people=0.6, system=0.9, shared=0.5, between=0.5, k=2)
    four = two.adjust_to_annotator_count(4)
    assert four.people == pytest.approx(0.6 * math.sqrt(0.8 / (2 / 3)))
    assert four.adjust_to_annotator_count(2).people == pytest.approx(0.6)
    assert annotators_needed_for_sts(PeopleSystemCorrelations(0.6, 0.9, 0.5, None, 1), 40, 1, REACH) is None


def test_spread_of_two_correlations() -> None:
    """Steiger's covariance: as simulated, and 0 for two that are the same."""
    rng = make_seeded_generator(4, "spread")
    gaps, n = [], 200
    for _ in range(400):
        gold = rng.normal(size=n)
        one, other = gold + rng.normal(0, 0.8, n), gold + rng.normal(0, 1.1, n)
        r, s = (np.corrcoef(gold, x)[0, 1] for x in (one, other))
        gaps.append(math.atanh(s) - math.atanh(r))
    at = PeopleSystemCorrelations(1 / math.sqrt(1.64), 1 / math.sqrt(2.21), 1 / math.sqrt(1.64 * 2.21), None, 1)
    # Bonett and Wright's variance of ranks is 1 + r^2 / 2 times that of values, here by about a seventh in deviation.
    assert 1.0 < at.spread / (float(np.std(gaps)) * math.sqrt(n - 3)) < 1.3
    assert PeopleSystemCorrelations(0.7, 0.7, 0.9999, None, 1).spread < 0.05


@pytest.mark.parametrize(
    ("studies", "least", "most"), [(20, 0.5, 1), pytest.param(120, 0.68, 0.92, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("of", [right_or_wrong, rated])
def test_planted_difference_is_found(of: object, studies: int, least: float, most: float) -> None:
    """Studies as large as a very large one says find the difference in about 80%, within three standard errors."""
    make = right_or_wrong if of is right_or_wrong else rated
    items = items_needed(*make(2500, 2, 1)).items
    assert items is not None
    found = [
        compare_with_people(people, {"m": values}, ResamplingSettings(300, seed=seed))["m"].difference.p < 0.05
        for seed in range(studies)
        for people, values in (make(items, 2, seed + 2),)
    ]
    assert least <= float(np.mean(found)) <= most


def test_smallest_difference_is_found() -> None:
    """A study that has just the least difference it could show finds it in about 80%."""
    pilots = [items_needed(*right_or_wrong(60, 2, seed, 0.88)).smallest or 0.0 for seed in range(40)]
    smallest = float(np.mean(pilots))
    found = []
    for seed in range(150):
        people, values = right_or_wrong(60, 2, seed, 0.7 + smallest)
        found.append(
            compare_with_people(people, {"m": values}, ResamplingSettings(300, seed=seed))["m"].difference.p < 0.05
        )
    assert 0.68 <= float(np.mean(found)) <= 0.92


def test_what_has_no_number() -> None:
    """Clusters, few items, no difference, one annotator, a constant system: None and why."""
    people, values = right_or_wrong(40, 2, 7)
    groups = PeopleAnswers(TaskSpec("t", "clustering", "eng"), people.gold, people.answers)
    assert "cannot be tested" in items_needed(groups, dict.fromkeys(values, "x")).note
    assert "At least 5" in items_needed(people, {"0001": 1.0}).note
    own = people.answers["ann 0"]
    alone = PeopleAnswers(people.task, people.gold, {"ann 0": own}, "mean")
    same = items_needed(alone, {item: float(value) for item, value in own.items()})
    assert (same.items, same.smallest) == (None, None)
    assert same.note == "No estimate: the difference is the same on every item."
    assert "One annotator" in items_needed(alone, values).note
    swapped = dict.fromkeys(values, 1.0) | {item: 1.0 - own[item] for item in list(own)[:2]}
    assert items_needed(alone, swapped).items is not None
    nearly = {item: float(own[item]) for item in own}
    first, second = (next(item for item in own if own[item] == value) for value in (0, 1))
    nearly |= {first: 1.0, second: 0.01}
    assert "items would not be enough" in items_needed(alone, nearly).note
    ratings, _ = rated(40, 2, 8)
    assert "do not vary" in items_needed(ratings, dict.fromkeys(ratings.gold, 1.0)).note
    with pytest.raises(UsageError, match="Power"):
        items_needed(people, values, power=0.01)


def test_ratings_by_mean_of_annotators() -> None:
    """Where scores are averaged, more annotators change nothing that is known."""
    people, values = rated(40, 3, 9)
    averaged = PeopleAnswers(people.task, people.gold, people.answers, "mean")
    assert items_needed(averaged, values).annotators is None
    assert "effect of more annotators" in items_needed(averaged, values).note
    assert items_needed(people, values).annotators is not None


def test_first_annotator_alone() -> None:
    """Where only the first one counts, the others say nothing of more annotators."""
    people, values = right_or_wrong(40, 3, 10)
    first = items_needed(PeopleAnswers(people.task, people.gold, people.answers, "first"), values)
    alone = items_needed(PeopleAnswers(people.task, people.gold, {"ann 0": people.answers["ann 0"]}, "mean"), values)
    assert first == alone
    assert "One annotator" in first.note


def test_vote_and_mean_on_either_side() -> None:
    """A vote of three is better than the system and their mean worse: more annotators are left open."""
    people, values = right_or_wrong(60, 3, 11, 0.76)
    vote = PeopleAnswers(people.task, people.gold, people.answers)
    found = items_needed(vote, values)
    assert found.annotators is None
    assert "effect of more annotators" in found.note
    assert found.items is not None
    above = items_needed(vote, dict.fromkeys(values, 1.0))
    assert above.annotators is not None
