"""Routing by signals: who is escalated, and what that costs and brings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.rag.sweep.findings import compute_sweep_findings
from embassay.protocols.rag.sweep.findings.advice import (
    find_signal_threshold,
    mark_queries_where_signal_fires,
    split_queries_into_halves,
)
from embassay.protocols.rag.sweep.findings.record import RoutingResult, SweepDatasetFindings
from embassay.protocols.rag.sweep.signals import compute_score_entropy
from embassay.protocols.rag.sweep.stacks import MeasuredStack, SweepMeasurements, SweepRules

from ..sweeps import drawn

SMALL = {"encoder": ("wordllama",), "k": (50, 100), "reranker": ("cross",)}


def part_of(
    change: Callable[[MeasuredStack], MeasuredStack] = lambda one: one, axes: Any = SMALL
) -> SweepDatasetFindings:
    sweep: SweepMeasurements = drawn({"sea": 41, "cran": 60}, SweepRules(), axes=axes)
    made = replace(sweep, measured=tuple(change(one) for one in sweep.measured))
    return compute_sweep_findings(made, resamples=100).parts[0]


def routes(change: Callable[[MeasuredStack], MeasuredStack] = lambda one: one) -> dict[str, RoutingResult]:
    return {one.signal: one for one in part_of(change).routes}


def test_the_entropy_of_the_specification() -> None:
    assert compute_score_entropy(np.array([2.0, 1.0, 0.0, 0.0])) == pytest.approx(0.756481, abs=1e-6)
    assert compute_score_entropy(np.array([2.0, 1.0, 0.0, 0.0])) * np.log(4) == pytest.approx(1.048705, abs=1e-6)
    assert compute_score_entropy(np.zeros(50)) == pytest.approx(1.0)
    assert compute_score_entropy(np.array([900.0, 0.0])) == 0.0


@given(st.integers(2, 200), st.integers(0, 9))
def test_halves_have_every_query_once(n: int, seed: int) -> None:
    parts = split_queries_into_halves(n, seed, "sea")
    assert sorted([*parts.calibration, *parts.evaluation]) == list(range(n))
    assert 0 <= len(parts.evaluation) - len(parts.calibration) <= 1


def test_a_threshold_is_a_quarter_of_the_calibration_queries() -> None:
    values = np.arange(101.0)
    low, high = (find_signal_threshold("sea", "margin", values), find_signal_threshold("sea", "entropy", values))
    assert low is not None
    assert high is not None
    assert (low.value, low.below, high.value, high.below) == (25.0, True, 75.0, False)
    assert (
        mark_queries_where_signal_fires(low, values).sum(),
        mark_queries_where_signal_fires(high, values).sum(),
    ) == (25, 25)
    assert not mark_queries_where_signal_fires(low, np.array([np.nan])).any()
    assert find_signal_threshold("sea", "margin", np.full(3, np.nan)) is None


def test_each_signal_alone_and_together() -> None:
    found = routes()
    assert list(found) == ["margin", "entropy", "noise", "any"]
    rates = {name: one.escalated.value or 0.0 for name, one in found.items()}
    assert max(rates["margin"], rates["entropy"], rates["noise"]) <= rates["any"] <= 1
    assert found["any"].calibrated + found["any"].evaluated == 101


def test_an_escalated_query_costs_what_100_do_and_never_150() -> None:
    for one in routes().values():
        assert one.usd_more == pytest.approx(2 * one.usd_less)
        assert one.usd_less <= one.usd <= one.usd_more
        assert one.milliseconds_less <= one.milliseconds <= one.milliseconds_more


def test_who_is_always_escalated_gets_what_the_large_k_gives() -> None:
    """The calibration half has small margins, the other half none that is as large."""

    def change(one: MeasuredStack) -> MeasuredStack:
        n = len(one.signals["margin"])
        margin = np.zeros(n)
        margin[split_queries_into_halves(n, 7, one.dataset).calibration] = 1.0
        return replace(one, signals={"margin": margin})

    [route] = routes(change).values()
    assert route.escalated.value == 1.0
    assert (route.usd, route.milliseconds) == pytest.approx((route.usd_more, route.milliseconds_more))
    assert all(one.difference.value == 0.0 for one in route.against if one.k == 100)


def test_who_is_never_escalated_gets_what_the_small_k_gives() -> None:
    [route] = routes(lambda one: replace(one, signals={"margin": np.ones(len(one.signals["margin"]))})).values()
    assert (route.escalated.value, route.usd) == (0.0, route.usd_less)
    assert all(one.difference.value == 0.0 for one in route.against if one.k == 50)


def test_a_stack_without_signals_is_not_routed() -> None:
    assert routes(lambda one: replace(one, signals={})) == {}


def test_a_signal_without_a_row_says_why() -> None:
    """A name margin needs a file of names, and queries that name somebody of it; with one K nothing is said."""
    assert [reason.partition(":")[0] for reason in part_of().unrouted] == ["name"]
    assert "`names` file" in part_of().unrouted[0]

    def nobody(one: MeasuredStack) -> MeasuredStack:
        return replace(one, signals={**one.signals, "name": np.full(len(one.signals["margin"]), np.nan)})

    [reason] = part_of(nobody).unrouted
    assert "no query names an author" in reason
    assert part_of(axes={**SMALL, "k": (50,)}).unrouted == ()
