"""Margins and changes: the specification's examples, and what must hold of any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embassay.errors import UsageError
from embassay.protocols.rag.probes.names import (
    average_queries_then_runs,
    compute_right_passage_margins,
    measure_margin_change,
)

cosines = arrays(np.float64, (6, 5), elements=st.floats(-1, 1))


def test_the_worked_example() -> None:
    found = compute_right_passage_margins(np.array([[0.71, 0.55, 0.58, 0.42, 0.25]]))
    assert [float(part[0]) for part in (found.name, found.topic, found.both)] == pytest.approx([0.13, 0.29, 0.46])


def test_run_means() -> None:
    result = average_queries_then_runs(np.array([[0.161], [0.158], [0.163], [0.157], [0.161]]))
    assert (result.mean, result.sd) == pytest.approx((0.160, 0.002449), abs=1e-6)
    assert np.isnan(average_queries_then_runs(np.array([[0.1, 0.2]])).sd)


def test_the_example_of_changes() -> None:
    result = measure_margin_change(np.array([0.20, 0.10, 0.015, 0.30]), np.array([0.05, 0.04, 0.0, 0.06]))
    assert result.percent == pytest.approx(-71.666667, abs=1e-6)
    assert result.ratio_percent == pytest.approx(-75.0)
    assert result.share_of_rows_without_percent == 0.25
    assert result.absolute == pytest.approx(np.mean([-0.15, -0.06, -0.015, -0.24]))


@given(cosines)
def test_impostors_in_either_order_leave_the_margin(similarities: np.ndarray) -> None:
    swapped = similarities[:, [0, 2, 1, 3, 4]]
    assert np.array_equal(compute_right_passage_margins(similarities).name, compute_right_passage_margins(swapped).name)


def test_negative_and_tiny_margins_have_no_percentage() -> None:
    result = measure_margin_change(np.array([-0.2, 0.0199]), np.array([0.1, 0.1]))
    assert np.isnan(result.percent)
    assert np.isnan(result.ratio_percent)
    assert (result.kept, result.rows) == (0, 2)


@pytest.mark.parametrize(
    "wrong",
    [lambda: compute_right_passage_margins(np.zeros((2, 4))), lambda: measure_margin_change(np.zeros(2), np.zeros(3))],
)
def test_shapes_that_do_not_fit(wrong: object) -> None:
    with pytest.raises(UsageError):
        wrong()  # type: ignore[operator]
