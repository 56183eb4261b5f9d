"""The rule for all resamples at once is the rule."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.rag.sweep.findings.recommendation import (
    choose_stack_in_each_resample,
    list_runner_up_shares,
    list_win_shares_by_axis_value,
)
from embassay.protocols.rag.sweep.stacks import StackConfiguration
from embassay.protocols.rag.tradeoffs import StackCostLatencyQuality, StackLimits, choose_stack

few = st.integers(0, 4)
limit = st.one_of(st.none(), few)


@st.composite
def resamples(draw: st.DrawFn) -> tuple[list[StackCostLatencyQuality], np.ndarray, np.ndarray]:
    """Stacks with costs and prompts, and qualities and times of three resamples."""
    n = draw(st.integers(1, 6))
    stacks = [
        StackCostLatencyQuality(f"s{draw(st.integers(0, 99)):02}-{i}", draw(few), 0.0, {}, draw(few)) for i in range(n)
    ]
    rows = st.lists(st.lists(few, min_size=n, max_size=n), min_size=3, max_size=3)
    return stacks, np.array(draw(rows)) / 4, np.array(draw(rows)) * 50.0


@given(resamples(), limit, limit, limit)
def test_each_row_is_what_choose_takes(
    drawn: tuple[list[StackCostLatencyQuality], np.ndarray, np.ndarray],
    sla: int | None,
    budget: int | None,
    target: int | None,
) -> None:
    stacks, quality, latency = drawn
    limits = StackLimits(
        None if sla is None else sla * 50.0, None if budget is None else float(budget),
        None if target is None else target / 4,
    )  # fmt: skip
    winners = choose_stack_in_each_resample(stacks, quality, latency, limits, 75.0)
    for b, place in enumerate(winners.places.tolist()):
        row = [
            StackCostLatencyQuality(
                one.id, one.cost, float(latency[b, i]), {"Q": float(quality[b, i])}, one.prompt_tokens
            )
            for i, one in enumerate(stacks)
        ]
        choice = choose_stack(row, "Q", limits)
        assert (None if place < 0 else row[place]) == choice.stack
        assert [row[i] for i in np.flatnonzero(winners.best[b])] == list(choice.tied)


def test_a_stack_without_a_value_never_wins() -> None:
    stacks = [StackCostLatencyQuality("a", 0, 0), StackCostLatencyQuality("b", 0, 0)]
    winners = choose_stack_in_each_resample(
        stacks, np.array([[np.nan, 0.1], [np.nan, np.nan]]), np.zeros((2, 2)), StackLimits(), 75.0
    )
    assert winners.places.tolist() == [1, -1]
    assert (winners.share(1), winners.share(-1)) == (0.5, 0.5)


def test_shares_of_runners_up_and_of_values_of_an_axis() -> None:
    stacks = [StackCostLatencyQuality(id, 0, 0) for id in "abc"]
    quality = np.eye(3)[[0, 0, 0, 1, 2, 1]]
    winners = choose_stack_in_each_resample(stacks, quality, np.zeros((6, 3)), StackLimits(), 75.0)
    assert [(one.name, one.share) for one in list_runner_up_shares(winners, "abc", "a")] == [("b", 2 / 6), ("c", 1 / 6)]
    modes = [StackConfiguration("e", mode=mode) for mode in ("dense", "hybrid", "hybrid")]
    assert {one.name: one.share for one in list_win_shares_by_axis_value(winners, modes)} == {
        "dense": 0.5,
        "hybrid": 0.5,
    }
