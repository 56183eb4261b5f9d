"""Means, intervals and times over queries, datasets and resamples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embassay.protocols.kernel.estimates import UNVARIED
from embassay.protocols.rag.sweep.findings import arrays as timing
from embassay.protocols.rag.sweep.findings import compute_sweep_findings
from embassay.protocols.rag.sweep.findings.arrays import (
    StackArrays,
    average_columns_ignoring_nan,
    make_estimate_from_replicates,
)
from embassay.protocols.rag.sweep.stacks import StackConfiguration, SweepMeasurements, SweepRules

from ..sweeps import constant, drawn

times = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.floats(0.01, 1e4))
AXES = {"encoder": ("wordllama", "minilm"), "k": (50, 100)}


def ground(sweep: SweepMeasurements, *datasets: str, resamples: int = 200) -> StackArrays:
    return StackArrays(sweep, datasets or tuple(sweep.queries), resamples)


@given(times)
def test_a_resample_that_draws_every_query_once_is_the_sample(samples: np.ndarray) -> None:
    every = np.arange(samples.shape[1])[None, :]
    for percentile in (50.0, 95.0):
        found = timing.resample_time_percentile(samples, percentile, every)
        assert found[0] == pytest.approx(timing.compute_time_percentile(samples, percentile))


@given(times)
def test_a_slow_session_moves_p95_and_not_p50(samples: np.ndarray) -> None:
    """Of three equal sessions one is slowed down a thousand times."""
    equal = np.repeat(1 + samples[:1] / 1e4, 3, axis=0)
    slow = equal * np.array([[1.0], [1.0], [1000.0]])
    assert timing.compute_time_percentile(slow, 50.0) == timing.compute_time_percentile(equal, 50.0)
    assert timing.compute_time_percentile(slow, 95.0) > timing.compute_time_percentile(equal, 95.0)


def test_means_leave_out_what_is_undefined() -> None:
    found = average_columns_ignoring_nan(np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]]))
    assert found[:2].tolist() == [2.0, 5.0]
    assert np.isnan(found[2])


def test_datasets_weigh_the_same_whatever_their_size() -> None:
    sweep = drawn({"sea": 10, "river": 90}, axes=AXES)
    whole, parts = ground(sweep), [ground(sweep, name) for name in ("sea", "river")]
    assert whole.quality("RA-nWG@10") == pytest.approx(np.mean([one.quality("RA-nWG@10") for one in parts], axis=0))
    replicates = [one.resample_measure_of_stacks("RA-nWG@10") for one in parts]
    assert whole.resample_measure_of_stacks("RA-nWG@10") == pytest.approx(np.mean(replicates, axis=0))


def test_differences_are_paired() -> None:
    """A stack that is always 0.1 better is so in every resample, however much the queries differ."""
    rows = [
        (StackConfiguration("a"), 0.0, 1.0, {"RA-nWG@10": 0.0}),
        (StackConfiguration("b"), 0.0, 1.0, {"RA-nWG@10": 0.0}),
    ]
    sweep = constant(rows, SweepRules(), queries=30)
    values = np.random.default_rng(0).uniform(0, 0.9, 30)
    made = tuple(replace(one, quality={"RA-nWG@10": values + 0.1 * place}) for place, one in enumerate(sweep.measured))
    found = ground(replace(sweep, measured=made))
    columns = found.columns("RA-nWG@10")["paper"]
    [difference] = found.estimate_column_means({"paper": columns[:, [1]] - columns[:, [0]]})
    assert difference.value == pytest.approx(0.1)
    assert (difference.low, difference.high, difference.reason) == (None, None, UNVARIED)
    assert found.resample_measure_of_stacks("RA-nWG@10").std(axis=0) == pytest.approx(np.full(2, 0.047), abs=0.02)


def test_what_differs_from_nothing_by_rounding_is_nothing() -> None:
    found = make_estimate_from_replicates(1e-17, np.array([1e-17, -1e-17, 0.0]), 3)
    assert (found.value, found.low, found.high) == (0.0, None, None)


def test_a_tie_goes_to_the_smaller_k_and_not_to_what_candidates_weigh() -> None:
    """The passages of one chunking have one size: else the longer list, with shorter passages, could win a tie."""
    rows = [(StackConfiguration("a", k=k), 0.0, 5.0, {"RA-nWG@10": 0.5}) for k in (100, 50)]
    sweep = constant(rows, SweepRules())
    more, less = sweep.measured
    lighter = replace(sweep, measured=(replace(more, passage_tokens=1.0), less))
    assert ground(lighter).candidate_tokens_for_ties.tolist() == [100 * 215.5, 50 * 215.5]
    assert compute_sweep_findings(lighter, resamples=10).parts[0].recommendation.stack == "a/flat/k50/dense"


def test_a_tie_goes_to_the_shorter_chunks() -> None:
    sweep = constant([(StackConfiguration("a"), 0.0, 5.0, {"RA-nWG@10": 0.5})] * 2, SweepRules())
    whole, other = sweep.measured
    cut = replace(other, configuration=replace(other.configuration, chunk="sentences"), passage_tokens=10.0)
    found = compute_sweep_findings(replace(sweep, measured=(whole, cut)), resamples=10).parts[0]
    assert found.recommendation.stack == "a/flat/k50/dense/chunk=sentences"
    assert found.stack(found.recommendation.stack).prompt_tokens == 100.0


def test_a_measure_that_one_stack_lacks_is_not_compared() -> None:
    sweep = drawn({"sea": 8}, axes=AXES)
    first, *others = sweep.measured
    fewer = {name: values for name, values in first.quality.items() if name != "RA-nWG@30"}
    found = compute_sweep_findings(replace(sweep, measured=(replace(first, quality=fewer), *others)), resamples=10)
    assert "RA-nWG@30" not in found.measures
    assert found.parts[0].stacks[0].average is None
