"""Frontiers and rules by their definitions, on random stacks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.protocols.rag.tradeoffs import (
    StackCostLatencyQuality,
    StackLimits,
    choose_stack,
    compute_hnsw_graph_bytes,
    compute_marginal_stack_gain,
    compute_performance_per_second,
    estimate_product_quantized_bytes,
    find_undominated_stacks,
)

few = st.integers(0, 4).map(float)
stacks = st.lists(st.tuples(few, few, few), min_size=1, max_size=12).map(
    lambda rows: [
        StackCostLatencyQuality(f"s{i:02}", c, t * 100, {"Q": q / 4}, prompt_tokens=c)
        for i, (c, t, q) in enumerate(rows)
    ]
)


def dominates(a: StackCostLatencyQuality, b: StackCostLatencyQuality) -> bool:
    no_worse = a.cost <= b.cost and a.latency <= b.latency and a.quality["Q"] >= b.quality["Q"]
    return no_worse and (a.cost, a.latency, a.quality["Q"]) != (b.cost, b.latency, b.quality["Q"])


@given(stacks)
def test_the_frontier_is_what_nothing_dominates(given_stacks: list[StackCostLatencyQuality]) -> None:
    expected = [one for one in given_stacks if not any(dominates(other, one) for other in given_stacks)]
    assert find_undominated_stacks(given_stacks, ["Q"]) == expected
    assert expected
    strict = find_undominated_stacks(given_stacks, ["Q"], dominance="strict")
    assert [one for one in strict if one in expected] == expected


@given(stacks)
def test_two_axes_keep_no_more_than_three(given_stacks: list[StackCostLatencyQuality]) -> None:
    flat = find_undominated_stacks(given_stacks, ["Q"], axes=["latency"])
    whole = find_undominated_stacks(given_stacks, ["Q"])
    assert {(one.latency, one.quality["Q"]) for one in flat} <= {(one.latency, one.quality["Q"]) for one in whole}


@given(stacks, few, few, st.one_of(st.none(), few))
def test_a_choice_keeps_its_limits(
    given_stacks: list[StackCostLatencyQuality], budget: float, hundreds: float, target: float | None
) -> None:
    limits = StackLimits(hundreds * 100, budget, None if target is None else target / 4)
    choice = choose_stack(given_stacks, "Q", limits)
    feasible = [
        one
        for one in given_stacks
        if one.cost <= budget and one.latency <= hundreds * 100 and one.quality["Q"] >= (limits.target or 0)
    ]
    assert list(choice.feasible) == feasible
    assert (choice.stack is None) == (not feasible)
    if choice.stack is None:
        assert choice.nearest in given_stacks
    elif target is None:
        assert choice.stack.quality["Q"] == max(one.quality["Q"] for one in feasible)
    else:
        assert choice.stack.latency <= min(one.latency for one in feasible) + 75


def test_the_nearest_stack_misses_least() -> None:
    near, far = (
        StackCostLatencyQuality("near", 1.1, 100, {"Q": 0.5}),
        StackCostLatencyQuality("far", 3, 50, {"Q": 0.9}),
    )
    assert choose_stack([far, near], "Q", StackLimits(budget=1)).nearest is near


def test_ties_go_to_the_smaller_prompt_then_cost_then_time_then_id() -> None:
    a = StackCostLatencyQuality("a", 1, 100, {"Q": 0.5}, prompt_tokens=20)
    b = StackCostLatencyQuality("b", 9, 900, {"Q": 0.5}, prompt_tokens=10)
    assert choose_stack([a, b], "Q").stack is b
    c, d = (StackCostLatencyQuality("c", 1, 100, {"Q": 0.5}, 20), StackCostLatencyQuality("d", 1, 90, {"Q": 0.5}, 20))
    assert choose_stack([a, c, d], "Q").stack is d
    assert choose_stack([c, a], "Q").stack is a


def test_with_a_target_the_faster_of_equals_wins_before_the_better() -> None:
    """Both reach it, within the jitter and at one price: the source's order is prompt, cost, latency."""
    fast, good = (
        StackCostLatencyQuality("fast", 1, 100, {"Q": 0.81}),
        StackCostLatencyQuality("good", 1, 110, {"Q": 0.9}),
    )
    assert choose_stack([good, fast], "Q", StackLimits(target=0.8)).stack is fast


