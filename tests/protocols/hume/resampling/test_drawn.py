"""Measures of resamples given as counts: the same as on the resample written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.measures import ari, cohen_kappa, fleiss_kappa, pearson, spearman, v_measure
from embassay.protocols.hume.resampling import (
    compute_resampled_cohen_kappa,
    resampled_ari,
    resampled_fleiss,
    resampled_mean,
    resampled_pearson,
    resampled_spearman,
    resampled_v_measure,
    value_indicators,
)
from embassay.randomness import make_seeded_generator


def resamples(n: int, seed: int, b: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """The items of every resample (b, n), and how often each was drawn (b, n)."""
    rows = make_seeded_generator(seed, "test").integers(0, n, (b, n))
    return rows, np.stack([np.bincount(row, minlength=n) for row in rows]).astype(np.float64)


NUMBERS = st.lists(st.integers(0, 4), min_size=3, max_size=12)


@given(NUMBERS, st.integers(0, 10**6))
def test_correlations(x: list[int], seed: int) -> None:
    """Spearman and Pearson of ties and constants, in every resample."""
    y = make_seeded_generator(seed, "y").integers(0, 4, len(x)).astype(float)
    left = np.array(x, dtype=float)
    rows, counts = resamples(len(x), seed)
    for drawn, plain in ((resampled_spearman, spearman), (resampled_pearson, pearson)):
        expected = [plain(left[row], y[row]) for row in rows]
        np.testing.assert_allclose(drawn(counts, left, y), expected, atol=1e-12)


@given(NUMBERS, st.integers(0, 10**6))
def test_kappas_and_v(x: list[int], seed: int) -> None:
    """Cohen, Fleiss and V-measure, where a rater may be constant."""
    y = make_seeded_generator(seed, "y").integers(0, 4, len(x)).tolist()
    rows, counts = resamples(len(x), seed)
    labels = sorted({*x, *y})
    one, other = (np.array([[float(v == label) for label in labels] for v in side]) for side in (x, y))
    written = [([x[i] for i in row], [y[i] for i in row]) for row in rows]
    np.testing.assert_allclose(
        compute_resampled_cohen_kappa(counts, one, other), [cohen_kappa(*pair) for pair in written], atol=1e-12
    )
    np.testing.assert_allclose(
        resampled_fleiss(counts, one + other), [fleiss_kappa(pair) for pair in written], atol=1e-12
    )
    expected = [v_measure(*pair) if len(set(pair[0])) > 1 and len(set(pair[1])) > 1 else 0.0 for pair in written]
    np.testing.assert_allclose(
        resampled_v_measure(counts, value_indicators(x), value_indicators(y)), expected, atol=1e-12
    )


def test_ari_without_copies() -> None:
    """On the items themselves it is the ARI; in a resample copies of one item are no pair."""
    x, y = list("000111222"), list("555577999")
    found = resampled_ari(np.ones((1, 9)), value_indicators(x), value_indicators(y))
    assert found.tolist() == pytest.approx([ari(x, y)])
    assert ari(x, y) == pytest.approx(0.642857, abs=1e-6)
    # Items 0 and 3 twice, 6 once: pairs of different items, by draws: (0,3) four times together in y only,
    # (0,6) and (3,6) twice each apart in both. Expected together = 0, so nothing is shared.
    counts = np.zeros((1, 9))
    counts[0, [0, 3]], counts[0, 6] = 2, 1
    assert resampled_ari(counts, value_indicators(x), value_indicators(y)).tolist() == [0.0]
    rows, drawn = resamples(9, 3, b=400)
    naive = np.mean([ari([x[i] for i in row], [y[i] for i in row]) for row in rows])
    inside = np.nanmean(resampled_ari(drawn, value_indicators(x), value_indicators(y)))
    assert abs(inside - ari(x, y)) < 0.08 < naive - ari(x, y)


def test_missing() -> None:
    """A missing value counts for nothing; without any there is none."""
    counts = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]])
    found = resampled_mean(counts, np.array([1.0, 2.0, math.nan]))
    assert found[0] == 1.5
    assert math.isnan(found[1])
    x = np.array([1.0, 2.0, 3.0, math.nan])
    y = np.array([2.0, 1.0, 3.0, 9.0])
    assert resampled_spearman(np.ones((1, 4)), x, y).tolist() == [pytest.approx(spearman(x[:3], y[:3]))]
    assert np.isnan(resampled_spearman(np.ones((2, 1)), x[3:], y[3:])).all()
    one = value_indicators(["a", "b", None])
    assert one.tolist() == [[1, 0], [0, 1], [0, 0]]
