"""The Levenshtein ratio, against the recurrence and rapidfuzz."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz
from scipy.spatial.distance import squareform

from embassay.systems.lexical.levenshtein import LevenshteinSimilarity

TEXT = st.text(alphabet="abAé😀 ", max_size=9)


def distance(x: str, y: str, substitution: int) -> int:
    """The textbook recurrence."""

    @cache
    def d(i: int, j: int) -> int:
        if not (i and j):
            return i + j
        change = 0 if x[i - 1] == y[j - 1] else substitution
        return min(d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + change)

    return d(len(x), len(y))


@given(TEXT, TEXT)
def test_equals_the_indel_ratio(x, y):
    """(|x| + |y| - d) / (|x| + |y|), d with substitutions at 2, characters being code points."""
    total = len(x) + len(y)
    expected = (total - distance(x, y, 2)) / total if total else 1
    assert LevenshteinSimilarity().pairs([x], [y])[0] == pytest.approx(expected, abs=1e-7)


@given(TEXT, TEXT)
def test_unit_costs_on_request(x, y):
    """1 - d / max(|x|, |y|), d with substitutions at 1."""
    longest = max(len(x), len(y))
    expected = 1 - distance(x, y, 1) / longest if longest else 1
    assert LevenshteinSimilarity(unit=True).pairs([x], [y])[0] == pytest.approx(expected, abs=1e-7)


def test_worked_example():
    """lead to load: one deletion and one insertion among 8 characters; one substitution among 4."""
    assert LevenshteinSimilarity().pairs(["lead"], ["load"]).tolist() == [0.75]
    assert LevenshteinSimilarity(unit=True).pairs(["lead"], ["load"]).tolist() == [0.75]
    assert LevenshteinSimilarity().pairs(["abc"], ["xyz"]).tolist() == [0]


@pytest.mark.shared
def test_real_texts_equal_rapidfuzz(abstracts):
    """The ratio of the library the paper names, on real abstracts."""
    texts = abstracts[:30]
    square = 1 - squareform(LevenshteinSimilarity().distances(texts))
    expected = [[fuzz.ratio(x, y) / 100 for y in texts] for x in texts]
    np.testing.assert_allclose(square, expected, atol=1e-6)
