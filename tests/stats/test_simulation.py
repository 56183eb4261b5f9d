"""Do intervals cover and tests err as often as they say? Seeded simulations, each with a smoke test of fewer worlds,
which lets pass what chance can make of the true rate."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.stats import bootstrap_ci, randomization_test, rank_intervals


def sized(few: tuple[int, float, float], many: tuple[int, float, float]) -> pytest.MarkDecorator:
    """How many worlds, and the least and the largest rate allowed: for `make test` and for `make nightly`."""
    return pytest.mark.parametrize(
        ("worlds", "least", "most"), [few, pytest.param(*many, marks=pytest.mark.nightly)]
    )


@sized(few=(100, 0.87, 1.0), many=(1000, 0.93, 0.97))
@pytest.mark.parametrize("kind", ["mean", "share"])
def test_bootstrap_ci_covers_the_truth(kind: str, worlds: int, least: float, most: float) -> None:
    """The 95% interval of a skewed mean and of a share holds the truth in 93% to 97% of 1,000 samples."""
    rng = np.random.default_rng(20)
    shape = worlds, 200
    draws = rng.beta(2, 5, shape) if kind == "mean" else (rng.random(shape) < 0.3).astype(float)
    truth = 2 / 7 if kind == "mean" else 0.3
    results = [bootstrap_ci(x, n_resamples=500, seed=i) for i, x in enumerate(draws)]
    covered = np.mean([result.low <= truth <= result.high for result in results])
    assert least <= covered <= most


@sized(few=(200, 0.005, 0.11), many=(3000, 0.04, 0.055))
def test_randomization_test_rejects_a_true_null_in_5_percent(worlds: int, least: float, most: float) -> None:
    """Two equal systems of skewed, paired scores: p <= .05 in at most 5.5% of 3,000 comparisons."""
    rng = np.random.default_rng(21)
    rejected = 0
    for i in range(worlds):
        difficulty = rng.random(60)
        a, b = difficulty + rng.exponential(0.2, (2, 60))
        rejected += randomization_test(a, b, n_resamples=399, seed=i).p <= 0.05
    assert least <= rejected / worlds <= most


@sized(few=(50, 0.0, 0.16), many=(1000, 0.0, 0.055))
def test_rank_intervals_of_equal_systems_hold_all_ranks(worlds: int, least: float, most: float) -> None:
    """Of 1,000 comparisons of five equal systems, at most 5.5% exclude any rank of any system."""
    rng = np.random.default_rng(22)
    wrong = 0
    for i in range(worlds):
        scores = rng.random(200) + rng.normal(0, 0.2, (5, 200))
        wrong += any(
            (rank.low, rank.high) != (1, 5) for rank in rank_intervals(scores, n_resamples=400, seed=i)
        )
    assert least <= wrong / worlds <= most
