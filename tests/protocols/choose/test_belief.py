"""From signals to what is believed, and what labels do to it."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.protocols.choose.belief import Belief, believed, labels_for, updated
from embassay.protocols.choose.prediction import Evidence, Weights, contrasts, fitted, spread

AGREEMENT = np.array([[1.0, 0.9, 0.3], [0.9, 1.0, 0.3], [0.3, 0.3, 1.0]])
WEIGHTS = Weights(np.array([1.0]), np.zeros((1, 1)), 0.01, 8.0)


def belief(*values: float) -> Belief:
    return believed(WEIGHTS, Evidence(np.array(values)[:, None], AGREEMENT))


def test_contrasts_are_orthonormal_differences() -> None:
    """And all differences of n values are among them."""
    basis = contrasts(5)
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


def test_many_labels_decide_whatever_the_signals_said() -> None:
    """2,000 judged questions in which the last is best by .2."""
    rng = np.random.default_rng(1)
    values = np.clip(rng.normal([0.3, 0.3, 0.5], 0.2, (2000, 3)), 0, 1)
    found = updated(belief(0.5, 0.4, 0.1), values, 0.1 * AGREEMENT)
    assert found.pick == 2
    assert found.best[2] > 0.99
    assert found.mean[2] - found.mean[0] == pytest.approx(0.2, abs=0.03)


def test_a_few_labels_move_it_part_of_the_way() -> None:
    """Between what the signals said and what they saw."""
    before = belief(0.5, 0.4, 0.3)
    after = updated(before, np.array([[0.2, 0.2, 0.6], [0.3, 0.1, 0.7]]), 0.1 * AGREEMENT)
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
        cases.append([(Evidence(values, same), truth)])
    found = fitted(cases, 1e-4)
    assert found.weights == pytest.approx([2, 0], abs=0.1)
    assert 0 < found.scale < 0.1


def test_the_size_of_errors_and_how_it_varies() -> None:
    """Equal errors vary little; those that differ tenfold have few degrees of freedom."""
    steady, wild = (
        spread(np.array(errors), [50] * 6) for errors in ([0.1] * 6, [0.01, 0.1, 1, 0.02, 0.3, 2])
    )
    assert steady[0] == pytest.approx(0.1, rel=0.1)
    assert steady[1] > 50
    assert wild[1] < 5
