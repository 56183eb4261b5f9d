"""Bins of gold scores and of lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embassay.errors import DataError
from embassay.protocols.pteb.ratings import (
    average_words_per_pair,
    bin_by_gold_score,
    bin_by_word_count,
    rescale_gold_to_judge_scale,
)


@given(arrays(np.float64, st.integers(1, 50), elements=st.floats(0, 5)))
def test_every_gold_score_is_in_one_bin(gold):
    """The bin whose label says so."""
    bins = bin_by_gold_score(gold)
    assert (np.sum([one.members for one in bins], axis=0) == 1).all()
    for one in bins:
        low, high = map(float, one.label[1:-1].split(","))
        inside = gold[one.members]
        assert ((inside >= low) & ((inside < high) | (one.label.endswith("]") & (inside == high)))).all()


@given(arrays(np.float64, st.integers(1, 50), elements=st.integers(2, 200).map(lambda n: n / 2)))
def test_every_length_is_in_one_bin(words):
    """Half a word more than the last of a bin is in the next."""
    bins = bin_by_word_count(words)
    assert (np.sum([one.members for one in bins], axis=0) == 1).all()
    for one, (above, most) in zip(bins, [(0, 10), (10, 20), (20, 30), (30, 50), (50, np.inf)], strict=True):
        assert ((words[one.members] > above) & (words[one.members] <= most)).all()


def test_other_edges():
    """Are said in the labels."""
    assert [one.label for one in bin_by_gold_score(np.zeros(1), (2.5,))] == ["[0,2.5)", "[2.5,5]"]
    assert [one.label for one in bin_by_word_count(np.ones(1), (5, 100))] == ["1-5", "6-100", "over 100"]


def test_gold_on_the_scale_of_the_ratings():
    """By the range of the dataset, not of the scores that happen to be in it."""
    assert rescale_gold_to_judge_scale(np.array([2.0, 4.0]), 0, 4).tolist() == [2.5, 5.0]
    with pytest.raises(DataError, match=r"1 gold scores.*expected 1 to 5; found 0.*--gold"):
        rescale_gold_to_judge_scale(np.array([0.0, 2.0]), 1, 5)


def test_words_are_between_blanks():
    """The mean of both texts."""
    assert average_words_per_pair(["It's a  fox.", ""], ["One", "a b"]).tolist() == [2.0, 1.0]
