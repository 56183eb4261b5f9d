"""Indexes by spec string."""

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.search.exact import exact_search
from embassay.search.indexes import INDEXES, open_index
from embassay.search.indexes.store import hash_vectors


def vectors(n=50, d=8, seed=1):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def test_flat_is_exact_search_whatever_the_shards():
    """One array or three shards: the ranking of `exact_search` on all of them."""
    corpus, queries = vectors(), vectors(4, seed=2)
    expected = exact_search(queries, corpus, 7)
    for given in (corpus, [corpus[:20], corpus[20:21], corpus[21:]]):
        index = open_index("flat", given)
        found = index.search(queries, 7)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.scores, expected.scores)
        assert (index.facts.n, index.facts.dim, index.facts.memory_bytes) == (50, 8, 1600)
        assert index.name == "flat"


def test_the_digest_follows_values_and_shape_but_not_shards():
    """Cut otherwise: the same. Another value, or the same bytes in another shape: another."""
    corpus = vectors()
    assert hash_vectors(corpus) == hash_vectors([corpus[:3], corpus[3:]])
    other = corpus.copy()
    other[49, 7] += 1
    assert len({hash_vectors(one) for one in (corpus, other, corpus.reshape(25, 16))}) == 3


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (np.zeros((3, 4)), "float64"),
        (np.zeros(3, np.float32), r"\(3,\)"),
        ([[1.0]], "list"),
        ([], "shards"),
        ([np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)], r"\(2, 3\), \(2, 4\)"),
    ],
)
def test_refuses_what_are_no_vectors(given, found):
    """Another type, other axes, shards that do not fit: told before anything is built."""
    with pytest.raises(UsageError, match=found):
        open_index("flat", given)


def test_a_wrong_name_suggests_the_nearest():
    """And the command that lists indexes is spelled as it is."""
    with pytest.raises(UsageError, match="no index called 'flatt'") as caught:
        open_index("flatt", vectors())
    assert "Did you mean flat? `embassay list indexes`" in caught.value.mend
    assert INDEXES.group == "embassay.indexes"
