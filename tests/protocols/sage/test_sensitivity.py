"""Task 3: the expected curve and the two closed forms of spec section 13."""

from functools import lru_cache

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.protocols.sage.sensitivity import compute_expected_similarity, evaluate_isotonic_fit, evaluate_system
from embassay.records import Documents
from embassay.text import open_tokenizer

WORDS = open_tokenizer("words")
LONG = Documents(tuple(f"d{i}" for i in range(4)), tuple(" ".join(f"w{i}x{j}" for j in range(9000)) for i in range(4)))


@lru_cache
def tokens(text):
    return len(WORDS.encode(text))


def test_the_curve():
    """1/(1+p) by default, 1-p as the option [A15]."""
    np.testing.assert_allclose(
        compute_expected_similarity(np.array([0.15, 0.5, 1.0])), [0.8696, 0.6667, 0.5], atol=5e-5
    )
    np.testing.assert_allclose(compute_expected_similarity(np.array([0.15, 0.9]), "linear"), [0.85, 0.1])


def test_a_constant_one_scores_what_the_spec_says(pairwise, context, score):
    """Always 1: insertion 0.6787, removal 0.6875, to 1e-4; so the score is not 0 for an insensitive metric."""
    outcome = evaluate_system(pairwise(lambda a, b: 1.0), LONG, context())
    assert score(outcome, "sensitivity", "insertion").value == pytest.approx(0.6787, abs=1e-4)
    assert score(outcome, "sensitivity", "removal").value == pytest.approx(0.6875, abs=1e-4)
    assert score(outcome, "falls_at_every_step", "insertion").value == 0


def test_an_ideal_f_measure_scores_the_closed_form(pairwise, context, score):
    """2M/(|x|+|y|) over tokens: 0.8798 and 0.8687, to 1e-4; and it falls at every step."""
    f_measure = pairwise(lambda a, b: 2 * min(tokens(a), tokens(b)) / (tokens(a) + tokens(b)))
    outcome = evaluate_system(f_measure, LONG, context())
    assert score(outcome, "sensitivity", "insertion").value == pytest.approx(0.8798, abs=1e-4)
    assert score(outcome, "sensitivity", "removal").value == pytest.approx(0.8687, abs=1e-4)
    assert score(outcome, "sensitivity").value == pytest.approx((0.8798 + 0.8687) / 2, abs=1e-4)
    assert score(outcome, "falls_at_every_step", "removal").value == 1


def test_calibration_removes_the_scale(pairwise, context, score):
    """After the best monotone rescaling an F measure is almost perfect: only its scale was off."""
    squeezed = pairwise(lambda a, b: 0.9 + 0.05 * tokens(a) / (tokens(a) + abs(tokens(a) - tokens(b))))
    outcome = evaluate_system(squeezed, LONG, context())
    assert score(outcome, "sensitivity", "insertion").value < 0.8
    assert score(outcome, "sensitivity_calibrated", "insertion").value > 0.99


def test_tiny_documents_are_skipped_and_counted(pairwise, context):
    """Documents of under two tokens are left out, with their ids."""
    documents = Documents((*LONG.ids, "tiny"), (*LONG.texts, "one"))
    outcome = evaluate_system(pairwise(lambda a, b: 1.0), documents, context())
    assert [(skip.reason, skip.count, skip.examples) for skip in outcome.skipped] == [
        ("under two tokens", 1, ("tiny",))
    ]
    assert outcome.counts["documents"] == 4


def test_no_document_that_is_long_enough(pairwise, context):
    """No score, with the reason, and no part with a value: NaN is in nothing."""
    outcome = evaluate_system(pairwise(lambda a, b: 1.0), Documents(("a", "b"), ("one", "two")), context())
    assert {score.value for score in outcome.scores} == {None}
    assert {score.reason for score in outcome.scores} == {"no item can be scored"}
    assert [part.value for part in outcome.components.values()] == [None, None]


def test_a_needle_of_ones_own(pairwise, context, score, tmp_path):
    """The beginning of the file is inserted; its text, not its place, makes the options; too short a one is said."""
    path = tmp_path / "needle.txt"
    path.write_text("alpha beta gamma " * 4000, "utf-8")
    options = context(needle=str(path)).options
    (tmp_path / "other").mkdir()
    moved = tmp_path / "other" / "needle.txt"
    moved.write_text(path.read_text("utf-8"), "utf-8")
    assert options.as_dict() == context(needle=str(moved)).options.as_dict()
    assert options.as_dict() != context().options.as_dict()
    seen = []
    system = pairwise(lambda a, b: seen.append(b) or 1.0)
    evaluate_system(system, Documents(("a", "b"), ("one two three four", "five six")), context(needle=str(path)))
    assert "alpha beta gamma alphaone two three four" in seen
    path.write_text("too short", "utf-8")
    with pytest.raises(UsageError, match=r"2 tokens.*1,350"):
        evaluate_system(system, LONG, context(needle=str(path)))


def test_documents_are_cut_before_they_are_edited(pairwise, context):
    """With `text_tokens` no version is longer than twice as many."""
    lengths = []
    system = pairwise(lambda a, b: lengths.append((tokens(a), tokens(b))) or 1.0)
    evaluate_system(system, LONG, context(text_tokens=20))
    assert {a for a, _ in lengths} == {20}
    assert max(b for _, b in lengths) <= 41


@pytest.mark.parametrize("digits", [1, 3, 17])
def test_the_monotone_map_is_that_of_scikit_learn(digits):
    """To the last bits, which differ with its version; with ties, values apart by rounding alone, and beyond both
    ends."""
    from sklearn.isotonic import IsotonicRegression

    random = np.random.default_rng(digits)
    for n in (2, 3, 20, 400):
        x = np.round(random.random(n), digits)
        x[n // 2 :] = np.nextafter(x[: n - n // 2], 2)
        y, at = (random.choice(compute_expected_similarity(np.arange(8) / 8), n) + x, random.random((9, 5)) * 1.4 - 0.2)
        theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y).predict(at.ravel()).reshape(at.shape)
        np.testing.assert_allclose(evaluate_isotonic_fit(x, y, at), theirs, rtol=1e-14)
