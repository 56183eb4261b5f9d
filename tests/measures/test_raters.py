"""Raters brought together and compared in pairs; marks per query; the bands in words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import (
    absolute_difference,
    agreement_band,
    align,
    ari,
    cohen_kappa,
    marks_agreement,
    mean_pairwise,
    pearson,
    spearman,
    v_measure,
)
from embassay.stats import kendall_tau

R1, R2 = [0, 1, 1, 3, 5, 4, 2, 4], [2, 0, 2, 1, 4, 5, 4, 3]
PARTITIONS = [[0, 0, 0, 1, 1, 1, 2, 2, 2], [5, 5, 5, 5, 7, 7, 9, 9, 9]]


def test_check_values() -> None:
    """HUME section 6: ratings, partitions, marks."""
    assert mean_pairwise([R1, R2], spearman).value == pytest.approx(0.615854, abs=1e-6)
    assert mean_pairwise([R1, R2], absolute_difference).value == 1.375
    assert mean_pairwise(PARTITIONS, v_measure).value == pytest.approx(0.786013, abs=1e-6)
    assert mean_pairwise(PARTITIONS, ari).value == pytest.approx(0.642857, abs=1e-6)
    found = marks_agreement([{"q": [1, 1, 1, 0, 0, 0, 0]}, {"q": [1, 1, 0, 1, 0, 0, 0]}])
    assert [found.spearman, found.kendall, found.kappa] == pytest.approx([0.416667] * 3, abs=1e-6)
    assert (found.comparisons, found.skipped, found.kappa_comparisons, found.spearman_sd) == (1, 0, 1, 0)


def test_aligned_by_id_whatever_the_order() -> None:
    """Items that only one rated are None for the others."""
    aligned = align({"x": {"2": "a", "1": "b"}, "y": {"1": "b", "3": "c"}})
    assert aligned.items == ("1", "2", "3")
    assert aligned.raters == ("x", "y")
    assert aligned.rows == (("b", "a", None), ("b", None, "c"))


def test_each_pair_over_its_own_common_items() -> None:
    """A pair without a value is left out of the mean and counted."""
    rows = [[1.0, 2, 3, None], [1, 3, 2, 9], [5, 5, 5, None], [None, None, None, 1]]
    found = mean_pairwise(rows, pearson)
    assert found.items == (3, 3, 0, 3, 1, 0)
    assert found.value == pytest.approx(0.5)
    assert found.skipped == 5
    assert math.isnan(mean_pairwise([[1, 1], [1, 2]], spearman).value)


bits = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=9)


@given(st.lists(bits, min_size=1, max_size=5))
def test_marks_by_query(queries: list[list[tuple[int, int]]]) -> None:
    """On 0 and 1 Spearman, Pearson (phi) and tau-b are one; constant vectors are counted, never 0."""
    one = {str(i): [a for a, _ in pairs] for i, pairs in enumerate(queries)}
    other = {str(i): [b for _, b in pairs] for i, pairs in enumerate(queries)}
    found = marks_agreement([one, other])
    phis = [pearson(one[q], other[q]) for q in one]
    taus = [float(kendall_tau(one[q], other[q])) for q in one]
    defined = [phi for phi in phis if not math.isnan(phi)]
    assert phis == pytest.approx(taus, nan_ok=True)
    assert (found.comparisons, found.skipped) == (len(defined), len(queries) - len(defined))
    mean = sum(defined) / len(defined) if defined else math.nan
    assert found.spearman == pytest.approx(mean, abs=1e-12, nan_ok=True)
    if defined:
        deviation = math.sqrt(sum((phi - mean) ** 2 for phi in defined) / len(defined))
        assert found.spearman_sd == pytest.approx(deviation, abs=1e-9)
    kappas = [k for q in one if not math.isnan(k := cohen_kappa(one[q], other[q]))]
    assert found.kappa_comparisons == len(kappas) >= len(defined)
    swapped = marks_agreement([other, one])
    assert swapped.kappa == pytest.approx(found.kappa, nan_ok=True)


def test_marks_of_three_raters_on_shared_queries() -> None:
    """Three pairs on the query all have, one more on the query of two."""
    common = {"q": [1, 0, 0]}
    found = marks_agreement([{**common, "p": [1, 0]}, {**common, "p": [1, 0]}, {"q": [0, 1, 0]}])
    assert found.comparisons == 4
    assert found.spearman == pytest.approx((1 + 1 - 0.5 - 0.5) / 4)


@pytest.mark.parametrize(
    ("value", "coefficient", "band"),
    [
        *((0.81, "kappa", "excellent"), (0.8, "kappa", "substantial"), (0.61, "kappa", "substantial")),
        *((0.6, "kappa", "moderate"), (0.4, "kappa", "fair"), (0.2, "kappa", "poor"), (-0.5, "kappa", "poor")),
        *((0.71, "correlation", "strong"), (0.7, "correlation", "moderate"), (0.4, "correlation", "weak")),
        *((0.913605, "ari", "excellent"), (0.150855, "ari", "poor"), (0.0, "ari", "poor")),
        *((-0.001221, "ari", "none"), (math.nan, "kappa", "NA"), (math.nan, "ari", "NA")),
    ],
)
def test_bands(value: float, coefficient: str, band: str) -> None:
    """HUME section 6; a limit belongs to the band below it."""
    assert agreement_band(value, coefficient) == band


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_pairwise([[1, 2]], spearman), "needs two raters"),
        (lambda: mean_pairwise([[1, 2], [1]], spearman), "items"),
        (lambda: marks_agreement([{"q": [1]}]), "needs two raters"),
        (lambda: marks_agreement([{"q": [1, 0]}, {"q": [1]}]), "2 and for 1 documents"),
        (lambda: marks_agreement([{"q": [1, 2]}, {"q": [1, 0]}]), "marks of query q"),
        (lambda: agreement_band(0.5, "rho"), "coefficient is 'rho'"),
        (lambda: absolute_difference([1, 2], [1]), "need two series"),
    ],
)
def test_refused(call, message: str) -> None:
    """With what is wrong."""
    with pytest.raises(UsageError, match=message):
        call()


def test_a_pair_weighs_the_items_it_shares() -> None:
    """By hand: pairs of 10, 5 and 5 items with values .1, .5 and .7 come to (1 + 2.5 + 3.5) / 20; with all in common it
    is the plain mean, to the last digit."""
    rows = [[*range(10)], [*range(10)], [*range(5), *[None] * 5]]
    values = iter((0.1, 0.5, 0.7))
    found = mean_pairwise(rows, lambda one, other: next(values))
    assert found.items == (10, 5, 5)
    assert found.value == pytest.approx(7 / 20)
    values = iter((0.1, 0.5, 0.7))
    assert mean_pairwise([row[:5] for row in rows], lambda one, other: next(values)).value == 1.3 / 3


def test_a_minimum_of_shared_items() -> None:
    """Pairs under it have no value; none left, no mean."""
    rows = [[*range(10)], [*range(10)], [*range(5), *[None] * 5]]
    found = mean_pairwise(rows, spearman, min_shared=6)
    assert (found.value, found.skipped) == (pytest.approx(1.0), 2)
    assert math.isnan(mean_pairwise(rows, spearman, min_shared=11).value)
    marks = [{"q": [1, 0, 0], "r": [1, 0, 0]}, {"q": [1, 0, 0], "r": [0, 1, 0]}, {"q": [0, 1, 0]}]
    assert marks_agreement(marks, min_shared=2).comparisons == 2