def test_steps_within_jitter_and_free_ones() -> None:
    base = StackCostLatencyQuality("base", 1, 300, {"Q": 0.5})
    assert (
        compute_marginal_stack_gain(base, StackCostLatencyQuality("x", 2, 370, {"Q": 0.9}), "Q").kind == "within jitter"
    )
    assert compute_marginal_stack_gain(base, StackCostLatencyQuality("x", 2, 100, {"Q": 0.5}), "Q").kind == "free"
    slower = compute_marginal_stack_gain(base, StackCostLatencyQuality("x", 2, 370, {"Q": 0.9}), "Q", jitter_ms=0)
    assert slower.per_ms == pytest.approx(0.4 / 70)
    assert compute_marginal_stack_gain(base, StackCostLatencyQuality("x", 2, 400, {"Q": 0.4}), "Q").kind == "loss"


def test_product_quantisation_takes_codes_codebooks_and_a_rotation() -> None:
    assert estimate_product_quantized_bytes(10, 8, m=4) == 10 * 4 + 4 * 256 * 2 * 4
    assert (
        estimate_product_quantized_bytes(10, 8, m=4, rotated=True) - estimate_product_quantized_bytes(10, 8, m=4)
        == 8 * 8 * 4
    )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: choose_stack([], "Q"),
        lambda: choose_stack([StackCostLatencyQuality("a", 1, 1)], "Q"),
        lambda: find_undominated_stacks([StackCostLatencyQuality("a", 1, 1, {"Q": 1})], ["Q"], dominance="loose"),  # type: ignore[arg-type]
        lambda: find_undominated_stacks([StackCostLatencyQuality("a", 1, 1, {"Q": 1})], [], axes=[]),
        lambda: estimate_product_quantized_bytes(10, 8, m=3),
        lambda: compute_hnsw_graph_bytes(10, m=1),
        lambda: compute_performance_per_second(0.8, 0),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(wrong: object) -> None:
    with pytest.raises(UsageError):
        wrong()  # type: ignore[operator]


def test_what_costs_and_takes_as_much_is_no_choice_by_cost() -> None:
    """A two-hundredth of a cent less is no reason for a third of the quality, nor a place on the frontier; what keeps a
    target and is equal in price goes by its time, as the source has it."""
    flat = StackCostLatencyQuality("flat", 1.2502, 40.0, {"Q": 0.81}, 500)
    pq = StackCostLatencyQuality("pq", 1.2500, 39.0, {"Q": 0.648}, 500)
    half = StackCostLatencyQuality("half", 0.62, 39.5, {"Q": 0.60}, 500)
    slower = replace(pq, latency=41.0)
    assert choose_stack([flat, slower], "Q", StackLimits(target=0.6), jitter_ms=5).stack is flat
    assert choose_stack([flat, pq], "Q", StackLimits(target=0.6), jitter_ms=5).stack is pq
    assert choose_stack([flat, pq], "Q", StackLimits(target=0.6), jitter_ms=5, cost_share=0.0).stack is pq
    assert choose_stack([flat, pq, half], "Q", StackLimits(target=0.6), jitter_ms=5).stack is half
    assert find_undominated_stacks([flat, pq], ["Q"]) == [flat, pq]
    assert find_undominated_stacks([flat, pq], ["Q"], cost_share=0.01, jitter_ms=5) == [flat]
    assert find_undominated_stacks([flat, half], ["Q"], cost_share=0.01, jitter_ms=5) == [flat, half]
