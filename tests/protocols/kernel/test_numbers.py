"""How numbers are printed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.kernel import tables as numbers

finite = st.floats(-10, 10)


@given(finite)
def test_score_has_three_decimals_and_a_true_minus(value: float) -> None:
    """Three decimals, U+2212 for minus, no sign on zero, and it reads back within half a step."""
    text = numbers.format_score(value)
    assert re.fullmatch(r"−?\d+\.\d{3}", text)
    assert text != "−0.000"
    assert abs(float(text.replace("−", "-")) - value) <= 0.0005 + 1e-12


@given(finite)
def test_change_is_signed_unless_it_prints_as_zero(value: float) -> None:
    """A difference always says which way it goes."""
    text = numbers.format_change(value)
    assert text[0] in "+−" or text == "0.000"


@given(finite, finite)
def test_interval_never_puts_a_dash_beside_a_minus(low: float, high: float) -> None:
    """With a negative end the two are joined by `to`."""
    text = numbers.format_interval(low, high)
    assert not ("–" in text and "−" in text)
    assert ("−" in text) == (" to " in text)


def test_share_gives_counts_first_under_a_hundred() -> None:
    """Small samples are counts, large ones percent; zero of some is zero."""
    assert numbers.format_share_with_count(0.0, 48) == "0 of 48 (0%)"
    assert numbers.format_share_with_count(1.0, 48) == "48 of 48 (100%)"
    assert numbers.format_share_with_count(0.5, 100) == "50.0% (50 of 100)"


@pytest.mark.parametrize(("value", "text"), [(0.0, "0%"), (1.0, "100%"), (0.004, "<1%"), (0.996, ">99%"), (0.5, "50%")])
def test_percent_keeps_none_and_all_apart_from_nearly(value: float, text: str) -> None:
    """0% and 100% are said only of none and all."""
    assert numbers.format_percent(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0004, "0 ms"), (0.9996, "1.0 s"), (59.96, "1 min"), (3599, "1 h"), (3600 * 3 + 60 * 12, "3 h 12 min")],
)
def test_durations_change_unit_where_they_round(seconds: float, text: str) -> None:
    """No `60.0 s` and no `60 min`."""
    assert numbers.format_duration(seconds) == text


def test_dates_that_are_none_stay_as_they_are() -> None:
    """A damaged time is shown, not hidden."""
    assert numbers.format_date("2026-11-20T14:02:10+00:00") == "20 Nov 2026"
    assert numbers.format_time("2026-11-20T14:02:10+00:00") == "20 Nov 2026, 14:02 UTC"
    assert numbers.format_date("yesterday") == numbers.format_time("yesterday") == "yesterday"


def test_counts_have_separators_and_their_noun_its_number() -> None:
    """12,480 texts, 1 query, 2 queries."""
    assert numbers.format_count(12480) == "12,480"
    assert (numbers.format_noun_count(1, "query"), numbers.format_noun_count(2, "query")) == ("1 query", "2 queries")
    assert (numbers.format_small_count_in_words(3), numbers.format_small_count_in_words(40)) == ("three", "40")


def test_plain_is_ascii_for_everything_the_report_prints() -> None:
    """A terminal without UTF-8 sees dots and hyphens."""
    assert numbers.convert_text_to_ascii("0.510–0.536") == "0.510..0.536"
    assert numbers.convert_text_to_ascii("−0.004") == "-0.004"
    assert numbers.convert_text_to_ascii(numbers.NONE) == "-"
