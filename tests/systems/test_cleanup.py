"""Cleaning of texts, step by step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.systems.cleanup import EnglishSpellCorrector, TextCleanupSteps


@given(st.text())
def test_cleaning_twice_changes_nothing_more(text):
    """White space and characters; any text passes."""
    clean = TextCleanupSteps("whitespace,unicode")
    assert clean(clean(text)) == clean(text)
    assert "  " not in clean(text)


def test_steps_are_done_in_one_order():
    """However they are written."""
    assert TextCleanupSteps("case,unicode").steps == TextCleanupSteps("unicode, case").steps == ("unicode", "case")
    assert TextCleanupSteps("").steps == ()
    assert TextCleanupSteps("case")("ÉTÉ  X") == "été  x"
    assert TextCleanupSteps("case").identity == TextCleanupSteps("case,case").identity
    with pytest.raises(UsageError, match="spelling"):
        TextCleanupSteps("speling")


@pytest.fixture(scope="module")
def speller():
    pytest.importorskip("symspellpy")
    return EnglishSpellCorrector()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noisy", "clean"),
    [
        ("the exampel of a sentence", "the example of a sentence"),
        ("an 3x4mpl3 of the n01s3", "an example of the noise"),
        ("He went to Korvain with the othr men.", "He went to Korvain with the other men."),
        ("THE EXAMPEL IS HERE", "THE EXAMPLE IS HERE"),
        ("In 1998 the B12 was 50 mg.", "In 1998 the B12 was 50 mg."),
        ("Das ist nicht richtig geschrieben wordn", "Das ist nicht richtig geschrieben wordn"),
        ("", ""),
    ],
)
def test_words_are_corrected_and_names_numbers_and_other_languages_stay(speller, noisy, clean):
    """Digits that stand for letters are read as these."""
    assert speller(noisy) == clean
