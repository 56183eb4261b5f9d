"""Task 4: sets, caps and intervals."""

import pytest

from embassay.protocols.sage.clustering import evaluate
from embassay.records import LabelledTexts


def labelled(*rows):
    texts, labels, sets = zip(*rows, strict=True)
    return LabelledTexts(tuple(f"t{i}" for i in range(len(rows))), texts, labels, sets)


TWO_SETS = labelled(
    ("aa", "x", "1"), ("ab", "x", "1"), ("zz", "y", "1"), ("zy", "y", "1"),
    ("aa", "x", "2"), ("za", "x", "2"), ("zz", "y", "2"), ("az", "y", "2"),
)  # fmt: skip


def same_initial(a, b):
    return float(a[0] == b[0])


def test_v_measure_per_set_and_their_mean(pairwise, context, score):
    """A perfect set and one with no information: 1, 0 and 0.5 with an interval over sets."""
    outcome = evaluate(pairwise(same_initial), TWO_SETS, context())
    assert score(outcome, "v_measure", "set", "1").value == pytest.approx(1)
    assert score(outcome, "v_measure", "set", "2").value == pytest.approx(0, abs=1e-9)
    headline = score(outcome, "v_measure")
    assert headline.value == pytest.approx(0.5)
    assert (headline.ci_low, headline.ci_high) == (pytest.approx(0, abs=1e-9), pytest.approx(1))


def test_a_single_set_has_no_interval(pairwise, context, score):
    """What would be resampled is the set: with one there is nothing to resample, and the row says so."""
    rows = labelled(("aa", "x", "1"), ("zz", "y", "1"))
    headline = score(evaluate(pairwise(same_initial), rows, context()), "v_measure")
    assert headline.value == pytest.approx(1)
    assert (headline.ci_low, headline.ci_high, headline.method) == (None, None, "single set: no interval")


def test_sets_of_one_label_are_skipped(pairwise, context, score):
    """They say nothing; with no other set the value is undefined, with a reason."""
    outcome = evaluate(pairwise(same_initial), labelled(("a", "x", "1"), ("b", "x", "1")), context())
    assert score(outcome, "v_measure").value is None
    assert outcome.skipped[0].examples == ("1",)


def test_large_sets_are_capped_by_kind(pairwise, context):
    """Classical metrics and embedding models have caps of their own, and the warning says what was drawn."""
    rows = labelled(*[(f"{'az'[i % 2]}{i}", "xy"[i % 2], "1") for i in range(40)])
    options = context(string_cap=10, embedding_cap=20)
    for kind, size in (("classical", 10), ("embedding", 20)):
        outcome = evaluate(pairwise(same_initial, kind=kind), rows, options)
        assert outcome.counts["texts"] == size
        assert f"{size} of 40 texts" in outcome.warnings[0]
