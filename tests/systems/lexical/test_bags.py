"""Bags of terms and the inverted index, against counters."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from embassay.systems.lexical import bags as module
from embassay.systems.lexical.bags import TokenIdRows, collect_token_sets, count_bigrams, count_unigrams, invert_bags

VOCABULARY = 4
ROWS = st.lists(st.lists(st.integers(0, VOCABULARY - 1), max_size=7), max_size=7)


def ragged(rows) -> TokenIdRows:
    ids = np.array([token for row in rows for token in row], dtype=np.int32)
    return TokenIdRows(ids, np.cumsum([0, *map(len, rows)]), VOCABULARY)


def counters(bags) -> list[Counter]:
    spans = [slice(*ends) for ends in pairwise(bags.starts)]
    for span in spans:
        assert (np.diff(bags.terms[span]) > 0).all()
    return [Counter(dict(zip(bags.terms[s].tolist(), bags.counts[s].tolist(), strict=True))) for s in spans]


@given(ROWS, st.integers(1, 9))
def test_bags_are_counters(rows, rows_per_sort):
    """Tokens, pairs of neighbours and sets; sizes count repetitions; no matter how many rows a sort takes."""
    before, module._ROWS_PER_SORT = module._ROWS_PER_SORT, rows_per_sort
    try:
        one, two, sets = (make(ragged(rows)) for make in (count_unigrams, count_bigrams, collect_token_sets))
    finally:
        module._ROWS_PER_SORT = before
    assert counters(one) == [Counter(row) for row in rows]
    assert counters(two) == [Counter(a * VOCABULARY + b for a, b in pairwise(row)) for row in rows]
    assert counters(sets) == [Counter(set(row)) for row in rows]
    assert one.sizes.tolist() == [len(row) for row in rows]
    assert two.sizes.tolist() == [max(len(row) - 1, 0) for row in rows]
    assert sets.sizes.tolist() == [len(set(row)) for row in rows]


@given(ROWS.filter(len), st.data())
def test_taken_rows_are_the_rows(rows, data):
    """Rows can be repeated and reordered."""
    places = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9))
    taken = count_unigrams(ragged(rows)).take_rows(np.array(places, dtype=np.int64))
    assert counters(taken) == [Counter(rows[place]) for place in places]


@given(ROWS, st.sets(st.integers(0, VOCABULARY + 1)))
def test_the_index_lists_the_rows_of_each_term(rows, terms):
    """Rows ascending with their counts; terms outside the vocabulary are left out."""
    bags, vocabulary = count_unigrams(ragged(rows)), np.array(sorted(terms), dtype=np.int64)
    index = invert_bags(bags, bags.counts, vocabulary)
    assert index.width == len(rows)
    for place, term in enumerate(vocabulary):
        span = slice(index.starts[place], index.starts[place + 1])
        expected = [(row, ids.count(term)) for row, ids in enumerate(rows) if term in ids]
        assert list(zip(index.places[span], index.weights[span], strict=True)) == expected
