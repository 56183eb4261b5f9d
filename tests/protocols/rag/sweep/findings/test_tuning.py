"""Fusions chosen on some questions and judged on others: noise is not recommended, what helps is."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.contracts import IndexFacts
from embassay.protocols.rag.sweep.findings.arrays import StackArrays
from embassay.protocols.rag.sweep.findings.recommendation import recommend_stack
from embassay.protocols.rag.sweep.findings.record import FusionTuning
from embassay.protocols.rag.sweep.findings.tuning import (
    cross_validate_fusion_choice,
    iterate_cross_validated_fusion_choices,
)
from embassay.protocols.rag.sweep.stacks import (
    MeasuredStack,
    StackConfiguration,
    StackTimes,
    SweepMeasurements,
    SweepRules,
)

MEASURE = "RA-nWG@10"
FUSIONS = ("rrf", *(f"convex?weight=0.{n}" for n in range(1, 10)))


def ground_of(values: np.ndarray, groups: np.ndarray | None = None) -> StackArrays:
    """Stacks that differ in their fusion alone, with these values (queries, fusions)."""
    measured = tuple(
        MeasuredStack(
            StackConfiguration("wordllama", mode="hybrid", fusion=fusion), "d", {MEASURE: column}, {},
            StackTimes({"total": np.ones((1, 3))}, np.ones(3), 1), {}, (1.0, 0.0), 1.0,
            IndexFacts(9, 4, 0.0, None, None), {}
        )
        for fusion, column in zip(FUSIONS, values.T, strict=False)
    )  # fmt: skip
    n = len(values)
    sweep = SweepMeasurements(
        measured, (), {"d": tuple(f"q{row}" for row in range(n))}, SweepRules(), "", {},
        groups={} if groups is None else {"d": groups}
    )  # fmt: skip
    return StackArrays(sweep, ["d"], 500)


def tune(values: np.ndarray, groups: np.ndarray | None = None) -> FusionTuning:
    """The one tuning of such a sweep."""
    (tuning,) = iterate_cross_validated_fusion_choices(ground_of(values, groups))
    return tuning


def noise(seed: int, questions: int, fusions: int = 10) -> np.ndarray:
    """Questions that are easy or hard, and fusions that differ by chance alone."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.random((questions, 1)) + 0.15 * rng.standard_normal((questions, fusions)), 0, 1)


def test_what_others_choose_is_worked_by_hand() -> None:
    """Two questions, two folds: each is scored by what is best for the other one."""
    picked, shares = cross_validate_fusion_choice(
        np.array([[1.0, 0.0], [0.2, 0.6]]), np.arange(2), np.random.default_rng(0)
    )
    assert picked == pytest.approx([0.0, 0.2])
    assert shares == pytest.approx([0.5, 0.5])
    # Both in one group: there are no others.
    alone, none = cross_validate_fusion_choice(
        np.array([[1.0, 0.0], [0.2, 0.6]]), np.zeros(2, dtype=int), np.random.default_rng(0)
    )
    assert alone.tolist() == [1.0, 0.2]
    assert not none.any()


def test_an_overfit_on_26_questions_is_refused() -> None:
    """Ten fusions equal but for chance: the best seems better by a standard error or two, and is refused."""
    values = noise(3, 26)
    tuning = tune(values)
    seeming = values.mean(axis=0).max() - values[:, 0].mean()
    assert seeming > 0.02
    assert tuning.best == pytest.approx(values.mean(axis=0).max())
    assert tuning.tuning_optimism is not None
    assert tuning.tuning_optimism > 0.01
    assert tuning.verdict == "too few questions to tune on"
    ground = ground_of(values)
    assert len(tuning.refused) == 9
    assert recommend_stack(ground, [tuning]).stack == ground.ids[0]
    assert recommend_stack(ground).stack != ground.ids[0]


def test_questions_that_share_a_passage_are_one() -> None:
    """100 questions of 20 passages are 20."""
    tuning = tune(noise(3, 100), np.repeat(np.arange(20), 5))
    assert tuning.questions == 20
    assert tuning.verdict == "too few questions to tune on"


def test_a_fusion_that_helps_is_recommended() -> None:
    """.05 on each of 200 questions, and chosen in every fold."""
    values = noise(4, 200)
    values[:, 4] += 0.05
    tuning = tune(values)
    assert (tuning.chosen, tuning.verdict, tuning.picked) == (FUSIONS[4], "use it", pytest.approx(1.0))
    assert len(tuning.refused) == 8
    ground = ground_of(values)
    assert recommend_stack(ground, [tuning]).stack == ground.ids[4]


def test_chance_is_seldom_recommended_and_the_honest_value_is_true() -> None:
    """100 sweeps of ten fusions equal but for chance, 60 questions each: at most 5 are told to use another fusion, and
    in the mean the value on other questions is that of any fusion, .5, where the best one's is too high."""
    tunings = [tune(noise(seed, 60)) for seed in range(100, 200)]
    assert sum(tuning.verdict == "use it" for tuning in tunings) <= 5
    truths = np.array([noise(seed, 60).mean() for seed in range(100, 200)])
    honest = np.array([tuning.honest for tuning in tunings], dtype=float)
    best = np.array([tuning.best for tuning in tunings])
    assert abs((honest - truths).mean()) < 0.004
    assert (best - truths).mean() > 0.02


def test_one_fusion_and_no_hybrid_need_no_tuning() -> None:
    """Nothing to choose from."""
    assert not list(iterate_cross_validated_fusion_choices(ground_of(noise(1, 40, 1))))
