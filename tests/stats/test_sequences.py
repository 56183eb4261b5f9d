"""Confidence sequences of a finite population: worked by hand, and what they promise at every look."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.randomness import make_seeded_generator
from embassay.stats.sequences import (
    FRACTIONS,
    PopulationBeforeBlock,
    compute_anytime_total_interval,
    compute_log_bet_stakes,
    decide_totals_against_bars,
    draw_weighted_item_order,
    join_sequential_draws,
    make_sequential_draws_of_block,
)


def _left(values, foretold=0.0, weight=1.0):
    n = len(values)
    full = np.full((n, 1), 1.0)
    return PopulationBeforeBlock(0 * full, full, foretold * full, np.full(n, weight))


def test_a_draw_by_hand() -> None:
    """Three items from 0 to 1, alike in chance, nothing foretold: one draw of 1 is an estimate of 3."""
    draws = make_sequential_draws_of_block(
        _left([1, 0, 1]), np.array([0, 1, 2]), np.array([[1.0], [0.0], [1.0]]), np.zeros(1)
    )
    assert draws.found[:, 0].tolist() == [3.0, 0.0, 1.0]
    assert draws.known[:, 0].tolist() == [0.0, 1.0, 1.0]
    assert draws.low[:, 0].tolist() == [0.0, 0.0, 0.0]
    assert draws.high[:, 0].tolist() == [3.0, 2.0, 1.0]
    assert draws.rest_high[:, 0].tolist() == [2.0, 1.0, 0.0]
    # Against a total of 1: the draw is 2 above, at most 1 can be lost, so that each part of a stake grows by 1 + 2 f.
    stake = np.exp(compute_log_bet_stakes(draws, np.array([1.0]), above=True))[0, 0]
    assert stake == pytest.approx((1 + 2 * FRACTIONS).mean())


def test_what_was_foretold_is_corrected() -> None:
    """A guess that is right takes all chance out of a draw; one that is wrong is made up for."""
    values = np.array([[0.25], [0.25]])
    draws = make_sequential_draws_of_block(_left(values, 0.25), np.array([0, 1]), values, np.zeros(1))
    assert draws.found[:, 0].tolist() == [0.5, 0.25]
    wrong = make_sequential_draws_of_block(_left(values, 0.75), np.array([0, 1]), values, np.zeros(1))
    assert wrong.found[0, 0] == 0.75 + 0.75 - 2 * 0.5


@given(st.integers(2, 12), st.integers(0, 1000))
def test_the_estimate_of_a_draw_is_unbiased(n, seed) -> None:
    """Over all first draws, each with its chance, the mean is the total: whatever is foretold, whatever the chances."""
    rng = make_seeded_generator(seed, "unbiased")
    values, weight = rng.random((n, 1)), rng.random(n) + 0.1
    left = PopulationBeforeBlock(np.zeros((n, 1)), np.ones((n, 1)), rng.random((n, 1)), weight)
    found = [
        make_sequential_draws_of_block(
            left,
            np.array([first, *(i for i in range(n) if i != first)]),
            values[[first, *(i for i in range(n) if i != first)]],
            np.zeros(1),
        ).found[0, 0]
        for first in range(n)
    ]
    assert weight @ np.array(found) / weight.sum() == pytest.approx(values.sum())


@given(st.integers(3, 20), st.integers(0, 1000))
def test_bounds_hold_and_the_end_is_certain(n, seed) -> None:
    """No draw is beyond what it could have been; with all items drawn the interval is the total."""
    rng = make_seeded_generator(seed, "bounds")
    values = rng.random((n, 1)).round(2)
    left = PopulationBeforeBlock(np.zeros((n, 1)), np.ones((n, 1)), rng.random((n, 1)), rng.random(n) + 0.1)
    order = draw_weighted_item_order(left.weight, rng)
    draws = make_sequential_draws_of_block(left, order, values[order], np.zeros(1))
    assert (draws.found >= draws.low - 1e-9).all()
    assert (draws.found <= draws.high + 1e-9).all()
    found = compute_anytime_total_interval(draws, 0, 0.0, float(n), 0.05)
    assert found.low <= values.sum() + 1e-6
    assert found.high >= values.sum() - 1e-6
    assert found.high - found.low < 1e-3


def test_blocks_follow_each_other() -> None:
    """Two blocks of one draw each are the draws of one block of two, where chances stay as they are."""
    values = np.array([[1.0], [0.0], [1.0]])
    whole = make_sequential_draws_of_block(_left(values), np.array([0, 1, 2]), values, np.zeros(1))
    first = make_sequential_draws_of_block(_left(values), np.array([0]), values[:1], np.zeros(1))
    rest = make_sequential_draws_of_block(_left(values[1:]), np.array([0, 1]), values[1:], values[0])
    both = join_sequential_draws([first, rest])
    for name in ("found", "known", "low", "high", "rest_low", "rest_high"):
        assert np.allclose(getattr(both, name), getattr(whole, name)), name


def test_chances_are_like_weights() -> None:
    """The item of thrice the weight comes first three times in four."""
    first = [
        int(draw_weighted_item_order(np.array([3.0, 1.0]), make_seeded_generator(i, "order"))[0]) for i in range(2000)
    ]
    assert np.mean(first) == pytest.approx(0.25, abs=0.04)


def _null(rng, n=60):
    """A population whose total is exactly 0."""
    size = rng.gamma(0.5, 1, n)
    found = (rng.random(n) < 0.3).astype(float)
    return np.r_[size, -size] / size.sum() / 2, np.r_[found, found]


def _studied(rng, size, found, foretold):
    value = (size * found)[:, None]
    weight = np.abs(size) * np.maximum(np.sqrt(foretold * (1 - foretold)), 0.2) + 1e-12
    left = PopulationBeforeBlock(
        np.minimum(size, 0)[:, None], np.maximum(size, 0)[:, None], (size * foretold)[:, None], weight
    )
    order = draw_weighted_item_order(weight, rng)
    return make_sequential_draws_of_block(left, order, value[order], np.zeros(1))


@pytest.mark.nightly
@pytest.mark.parametrize("judge", ["none", "good", "hostile"])
def test_false_decisions_at_any_look(judge) -> None:
    """Of 2,000 studies of a total of 0, looked at after every draw, at most 5% decide, and chance on top."""
    wrong = 0
    for number in range(2000):
        rng = make_seeded_generator(number, "null", judge)
        size, found = _null(rng)
        foretold = {"none": np.full(len(found), 0.3), "good": 0.1 + 0.8 * found, "hostile": 0.9 - 0.8 * found}[judge]
        told = decide_totals_against_bars(_studied(rng, size, found, foretold), np.zeros(1), 0.05)
        wrong += told.above[0] > 0 or told.below[0] > 0
    assert wrong / 2000 <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5


def test_a_judge_who_is_right_saves_draws() -> None:
    """And a total far from 0 is decided long before the end."""
    rng = make_seeded_generator(3, "saves")
    size = np.where(rng.random(400) < 0.8, 1.0, -1.0) / 400
    found = (rng.random(400) < 0.4).astype(float)
    plain = decide_totals_against_bars(_studied(rng, size, found, np.full(400, 0.4)), np.zeros(1), 0.05)
    judged = decide_totals_against_bars(_studied(rng, size, found, 0.1 + 0.8 * found), np.zeros(1), 0.05)
    assert 0 < judged.above[0] < plain.above[0] < 200


def test_nothing_drawn_is_nothing_decided() -> None:
    """Without draws there is the whole range."""
    nothing = make_sequential_draws_of_block(_left([1, 1]), np.array([], dtype=int), np.zeros((0, 1)), np.zeros(1))
    assert compute_anytime_total_interval(nothing, 0, 0.0, 2.0, 0.05).high == 2.0
    assert decide_totals_against_bars(nothing, np.zeros(1), 0.05).above.tolist() == [-1]
