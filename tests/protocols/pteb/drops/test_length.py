"""Scores by length: every bin equals the measure on its items; lost items count on neither side."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score

from embassay.errors import UsageError
from embassay.protocols.pteb.drops import (
    average_item_words,
    average_words_over_datasets,
    score_original_and_runs_by_length,
    summarise_words_per_text_by_dataset,
)

RNG = np.random.default_rng(3)
N = 400
WORDS = RNG.integers(2, 80, N).astype(float)
GOLD = RNG.uniform(0, 5, N)
BEFORE = GOLD + RNG.normal(0, 1, N)
RUNS = [GOLD + RNG.normal(0, 2, N) for _ in range(3)]
BINS = [("1-10", 1, 10), ("11-20", 11, 20), ("21-30", 21, 30), ("31-50", 31, 50), ("over 50", 51, 999)]


def rho(x: np.ndarray, y: np.ndarray) -> float:
    return float(spearmanr(x, y).statistic)


def test_every_bin_is_the_measure_on_its_items() -> None:
    """Spearman before, after and the mean difference, against scipy."""
    found = score_original_and_runs_by_length("spearman", WORDS, BEFORE, RUNS, GOLD)
    assert [one.label for one in found] == [label for label, _, _ in BINS]
    for one, (_, low, high) in zip(found, BINS, strict=True):
        inside = (low <= WORDS) & (high >= WORDS)
        before = rho(BEFORE[inside], GOLD[inside])
        after = np.mean([rho(run[inside], GOLD[inside]) for run in RUNS])
        assert one.n == inside.sum()
        assert one.original == pytest.approx(before)
        assert one.paraphrased == pytest.approx(after)
        assert one.delta is not None
        assert one.delta.value == pytest.approx(after - before)
        assert one.delta.low < one.delta.value < one.delta.high
        assert one.lost == 0


def test_lost_items_count_on_neither_side() -> None:
    """Each run is compared with the original on what it kept; the original alone is on all."""
    runs = [run.copy() for run in RUNS]
    lost = [np.flatnonzero(WORDS <= 10)[:2], np.array([], dtype=int), np.flatnonzero(WORDS > 50)[:1]]
    for run, rows in zip(runs, lost, strict=True):
        run[rows] = np.nan
    found = {one.label: one for one in score_original_and_runs_by_length("spearman", WORDS, BEFORE, runs, GOLD)}
    short = WORDS <= 10
    deltas = []
    for run in runs:
        kept = short & ~np.isnan(run)
        deltas.append(rho(run[kept], GOLD[kept]) - rho(BEFORE[kept], GOLD[kept]))
    assert found["1-10"].lost == 2
    assert found["over 50"].lost == 1
    assert found["1-10"].original == pytest.approx(rho(BEFORE[short], GOLD[short]))
    assert found["1-10"].delta is not None
    assert found["1-10"].delta.value == pytest.approx(np.mean(deltas))


def test_means_and_average_precision() -> None:
    """The other two ways a score is made of items."""
    right, after = (RNG.random(N) < 0.8).astype(float), (RNG.random(N) < 0.6).astype(float)
    [one] = score_original_and_runs_by_length("mean", np.full(N, 5.0), right, [after])
    assert one.delta is not None
    assert one.delta.value == pytest.approx(after.mean() - right.mean())
    assert one.delta.high < 0
    labels = (GOLD > 2.5).astype(float)
    [one] = score_original_and_runs_by_length("average precision", np.full(N, 5.0), BEFORE, RUNS, labels)
    assert one.original == pytest.approx(average_precision_score(labels, BEFORE))
    assert one.paraphrased == pytest.approx(np.mean([average_precision_score(labels, run) for run in RUNS]))


def test_a_copier_loses_nothing_at_any_length() -> None:
    """The difference is 0, and as it never varies there is no interval."""
    for one in score_original_and_runs_by_length("spearman", WORDS, BEFORE, [BEFORE, BEFORE], GOLD):
        assert one.delta is not None
        assert one.delta.value == 0
        assert [one.delta.low, one.delta.high] == [None, None]


def test_small_and_undefined_bins_show_their_n_only() -> None:
    """With the reason."""
    [few] = score_original_and_runs_by_length("spearman", WORDS[:9] * 0 + 5, BEFORE[:9], [RUNS[0][:9]], GOLD[:9])
    assert (few.n, few.original, few.delta, few.reason) == (9, None, None, "9 items are too few for a score")
    [same] = score_original_and_runs_by_length("spearman", WORDS[:50] * 0 + 5, BEFORE[:50], [RUNS[0][:50]], np.ones(50))
    assert (same.original, same.reason) == (None, "the measure is undefined on these items")


def test_columns_of_different_lengths_are_refused() -> None:
    """They are no table."""
    with pytest.raises(UsageError, match="The columns have"):
        score_original_and_runs_by_length("mean", WORDS, BEFORE[:-1], RUNS)
    with pytest.raises(UsageError, match="one run"):
        score_original_and_runs_by_length("mean", WORDS, BEFORE, [])


def test_word_counts() -> None:
    """Table 1: white-space words, every text as often as it stands there, and the plain mean over datasets."""
    rows = summarise_words_per_text_by_dataset({"a": ["one two", "one", "a b c"], "b": ["x y z w"], "empty": []})
    assert [(row.dataset, row.texts, row.mean, row.median, row.most) for row in rows] == [
        ("a", 3, 2.0, 2, 3),
        ("b", 1, 4.0, 4, 4),
    ]
    assert average_words_over_datasets(rows) == 3.0
    assert average_words_over_datasets([]) is None
    assert average_item_words([["a b", "a b c d"], ["x"]]).tolist() == [3.0, 1.0]


def test_published_average_of_table_1() -> None:
    """The nine published means average 61.29, not the 61.1 printed [A4]."""
    published = [22.8, 9.6, 10.9, 8.9, 9.2, 10.6, 8.7, 461.0, 9.9]
    assert np.mean(published) == pytest.approx(61.29, abs=0.005)
