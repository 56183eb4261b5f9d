"""Task 4: sets, caps and intervals."""

import numpy as np
import pytest

from embassay.protocols.kernel.estimates import UNVARIED
from embassay.protocols.sage.clustering import evaluate_system
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
    outcome = evaluate_system(pairwise(same_initial), TWO_SETS, context())
    assert score(outcome, "v_measure", "set", "1").value == pytest.approx(1)
    assert score(outcome, "v_measure", "set", "2").value == pytest.approx(0, abs=1e-9)
    headline = score(outcome, "v_measure")
    assert headline.value == pytest.approx(0.5)
    # Student's t of two sets, cut to what a V-measure can be.
    assert (headline.ci_low, headline.ci_high) == (0, 1)


def test_few_sets_have_the_t_interval_not_their_range(pairwise, context, score):
    """Three sets: mean -+ t(2) s / sqrt(3), as of any three numbers, and wider than from the least to the greatest."""
    sets = [("1", "aazz"), ("2", "aaza"), ("3", "azzz")]
    rows = labelled(*[(f"{letter}{i}", "xxyy"[i], name) for name, letters in sets for i, letter in enumerate(letters)])
    outcome = evaluate_system(pairwise(same_initial), rows, context(resamples=4000))
    values = [score(outcome, "v_measure", "set", name).value for name, _ in sets]
    headline, half = score(outcome, "v_measure"), 4.3027 * np.std(values, ddof=1) / np.sqrt(3)
    assert headline.value == pytest.approx(np.mean(values))
    assert headline.ci_low == pytest.approx(max(0, headline.value - half), abs=0.04)
    assert headline.ci_high == pytest.approx(min(1, headline.value + half), abs=0.04)
    assert headline.ci_high - headline.ci_low > max(values) - min(values)


@pytest.mark.parametrize("name", ["1", ""], ids=["named", "file without sets"])
def test_one_set_is_resampled_over_its_texts(pairwise, context, score, name):
    """Its texts, clusters held: an interval about the value, named as such; two systems share the draws."""
    rows = labelled(*[(f"{'az'[i % 2 if i % 7 else (i + 1) % 2]}{i}", "xy"[i % 2], name) for i in range(60)])
    first, second = (evaluate_system(pairwise(same_initial, name=name), rows, context()) for name in "ab")
    headline, component = score(first, "v_measure"), first.components["v_measure"]
    assert 0 < headline.ci_low < headline.value < headline.ci_high < 1
    assert headline.method == "bootstrap over 60 texts of the only set, clusters held fixed"
    assert (component.n, component.units) == (60, None)
    assert component.replicates.mean() == pytest.approx(headline.value)
    assert (component.replicates == second.components["v_measure"].replicates).all()


def test_one_set_without_a_mistake_has_no_interval(pairwise, context, score):
    """Every resample is perfect too; none of them says how far it may be from perfect elsewhere."""
    rows = labelled(*[(f"{'az'[i % 2]}{i}", "xy"[i % 2], "1") for i in range(20)])
    headline = score(evaluate_system(pairwise(same_initial), rows, context()), "v_measure")
    assert headline.value == pytest.approx(1)
    assert (headline.ci_low, headline.ci_high) == (None, None)
    assert headline.method.endswith(UNVARIED)


def test_sets_of_one_label_are_skipped(pairwise, context, score):
    """They say nothing; with no other set the value is undefined, with a reason."""
    outcome = evaluate_system(pairwise(same_initial), labelled(("a", "x", "1"), ("b", "x", "1")), context())
    assert score(outcome, "v_measure").value is None
    assert outcome.skipped[0].examples == ("1",)


def test_large_sets_are_capped_by_kind(pairwise, context):
    """Classical metrics and embedding models have caps of their own, and the warning says what was drawn."""
    rows = labelled(*[(f"{'az'[i % 2]}{i}", "xy"[i % 2], "1") for i in range(40)])
    options = context(string_cap=10, embedding_cap=20)
    for kind, size in (("classical", 10), ("embedding", 20)):
        outcome = evaluate_system(pairwise(same_initial, kind=kind), rows, options)
        assert outcome.counts["texts"] == size
        assert f"{size} of 40 texts" in outcome.warnings[0]


WORDS = ("oak", "elm", "ash", "yew", "fir", "box", "bay", "may", "sea", "sky", "hay", "ice")
ALIKE = [(f"{word} alone", "abc"[place % 3], "") for place, word in enumerate(WORDS)]


@pytest.mark.parametrize("similar", [lambda a, b: float(a == b), lambda a, b: 1.0])
def test_equal_distances_know_no_order_of_rows(pairwise, context, score, similar):
    """Texts that are all equally far from each other: sorted by label, mixed or backwards, the value is the same."""
    values = set()
    for rows in (sorted(ALIKE, key=lambda row: row[1]), ALIKE, ALIKE[::-1]):
        outcome = evaluate_system(pairwise(similar), labelled(*rows), context())
        values.add(score(outcome, "v_measure").value)
        clusters = outcome.items["value"][-len(rows) :]
        assert clusters[0] == 0
        assert outcome.items["item_id"][-len(rows) :] == [f"t{i}" for i in range(len(rows))]
    assert len(values) == 1
