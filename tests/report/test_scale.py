"""Scales chosen from data."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.document.marks import LinearScale, draw_axis_labels, fit_axis_scale

values = st.lists(st.floats(-5, 5), min_size=1, max_size=30)


@given(values)
def test_a_scale_holds_its_data_in_few_round_steps(data: list[float]) -> None:
    """All values lie inside; the step is 1, 2 or 5 times a power of ten; there are one to eight steps."""
    scale = fit_axis_scale(data, within=None)
    assert scale.low <= min(data) + 1e-9
    assert scale.high >= max(data) - 1e-9
    assert float(f"{scale.step:.0e}".partition("e")[0]) in (1, 2, 5)
    assert 2 <= len(scale.tick_values) <= 9


@given(st.lists(st.floats(0, 1), min_size=1))
def test_a_scale_of_scores_stays_within_0_and_1(data: list[float]) -> None:
    """Padding does not invent negative scores or scores over 1."""
    scale = fit_axis_scale(data)
    assert scale.low >= 0
    assert scale.high <= 1 + 1e-9


@given(values, st.floats(-6, 6))
def test_places_are_percent(data: list[float], value: float) -> None:
    """Every value has a place from 0 to 100, in the order of the values."""
    scale = fit_axis_scale(data)
    assert 0 <= scale.at(value) <= 100
    assert scale.at(value) <= scale.at(value + 1)


def test_no_data_gives_the_whole_range() -> None:
    """An empty column can still be drawn."""
    assert fit_axis_scale([]) == LinearScale(0.0, 1.0, 0.5)


@pytest.mark.parametrize(
    ("scale", "labels"),
    [
        (LinearScale(0.0, 0.4, 0.2), ["0", "0.2", "0.4"]),
        (LinearScale(0.6, 1.0, 0.2), ["0.6", "0.8", "1"]),
        (LinearScale(-0.1, 0.05, 0.05), ["−0.10", "−0.05", "0", "0.05"]),
        (LinearScale(0, 20, 10), ["0", "10", "20"]),
    ],
)
def test_labels_have_the_decimals_of_the_step(scale: LinearScale, labels: list[str]) -> None:
    """0 prints as 0, a true minus is used, whole numbers have no decimals."""
    assert [scale.label(tick) for tick in scale.tick_values] == labels


def test_values_that_differ_in_their_last_bit_have_a_scale_of_some_width() -> None:
    """Equal scores of several runs and their mean differ by rounding: that is one place, not a division by zero."""
    low = -0.22446828412111492
    found = fit_axis_scale([low, math.nextafter(low, 1)], within=(-1.0, 1.0))
    assert found.high - found.low > 0.01
    assert 0 < found.at(low) < 100


@given(values)
def test_a_scale_leaves_little_of_its_width_empty(data: list[float]) -> None:
    """Ends are one finer step from the padded values at most where round numbers further out would waste a quarter."""
    scale, reach = fit_axis_scale(data, within=None), max(data) - min(data)
    assert len(scale.tick_values) <= 9
    if reach > 1e-3:
        assert reach * 1.16 >= 0.5 * (scale.high - scale.low)


def test_a_little_below_0_does_not_take_a_third_of_the_width() -> None:
    """A band that reaches just below 0, and changes of which the widest is twice the others."""
    assert fit_axis_scale([-0.02, 1.0]).low == pytest.approx(-0.2)
    changes = fit_axis_scale([-0.71, 0.78, 0.0], within=None, factor=100.0)
    assert (changes.low, changes.high) == pytest.approx((-1.0, 1.0))


def test_an_axis_names_zero_where_it_is_inside() -> None:
    """Of differences 0 is what is read; without it the tick in the middle."""
    shown = re.findall(r">([^<]+)</text>", draw_axis_labels(LinearScale(-0.15, 0.05, 0.05)))
    assert shown == ["−0.15", "0", "0.05"]
    assert re.findall(r">([^<]+)</text>", draw_axis_labels(LinearScale(0.2, 0.6, 0.2))) == ["0.2", "0.4", "0.6"]
    assert "<text" not in draw_axis_labels(LinearScale(-1.0, 0.2, 0.2))
