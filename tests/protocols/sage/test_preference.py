"""Task 1: choices and ratings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr
from sklearn.metrics import precision_recall_fscore_support

from embassay.protocols.sage.preference import (
    HumanPreferences,
    compute_accuracy_precision_recall_f1,
    evaluate_system,
    map_pearson_to_unit_interval,
)
from embassay.records import SummaryComparisons, SummaryRatings


def comparisons(similarities, choices):
    """Summaries are their own similarity, so that a system can read it off."""
    first, second = zip(*((str(a), str(b)) for a, b in similarities), strict=True)
    ids = tuple(f"c{i}" for i in range(len(first)))
    return SummaryComparisons(ids, ids, first, second, np.array(choices, dtype=np.int8))


def ratings(similarities, **axes):
    ids = tuple(f"r{i}" for i in range(len(similarities)))
    return SummaryRatings(ids, ids, tuple(map(str, similarities)), {k: np.array(v, float) for k, v in axes.items()})


@pytest.fixture
def reads(pairwise):
    return pairwise(lambda source, summary: float(summary))


def test_the_four_figures_of_a_worked_example(reads, context, score):
    """Predicted 0 1 1 0 against chosen 0 1 0 1: accuracy 1/2, precision and recall of the second summary 1/2."""
    rows = comparisons([(0.9, 0.1), (0.1, 0.9), (0.2, 0.3), (0.8, 0.7)], [0, 1, 0, 1])
    outcome = evaluate_system(reads, HumanPreferences(rows, None), context())
    assert [score(outcome, name).value for name in ("accuracy", "precision", "recall", "f1")] == [0.5] * 4
    assert score(outcome, "human_preference").value == 0.5
    assert outcome.components["comparisons"].n == 4


def test_ties_go_to_the_second_summary_or_half(reads, context, score):
    """A tie predicts summary 2 [A9]; `half` gives half a point; the share of ties is a row of its own."""
    rows = comparisons([(0.5, 0.5), (0.9, 0.1)], [0, 0])
    strict = evaluate_system(reads, HumanPreferences(rows, None), context())
    half = evaluate_system(reads, HumanPreferences(rows, None), context(preference_ties="half"))
    assert (score(strict, "accuracy").value, score(half, "accuracy").value) == (0.5, 0.75)
    assert score(strict, "tie_share").value == 0.5


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40), st.booleans())
def test_figures_agree_with_scikit_learn(pairs, first):
    """Precision, recall and F1 of one class are scikit-learn's, 0 where it divides by 0."""
    predicted, actual = np.array(pairs, dtype=float).T
    if first:
        predicted, actual = 1 - predicted, 1 - actual
    columns = np.stack([predicted == actual, predicted * actual, predicted, actual], axis=1).astype(float)
    ours = compute_accuracy_precision_recall_f1(columns.mean(axis=0))
    theirs = precision_recall_fscore_support(actual, predicted, average="binary", zero_division=0)
    np.testing.assert_allclose(ours[1:], theirs[:3], atol=1e-12)
    assert ours[0] == pytest.approx(np.mean(predicted == actual))


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(1, 7)), min_size=3, max_size=30))
def test_mapped_pearson_agrees_with_scipy(pairs):
    """(r + 1) / 2 from means of products is scipy's r."""
    x, y = np.array(pairs).T
    if x.std() < 1e-3 or y.std() < 1e-3:
        return
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    ours = map_pearson_to_unit_interval(np.stack([x, y, x * x, y * y, x * y], axis=1).mean(axis=0))
    assert float(ours) == pytest.approx(0.5 * (pearsonr(x, y)[0] + 1), abs=1e-9)


def test_ratings_are_scored_per_axis_and_missing_ones_counted(reads, context, score):
    """A perfect and a reversed axis give 1 and 0; a missing rating is left out of its axis and counted."""
    rows = ratings([0.1, 0.2, 0.3, 0.4], overall=[1, 2, 3, 4], accuracy=[7, 5, 3, np.nan])
    outcome = evaluate_system(reads, HumanPreferences(None, rows), context())
    assert score(outcome, "score", "overall").value == pytest.approx(1)
    accuracy = score(outcome, "score", "accuracy")
    assert (accuracy.value, accuracy.n) == (pytest.approx(0, abs=1e-9), 3)
    assert [(skip.reason, skip.count) for skip in outcome.skipped] == [("no rating on accuracy", 1)]
    assert score(outcome, "human_preference").value == pytest.approx(0.5)


def test_a_constant_similarity_is_undefined_not_half(pairwise, context, score):
    """Correlation with a constant is undefined: no value and a reason, for the axis and the headline."""
    rows = ratings([1, 2, 3], overall=[1, 2, 3])
    outcome = evaluate_system(pairwise(lambda a, b: 1.0), HumanPreferences(None, rows), context())
    assert score(outcome, "score", "overall").value is None
    assert "does not vary" in score(outcome, "human_preference").reason


def test_headline_is_the_mean_of_the_two_halves(reads, context, score):
    """With choices and ratings the headline is the mean of their means."""
    rows = comparisons([(0.9, 0.1), (0.1, 0.9)], [0, 1])
    rated = ratings([0.1, 0.2, 0.3], overall=[3, 2, 1])
    outcome = evaluate_system(reads, HumanPreferences(rows, rated), context())
    assert score(outcome, "human_preference").value == pytest.approx((1.0 + 0.0) / 2)
    assert set(outcome.components) == {"comparisons", "ratings"}


def test_intervals_contain_the_value(reads, context, score):
    """Every figure has a 95% interval around it."""
    rng = np.random.default_rng(0)
    rows = comparisons(rng.random((60, 2)).round(3), rng.integers(0, 2, 60))
    outcome = evaluate_system(reads, HumanPreferences(rows, None), context())
    for name in ("accuracy", "precision", "recall", "f1", "human_preference"):
        one = score(outcome, name)
        assert one.ci_low <= one.value <= one.ci_high


def test_rows_of_one_source_are_drawn_together(reads, context, score):
    """Ten sources of four ratings and choices: ten units, and the method says what was drawn."""
    rng = np.random.default_rng(4)
    rows = comparisons(list(zip(rng.random(40), rng.random(40), strict=True)), rng.integers(0, 2, 40))
    rated = ratings(rng.random(40), fluency=rng.random(40))
    sources = tuple(f"source {i // 4}" for i in range(40))
    data = HumanPreferences(replace(rows, sources=sources), replace(rated, sources=sources))
    outcome = evaluate_system(reads, data, context())
    assert {name: (part.n, part.units) for name, part in outcome.components.items()} == {
        "comparisons": (40, 10), "ratings": (40, 10),
    }  # fmt: skip
    assert score(outcome, "accuracy").method == "cluster bootstrap over 10 groups of comparisons of one source"
    alone = evaluate_system(reads, HumanPreferences(rows, rated), context())
    assert all(part.units is None for part in alone.components.values())


def test_one_source_leaves_no_interval(reads, context, score):
    """There is nothing to draw from."""
    rows = comparisons([(0.1, 0.2), (0.4, 0.3), (0.5, 0.6)], [0, 1, 0])
    outcome = evaluate_system(reads, HumanPreferences(replace(rows, sources=("one",) * 3), None), context())
    assert score(outcome, "accuracy").ci_low is None
    assert score(outcome, "human_preference").value is not None
