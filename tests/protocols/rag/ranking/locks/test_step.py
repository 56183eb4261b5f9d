"""The worked updates of spec rag 4.1."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.rag.ranking.locks import (
    clip_score_change,
    compute_lock_step_size_of_turn,
    compute_plackett_luce_step,
)


def test_equal_scores() -> None:
    """Five equal scores, order ABCDE, a step of .05."""
    changes, information = compute_plackett_luce_step([4.0] * 5, 0.05)
    assert changes == pytest.approx([0.04, 0.0275, 0.010833, -0.014167, -0.064167], abs=1e-6)
    assert sum(changes) == pytest.approx(0, abs=1e-12)
    assert information == pytest.approx([0.16, 0.3475, 0.569722, 0.819722, 0.819722], abs=1e-6)


def test_unequal_scores() -> None:
    """A3 B5 C4 D4 E2, judged ABCDE; every suffix takes the scores of the start of the turn (trap T15)."""
    changes, _ = compute_plackett_luce_step([3.0, 5.0, 4.0, 4.0, 2.0], 0.05)
    assert changes == pytest.approx([0.046477, -0.004032, 0.006707, -0.037333, -0.011819], abs=1e-6)


@pytest.mark.parametrize(("turn", "size"), [(0, 0.05), (50, 0.035355), (150, 0.025), (1200, 0.01)])
def test_step_size_falls(turn: int, size: float) -> None:
    """The step falls with the root of the turn, down to its least."""
    assert compute_lock_step_size_of_turn(turn, 0.05, 0.01, "inv_sqrt") == pytest.approx(size, abs=1e-6)
    assert compute_lock_step_size_of_turn(turn, 0.05, 0.01, "constant") == 0.05


def test_the_clip_never_binds_at_the_usual_step() -> None:
    """At a step of .05 no score moves by more than .2 whatever the scores (trap T13): an item loses .05 at most in
    each of the four suffixes in which it is not the first."""
    worst, _ = compute_plackett_luce_step([-50.0, -40.0, -30.0, -20.0, 50.0], 0.05)
    assert max(map(abs, worst)) <= 0.2 + 1e-12
    assert clip_score_change(0.3, 0.2) == 0.2
    assert clip_score_change(-0.3, 0.2) == -0.2
    assert clip_score_change(0.1, 0.2) == 0.1


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=7))
def test_a_step_is_the_gradient_of_the_log_likelihood(scores: list[float]) -> None:
    """Changes are the step times the derivative of the log probability of the order, and sum to 0."""

    def log_likelihood(values: list[float]) -> float:
        from math import log

        total = 0.0
        for first in range(len(values)):
            highest = max(values[first:])
            total += values[first] - highest - log(sum(exp(value - highest) for value in values[first:]))
        return total

    changes, information = compute_plackett_luce_step(scores, 1.0)
    assert sum(changes) == pytest.approx(0, abs=1e-9)
    assert all(value >= 0 for value in information)
    for place in range(len(scores)):
        up, down = list(scores), list(scores)
        up[place] += 1e-4
        down[place] -= 1e-4
        slope = (log_likelihood(up) - log_likelihood(down)) / 2e-4
        assert changes[place] == pytest.approx(slope, abs=1e-5)
