"""Systems against people on the same items."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.hume import ceiling as paired
from embassay.protocols.hume.ceiling import compare_with_people, items_needed
from embassay.protocols.hume.options import Aggregation
from embassay.protocols.hume.resampling import PeopleAnswers, ResamplingSettings, compute_mean_people_score_per_resample
from embassay.protocols.hume.scoring import average_precision_of_marks, score_people_answers
from embassay.protocols.hume.study import Family, TaskSpec
from embassay.randomness import make_seeded_generator
from embassay.stats import paired_bootstrap

CONVENTIONS: list[Aggregation] = ["paper", "pooled", "mean", "first"]


def study(family: Family, n: int = 24, *, gaps: bool = False, annotators: int = 3) -> PeopleAnswers:
    """Noisy annotators of one family."""
    rng = make_seeded_generator(11, family)
    ids = [f"{i:03}" for i in range(n)]
    gold: dict[str, Any] = {}
    answers: dict[str, dict[str, Any]] = {f"ann {k}": {} for k in range(annotators)}
    for i, item in enumerate(ids):
        gold[item] = {"classification": i % 3, "clustering": str(i % 3), "sts": i / 4, "reranking": (1, 1, 0, 0)}[
            family
        ]
        for own in answers.values():
            if gaps and rng.random() < 0.2:
                continue
            noisy = i % 3 if rng.random() < 0.7 else int(rng.integers(3))
            own[item] = {
                "classification": noisy, "clustering": str(noisy), "sts": round(i / 4 + rng.normal(0, 2)),
                "reranking": tuple(int(rng.random() < share) for share in (0.9, 0.8, 0.2, 0.2)),
            }[family]  # fmt: skip
    return PeopleAnswers(TaskSpec("t", family, "eng"), gold, answers)


def values(people: PeopleAnswers, seed: int) -> dict[str, Any]:
    """A system's values for every item."""
    rng, family = make_seeded_generator(seed, "system"), people.task.family
    if family == "clustering":
        return {item: str(rng.integers(3)) for item in people.gold}
    if family == "sts":
        return {item: float(gold + rng.normal(0, 2)) for item, gold in people.gold.items()}
    return {item: float(rng.integers(0, 11) / 10) for item in people.gold}


@pytest.mark.parametrize("family", ["classification", "clustering", "reranking", "sts"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("aggregation", CONVENTIONS)
def test_people_score_as_they_do_alone(family: Family, gaps: bool, aggregation: Aggregation) -> None:
    """The score of people on all items is that of `score_people_answers`, by every convention and with gaps."""
    people = study(family, gaps=gaps)
    people = PeopleAnswers(people.task, people.gold, people.answers, aggregation)
    if (family, aggregation) == ("clustering", "pooled"):
        with pytest.raises(UsageError, match="pooled"):
            compare_with_people(people, {"m": values(people, 1)})
        return
    found = compare_with_people(people, {"m": values(people, 1)}, ResamplingSettings(50))["m"]
    expected = score_people_answers(people.task, people.gold, people.answers).score(aggregation)
    assert found.people == pytest.approx(expected, abs=1e-12)
    assert found.difference.value == pytest.approx(found.system - found.people, abs=1e-12)


def test_classification_is_the_paired_bootstrap() -> None:
    """Without bias and skew to mend it is the plain one of `stats` item by item."""
    people = study("classification", 200)
    people = PeopleAnswers(people.task, people.gold, people.answers, "mean")
    system = values(people, 2)
    found = compare_with_people(people, {"m": system}, ResamplingSettings(10_000, kind="percentile"))["m"]
    human = [np.mean([own[item] == gold for own in people.answers.values()]) for item, gold in people.gold.items()]
    plain = paired_bootstrap([system[item] for item in people.gold], human)
    assert found.difference.value == pytest.approx(plain.value)
    assert (found.difference.low, found.difference.high) == pytest.approx((plain.low, plain.high), abs=0.003)
    assert found.difference.p == pytest.approx(plain.p, abs=0.01)


def test_reranking_modes() -> None:
    """People's AP is made by the mode asked for."""
    people = study("reranking")
    system = {item: average_precision_of_marks(gold, (1, 0, 0, 0)) for item, gold in people.gold.items()}
    scores = {
        mode: compare_with_people(
            PeopleAnswers(people.task, people.gold, people.answers, human_ap_mode=mode),
            {"m": system},
            ResamplingSettings(50),
        )["m"].people
        for mode in ("tie_aware", "display_order", "expected")
    }
    assert len(set(scores.values())) == 3


def test_clustering_has_no_interval() -> None:
    """A difference, and why there is no more."""
    people = study("clustering")
    found = compare_with_people(people, {"m": values(people, 3)})["m"]
    assert found.difference.low is None
    assert math.isnan(found.difference.p)
    assert "partition" in found.reason


def test_failed_items_are_left_out_on_both_sides() -> None:
    """Systems with other items are compared on their own; order of the systems is kept."""
    people = study("classification")
    whole, part = values(people, 4), values(people, 5)
    for item in list(part)[:10]:
        del part[item]
    found = compare_with_people(people, {"part": part, "whole": whole}, ResamplingSettings(200))
    assert {name: one.difference.n for name, one in found.items()} == {"part": 14, "whole": 24}
    assert list(found) == ["part", "whole"]
    again = compare_with_people(people, {"whole": whole}, ResamplingSettings(200))
    assert again["whole"] == found["whole"]
    with pytest.raises(DataError, match="no value for any item of t"):
        compare_with_people(people, {"none": {"elsewhere": 1.0}})


def test_first_annotator_has_own_items() -> None:
    """Where only the first one counts, a system meets that one's items and no others."""
    people = study("classification", gaps=True)
    first = PeopleAnswers(people.task, people.gold, people.answers, "first")
    system = values(people, 6)
    own = people.answers["ann 0"]
    found = compare_with_people(first, {"m": system}, ResamplingSettings(50))["m"]
    assert found.difference.n == len(own) < len(people.items)
    assert found.system == pytest.approx(np.mean([system[item] for item in own]))
    assert items_needed(first, system).n == len(own)


def test_constant_system() -> None:
    """A system that gives one number has no correlation, and so no difference."""
    people = study("sts")
    found = compare_with_people(people, {"m": dict.fromkeys(people.gold, 1.0)})["m"]
    assert found.difference.value is None
    assert found.reason == "the value is undefined"


@pytest.mark.parametrize("family", ["classification", "reranking", "sts"])
def test_systems_share_the_resamples(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty systems with the same items are scored on the same resamples at once, and people once for all."""
    drawn: list[int] = []
    scored = compute_mean_people_score_per_resample

    def counted(task: TaskSpec, laid: Any, counts: Any) -> Any:
        drawn.append(len(counts))
        return scored(task, laid, counts)

    monkeypatch.setattr(paired, "compute_mean_people_score_per_resample", counted)
    people = study(family, 40)
    compare_with_people(people, {f"s{k}": values(people, k) for k in range(20)}, ResamplingSettings(200))
    alone, drawn[:] = sum(drawn), []
    compare_with_people(people, {"s0": values(people, 0)}, ResamplingSettings(200))
    assert alone == sum(drawn) < 2 * 200
