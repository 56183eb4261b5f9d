"""From signals to what is believed, and what labels do to it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.choose.belief import (
    LIKELY,
    SignalWeightPosterior,
    SystemScoreBelief,
    SystemSignals,
    build_system_signals,
    forecast_regret_by_label_count,
    form_belief_from_signals,
    make_contrast_basis,
    update_belief_by_questions,
)
from embassay.protocols.choose.conclusions import estimate_system_means_despite_gaps, load_shipped_signal_weights

AGREEMENT = np.array([[1.0, 0.9, 0.3], [0.9, 1.0, 0.3], [0.3, 0.3, 1.0]])
WEIGHTS = SignalWeightPosterior(np.array([1.0]), np.zeros((1, 1)), 0.01, 8.0)


def belief(*values: float) -> SystemScoreBelief:
    return form_belief_from_signals(WEIGHTS, SystemSignals(column := np.array(values)[:, None], AGREEMENT, column))


def test_contrasts_are_orthonormal_differences() -> None:
    """And all differences of n values are among them."""
    basis = make_contrast_basis(5)
    assert np.allclose(basis.T @ basis, np.eye(4))
    assert np.allclose(basis.sum(axis=0), 0)


def test_probabilities_sum_to_one_and_follow_the_signals() -> None:
    """The pick has the least expected regret."""
    found = belief(0.5, 0.4, 0.1)
    assert found.best.sum() == pytest.approx(1)
    assert found.least_regret_system == 0
    assert found.best[0] > found.best[1] > found.best[2]
    assert found.expected_regrets.argmin() == 0
    assert (found.near(0.5) > found.near(0.01)).all()


def test_systems_that_agree_differ_less() -> None:
    """The interval of two that find the same is narrower."""
    found = belief(0.3, 0.3, 0.3)
    close, far = found.interval(0, 1), found.interval(0, 2)
    assert close[1] - close[0] < 0.6 * (far[1] - far[0])


def test_evidence_by_hand() -> None:
    """The score is the mean of the signals, and agreement is kept beside it."""
    near, half = np.array([0.75, 0.5, 0.0]), np.array([0.25, 0.5, 0.0])
    found = build_system_signals([near, half], AGREEMENT)
    assert found.values == pytest.approx(np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 0.0]]))
    assert found.scores == pytest.approx(np.array([[0.5], [0.5], [0.0]]))
    assert np.array_equal(found.agreement, AGREEMENT)


@pytest.mark.parametrize("copies", [1, 6])
def test_near_copies_of_a_bad_system_do_not_win(copies: int) -> None:
    """Six that find almost the same agree with each other and with nobody else; each finds less than the one beside
    them. However many they are, the other is the pick, and its lead stays the same."""
    n = copies + 1
    near = np.array([0.5] + [0.3] * copies)
    near[1:] += np.linspace(0, 0.004, copies)
    shares = np.where(np.add.outer(np.arange(n) == 0, np.arange(n) == 0) == 1, 0.1, 0.97)
    np.fill_diagonal(shares, 1.0)
    evidence = build_system_signals([near, near], shares)
    assert evidence.scores[0, 0] - evidence.scores[1, 0] == pytest.approx(0.2)
    found = form_belief_from_signals(load_shipped_signal_weights().weights, evidence)
    assert found.least_regret_system == 0
    assert found.best[0] > 0.5
    assert found.near(0.01)[1:].min() == pytest.approx(found.near(0.01)[1:].max(), abs=0.05)


@given(st.integers(2, 5), st.integers(0, 2**32))
def test_means_of_systems_that_were_asked_alike_are_their_means(systems: int, seed: int) -> None:
    """And of effects that add up, whoever was asked what: those that all would have."""
    rng = np.random.default_rng(seed)
    values = rng.random((20, systems))
    assert estimate_system_means_despite_gaps(values) == pytest.approx(values.mean(axis=0))
    added = rng.random((20, 1)) + rng.random(systems)
    partly = added.copy()
    partly[8:, 1:] = np.where(rng.random((12, systems - 1)) < 0.5, np.nan, partly[8:, 1:])
    assert estimate_system_means_despite_gaps(partly) == pytest.approx(added.mean(axis=0))


def test_many_labels_decide_whatever_the_signals_said() -> None:
    """2,000 judged questions in which the last is best by .2."""
    rng = np.random.default_rng(1)
    values = np.clip(rng.normal([0.3, 0.3, 0.5], 0.2, (2000, 3)), 0, 1)
    found = update_belief_by_questions(belief(0.5, 0.4, 0.1), values, 0.1 * AGREEMENT)
    assert found.least_regret_system == 2
    assert found.best[2] > 0.99
    assert found.mean[2] - found.mean[0] == pytest.approx(0.2, abs=0.03)


def test_a_few_labels_move_it_part_of_the_way() -> None:
    """Between what the signals said and what they saw."""
    before = belief(0.5, 0.4, 0.3)
    after = update_belief_by_questions(before, np.array([[0.2, 0.2, 0.6], [0.3, 0.1, 0.7]]), 0.1 * AGREEMENT)
    gaps = [one.mean[2] - one.mean[0] for one in (before, after)]
    assert gaps[0] < gaps[1] < 0.4


def test_more_labels_leave_less_regret() -> None:
    """And the number is the first that is likely enough; fewer than must be judged are not told."""
    found = belief(0.31, 0.3, 0.3)
    told = forecast_regret_by_label_count(found, 0.1 * AGREEMENT, 0.01)
    regrets, chances = list(told.regrets.values()), list(told.chances.values())
    assert regrets[0] > regrets[-1]
    assert chances == sorted(chances)
    assert told.needed is not None
    assert told.chances[told.needed] >= LIKELY > chances[-2]
    assert forecast_regret_by_label_count(found, 0.1 * AGREEMENT, 0.9).needed == 10
    assert forecast_regret_by_label_count(found, 0.1 * AGREEMENT, 0.9, 30).needed == 40


@pytest.mark.parametrize("tolerance", [0.01, 0.03])
def test_the_number_of_labels_comes_true(tolerance: float) -> None:
    """200 worlds drawn from the belief, with skewed nDCG of so many questions each: after them the choice is decided as
    often as was said (80% or a little more), within three standard errors; with half as many less often."""
    before = belief(0.34, 0.3, 0.29)
    noise = 0.1 * AGREEMENT
    told = forecast_regret_by_label_count(before, noise, tolerance)
    assert told.needed is not None
    rng = np.random.default_rng(9)
    root = np.linalg.cholesky(noise)

    def is_decided(truth: np.ndarray, n: int) -> bool:
        # An exponential less its mean: most questions lose a little, some gain much.
        values = truth + (rng.exponential(size=(n, len(truth))) - 1) @ root.T
        after = update_belief_by_questions(before, values, noise)
        return bool(after.expected_regrets[after.least_regret_system] <= tolerance)

    shares = [np.mean([is_decided(truth, n) for truth in before.draws[:200]]) for n in (told.needed, told.needed // 2)]
    assert shares[0] == pytest.approx(told.chances[told.needed], abs=3 * (0.8 * 0.2 / 200) ** 0.5)
    assert shares[1] < shares[0]


@pytest.fixture
def fitting(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """How the shipped weights were made."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    return import_module("choose_weights")


def test_the_weights_of_made_collections_are_found_again(fitting: ModuleType) -> None:
    """Truth is twice the first signal, whatever the second."""
    rng = np.random.default_rng(3)
    cases = []
    for _ in range(12):
        values = rng.normal(size=(6, 2))
        same = np.full((6, 6), 0.5) + 0.5 * np.eye(6)
        truth = 2 * values[:, 0] + rng.normal(scale=0.05, size=6)
        cases.append([(SystemSignals(values, same, values), truth)])
    found = fitting.fit_weights(cases, 1e-4)
    assert found.weights == pytest.approx([2, 0], abs=0.1)
    assert 0 < found.scale < 0.1


def test_the_size_of_errors_and_how_it_varies(fitting: ModuleType) -> None:
    """Equal errors vary little; those that differ tenfold have few degrees of freedom."""
    steady, wild = (
        fitting.error_spread(np.array(errors), [50] * 6) for errors in ([0.1] * 6, [0.01, 0.1, 1, 0.02, 0.3, 2])
    )
    assert steady[0] == pytest.approx(0.1, rel=0.1)
    assert steady[1] > 50
    assert wild[1] < 5
