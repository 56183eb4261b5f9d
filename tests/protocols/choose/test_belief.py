"""From signals to what is believed, and what labels do to it."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.protocols.choose.belief import (
    CHANCE,
    Belief,
    Evidence,
    Weights,
    contrast_basis,
    error_spread,
    fit_weights,
    form_belief,
    gather_evidence,
    labels_for,
    mean_error,
    system_scores,
    update_belief,
)

AGREEMENT = np.array([[1.0, 0.9, 0.3], [0.9, 1.0, 0.3], [0.3, 0.3, 1.0]])
WEIGHTS = Weights(np.array([1.0]), np.zeros((1, 1)), 0.01, 8.0)


def belief(*values: float) -> Belief:
    return form_belief(WEIGHTS, Evidence(column := np.array(values)[:, None], AGREEMENT, column))


def test_contrasts_are_orthonormal_differences() -> None:
    """And all differences of n values are among them."""
    basis = contrast_basis(5)
    assert np.allclose(basis.T @ basis, np.eye(4))
    assert np.allclose(basis.sum(axis=0), 0)


def test_probabilities_sum_to_one_and_follow_the_signals() -> None:
    """The pick has the least expected regret."""
    found = belief(0.5, 0.4, 0.1)
    assert found.best.sum() == pytest.approx(1)
    assert found.pick == 0
    assert found.best[0] > found.best[1] > found.best[2]
    assert found.regret.argmin() == 0
    assert (found.near(0.5) > found.near(0.01)).all()


def test_systems_that_agree_differ_less() -> None:
    """The interval of two that find the same is narrower."""
    found = belief(0.3, 0.3, 0.3)
    close, far = found.interval(0, 1), found.interval(0, 2)
    assert close[1] - close[0] < 0.6 * (far[1] - far[0])


def test_a_score_by_hand() -> None:
    """The mean of the signals in their own spreads and errors, times the root of the disagreement."""
    values, errors = np.array([[0.9, 0.02], [0.5, 0.06]]), np.array([0.0, 0.01])
    agreement = np.array([[1.0, 0.64], [0.64, 1.0]])
    expected = 0.6 * np.mean([1, -0.02 / np.hypot(0.02, CHANCE * 0.01)])
    assert system_scores(values, errors, agreement) == pytest.approx([expected, -expected])


def test_evidence_by_hand() -> None:
    """Signals are means over questions; the last is how much each system agrees with the others."""
    near = np.array([[1.0, 0.5, 0.0], [0.5, 0.5, 0.0]])
    found = gather_evidence([near], np.stack([AGREEMENT, AGREEMENT]))
    assert found.values == pytest.approx(np.array([[0.75, 0.6], [0.5, 0.6], [0.0, 0.3]]))
    assert np.array_equal(found.agreement, AGREEMENT)
    assert mean_error(near) == pytest.approx(
        np.sqrt(np.mean(np.var([[0.5, 1 / 6], [0, 1 / 6], [-0.5, -1 / 3]], axis=1, ddof=1)) / 2)
    )
    assert mean_error(near[:1]) == 0


def test_what_may_be_chance_does_not_decide() -> None:
    """One system finds far more sentences; the other a little more halves, which 60 questions cannot tell apart."""
    rng = np.random.default_rng(5)
    halves = rng.random((60, 1)) + rng.normal(scale=0.3, size=(60, 2))
    halves += np.array([0.0, 0.02]) - (halves.mean(axis=0) - halves.mean())
    sentences = np.clip(rng.normal([0.9, 0.5], 0.1, (60, 2)), 0, 1)
    shares = np.tile(np.array([[1.0, 0.4], [0.4, 1.0]]), (60, 1, 1))
    first, second = gather_evidence([sentences, halves], shares).scores[:, 0]
    assert first > second
    blind = gather_evidence([sentences, halves], shares, chance=0.0).scores[:, 0]
    assert blind == pytest.approx([0, 0])  # one for each, were chance not counted


def test_near_copies_score_nearly_the_same() -> None:
    """However alike they are, one is first by every signal: only how much they disagree says by how little."""
    values, errors = np.array([[0.501, 0.401], [0.5, 0.4]]), np.zeros(2)
    near, far = (system_scores(values, errors, np.array([[1.0, a], [a, 1.0]])) for a in (0.999, 0.5))
    assert 0 < near[0] - near[1] < 0.1 * (far[0] - far[1])
    assert system_scores(values, errors, np.ones((2, 2))).tolist() == [0.0, 0.0]


def test_many_labels_decide_whatever_the_signals_said() -> None:
    """2,000 judged questions in which the last is best by .2."""
    rng = np.random.default_rng(1)
    values = np.clip(rng.normal([0.3, 0.3, 0.5], 0.2, (2000, 3)), 0, 1)
    found = update_belief(belief(0.5, 0.4, 0.1), values, 0.1 * AGREEMENT)
    assert found.pick == 2
    assert found.best[2] > 0.99
    assert found.mean[2] - found.mean[0] == pytest.approx(0.2, abs=0.03)


def test_a_few_labels_move_it_part_of_the_way() -> None:
    """Between what the signals said and what they saw."""
    before = belief(0.5, 0.4, 0.3)
    after = update_belief(before, np.array([[0.2, 0.2, 0.6], [0.3, 0.1, 0.7]]), 0.1 * AGREEMENT)
    gaps = [one.mean[2] - one.mean[0] for one in (before, after)]
    assert gaps[0] < gaps[1] < 0.4


def test_more_labels_leave_less_regret() -> None:
    """And the number is the first that is enough."""
    found = belief(0.31, 0.3, 0.3)
    enough, regrets = labels_for(found, 0.1 * AGREEMENT, 0.01)
    values = list(regrets.values())
    assert values[0] > values[-1]
    assert enough is None or regrets[enough] <= 0.01
    assert labels_for(found, 0.1 * AGREEMENT, 0.9)[0] == 10


def test_the_weights_of_made_collections_are_found_again() -> None:
    """Truth is twice the first signal, whatever the second."""
    rng = np.random.default_rng(3)
    cases = []
    for _ in range(12):
        values = rng.normal(size=(6, 2))
        same = np.full((6, 6), 0.5) + 0.5 * np.eye(6)
        truth = 2 * values[:, 0] + rng.normal(scale=0.05, size=6)
        cases.append([(Evidence(values, same, values), truth)])
    found = fit_weights(cases, 1e-4)
    assert found.weights == pytest.approx([2, 0], abs=0.1)
    assert 0 < found.scale < 0.1


def test_the_size_of_errors_and_how_it_varies() -> None:
    """Equal errors vary little; those that differ tenfold have few degrees of freedom."""
    steady, wild = (
        error_spread(np.array(errors), [50] * 6) for errors in ([0.1] * 6, [0.01, 0.1, 1, 0.02, 0.3, 2])
    )
    assert steady[0] == pytest.approx(0.1, rel=0.1)
    assert steady[1] > 50
    assert wild[1] < 5
