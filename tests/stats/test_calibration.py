"""Curves from scores to probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from embassay.stats.calibration import (
    BetaCalibrationCurve,
    IsotonicCalibrationCurve,
    bin_pairs_by_probability,
    choose_calibration_curve,
    compute_calibration_error,
    compute_log_losses,
    compute_probability_band,
)


def curve(scores):
    return 1 / (1 + np.exp(-2.5 * scores + 0.5))


def drawn(rng, n):
    scores = rng.normal(size=n)
    return scores, rng.random(n) < curve(scores)


def test_beta_finds_a_logistic_curve():
    """As near as a library's logistic regression, which has the right form."""
    scores, same = drawn(np.random.default_rng(1), 4_000)
    at = np.linspace(-2, 2, 9)
    theirs = LogisticRegression(C=1e6).fit(scores[:, None], same).predict_proba(at[:, None])[:, 1]
    assert np.abs(BetaCalibrationCurve.fit_to_labels(scores, same)(at) - theirs).max() < 0.03
    assert np.abs(BetaCalibrationCurve.fit_to_labels(scores, same)(at) - curve(at)).max() < 0.05


def test_isotonic_is_that_of_scikit_learn():
    """Between the ends, where ours never says 0 or 1."""
    scores, same = drawn(np.random.default_rng(2), 500)
    scores = scores.round(1)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, same).predict(scores)
    ours = IsotonicCalibrationCurve.fit_to_labels(scores, same)(scores)
    assert ours == pytest.approx(theirs.clip(0.5 / 501, 1 - 0.5 / 501))


@given(st.integers(0, 2**32 - 1), st.integers(20, 80), st.floats(0.001, 1e6), st.floats(-1e6, 1e6))
def test_curves_never_fall_and_stay_between_0_and_1(seed, n, scale, middle):
    """At any scale of scores, ties included."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=n), 1) * scale + middle
    same = rng.random(n) < 0.5
    at = np.linspace(scores.min(), scores.max(), 30)
    for kind in (BetaCalibrationCurve, IsotonicCalibrationCurve):
        found = kind.fit_to_labels(scores, same)(at)
        assert (np.diff(found) >= -1e-9).all()
        assert ((found >= 0) & (found <= 1)).all()
    low, high = compute_probability_band(at, scores, same)
    assert (low <= high).all()


@pytest.mark.parametrize(
    "truth", [curve, lambda s: np.where(s > 0.3, 0.9, 0.15), lambda s: 0.2 + 0.5 * np.clip(s, 0, 1.5)]
)
def test_the_band_holds_for_any_curve_that_never_falls(truth):
    """A smooth one, a step and a kink: each point in at least 95% of 150 draws, less what chance allows."""
    rng, at, held = np.random.default_rng(3), np.linspace(-1.5, 1.5, 7), []
    for _ in range(150):
        scores = rng.normal(size=200)
        low, high = compute_probability_band(at, scores, rng.random(200) < truth(scores))
        held.append((low <= truth(at)) & (truth(at) <= high))
    assert np.mean(held, axis=0).min() > 0.91


def test_the_kind_is_chosen_by_held_out_loss_and_groups_stay_together():
    """A step is isotonic's; pairs of one group are never on both sides, so that a repeated pair foretells nothing."""
    rng = np.random.default_rng(4)
    scores = rng.normal(size=600)
    step = rng.random(600) < np.where(scores > 0.3, 0.95, 0.1)
    found = choose_calibration_curve(scores, step, None, rng)
    assert found.kind == "isotonic"
    assert found.losses["isotonic"] < found.losses["beta"]
    noise = rng.random(100) < 0.5
    repeated = np.repeat(rng.normal(size=100), 5), np.repeat(noise, 5)
    apart = choose_calibration_curve(*repeated, np.repeat(np.arange(100), 5), np.random.default_rng(0))
    assert compute_log_losses(apart.held_out, repeated[1]).mean() > 0.66


def test_last_digits_order_no_equal_probabilities():
    """Machines differ in the last digits of a fit: what is equal but for these is cut in the order of the pairs."""
    rng = np.random.default_rng(7)
    probability, same = rng.choice([0.25, 0.4, 0.41], 84), rng.random(84) < 0.4
    shaken = probability + rng.uniform(-1e-12, 1e-12, 84)
    for one, other in zip(
        bin_pairs_by_probability(probability, same), bin_pairs_by_probability(shaken, same), strict=True
    ):
        assert (one.n, one.came) == (other.n, other.came)
        assert one.foretold == pytest.approx(other.foretold, abs=1e-9)


def test_bins_and_error_by_hand():
    """Two bins of two: foretold 0.1 and 0.8, came true 0 and 0.5."""
    probability, same = np.array([0.1, 0.1, 0.8, 0.8]), np.array([False, False, True, False])
    first, second = bin_pairs_by_probability(probability, same, 2)
    assert (first.foretold, first.came, second.foretold, second.came) == pytest.approx((0.1, 0.0, 0.8, 0.5))
    assert compute_calibration_error(probability, same, 2) == pytest.approx((0.1 + 0.3) / 2)
