"""Means by people and judge: what the judge is worth, where it is off, and what more labels would buy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from embassay.protocols.kernel.quantities import (
    estimate_judge_assisted_mean,
    forecast_gain_of_more_labels,
    judge_assisted_means_table,
    judge_biases_table,
    measure_judge_bias_by_score,
)
from embassay.stats.few_labels import compute_judge_corrected_mean


def of(people, judge, every, **more):
    return estimate_judge_assisted_mean(
        "mean", np.asarray(people, float), np.asarray(judge, float), np.asarray(every, float), bounds=(1, 5), **more
    )


@pytest.fixture
def grades():
    rng = np.random.default_rng(1)
    people = rng.integers(1, 6, 400).astype(float)
    judge = np.clip(people + rng.integers(0, 2, 400), 1, 5)
    return people, judge


def test_it_is_the_corrected_mean(grades) -> None:
    """A good judge makes the interval narrower, and is worth labels; one that says one thing is of not help."""
    people, judge = grades
    found = of(people[:60], judge[:60], judge)
    whole = compute_judge_corrected_mean(people[:60], judge[:60], judge, bounds=(1, 5))
    assert (found.value, found.low, found.high) == (whole.value.value, whole.value.low, whole.value.high)
    assert found.is_narrowed_by_judge
    assert 60 < found.worth <= 400
    assert found.low < people.mean() < found.high
    useless = of(people[:60], np.full(60, 5), np.full(400, 5))
    assert not useless.is_narrowed_by_judge
    assert "not help" in useless.use
    assert (useless.value, useless.judge) == (useless.alone, 5.0)


def test_few_labels_have_no_interval() -> None:
    few = of([1, 2], [1, 2], [1, 2, 3, 4])
    assert (few.low, few.high, few.alone_low) == (None, None, None)
    assert "5 are needed" in few.use
    assert forecast_gain_of_more_labels(few) == ()


def test_where_a_judge_is_off(grades) -> None:
    """By what it says, and of all; too few have no interval."""
    people, judge = grades
    found = measure_judge_bias_by_score(people, judge)
    assert [one.said for one in found] == [*sorted({str(int(one)) for one in judge}), "all"]
    assert found[-1].mean == pytest.approx((judge - people).mean())
    assert sum(one.n for one in found[:-1]) == len(people)
    assert measure_judge_bias_by_score(people[:2], judge[:2])[0].low is None
    assert measure_judge_bias_by_score(people[:0], judge[:0]) == ()
    strata = ["first" if place % 3 else "later" for place in range(len(people))]
    apart = {one.said: one for one in measure_judge_bias_by_score(people, judge, strata)}
    assert apart["first"].n + apart["later"].n == apart["all"].n == len(people)
    late = [place for place, name in enumerate(strata) if name == "later"]
    assert apart["later"].mean == pytest.approx((judge - people)[late].mean())
    assert measure_judge_bias_by_score(people, judge, ["one"] * len(people)) == found


def test_what_more_labels_buy(grades) -> None:
    """Intervals shrink to nothing where all is labelled; a bar is left with a chance that grows."""
    people, judge = grades
    found = of(people[:60], judge[:60], judge)
    rows = forecast_gain_of_more_labels(found, found.value + 0.1)
    assert [one.more for one in rows] == [50, 100, 200, 340]
    assert all(a.half > b.half and a.chance <= b.chance for a, b in pairwise(rows))
    assert rows[-1].half == 0


def test_tables_have_a_row_each(grades) -> None:
    people, judge = grades
    found = of(people[:60], judge[:60], judge)
    table = judge_assisted_means_table("x", "X", [("judge", found)])
    assert len(table.rows) == 1
    assert len(table.rows[0]) == len(table.columns)
    off = measure_judge_bias_by_score(people, judge)
    assert len(judge_biases_table("y", [("judge", one) for one in off]).rows) == len(off)
