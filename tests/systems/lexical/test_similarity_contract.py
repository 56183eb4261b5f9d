"""What every classical metric and reference row promises, whatever it measures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import squareform

from embassay.errors import UsageError
from embassay.search import exact as blockwise
from embassay.search import top_k
from embassay.systems.lexical.bm25 import BM25
from embassay.systems.lexical.levenshtein import LevenshteinSimilarity
from embassay.systems.lexical.overlap import jaccard, rouge
from embassay.systems.reference import ConstantSimilarity, RandomSimilarity
from embassay.text import open_tokenizer

WORDS = open_tokenizer("words")
# Metrics whose value for a pair does not depend on the other texts of the call.
PAIRWISE = [
    LevenshteinSimilarity(),
    LevenshteinSimilarity(unit=True),
    rouge(tokenizer=WORDS),
    jaccard(tokenizer=WORDS),
    ConstantSimilarity(),
    RandomSimilarity(),
]
ALL = [*PAIRWISE, BM25(tokenizer=WORDS), BM25(tokenizer=WORDS, variant="okapi", normalise="self")]
PROSE = [f"word{i * i % 11}" for i in range(20)]
TEXT = st.lists(st.sampled_from(["a", "b", "b c", "C", "."]), max_size=6).map(" ".join)
TEXTS = st.lists(TEXT, max_size=7)


def label(system) -> str:
    return system.identity.replace(" ", "_")


def similarity(system, queries, corpus) -> np.ndarray:
    """All pairs, one by one through `pairs`."""
    shape = (len(queries), len(corpus))
    left = [query for query in queries for _ in corpus]
    return system.pairs(left, list(corpus) * len(queries)).reshape(shape)


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """Blocks so small that every example crosses several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blockwise, "CANDIDATE_BLOCK", 3)
        patch.setattr(blockwise, "_BLOCK_CELLS", 6)
        yield


@pytest.mark.parametrize("system", PAIRWISE, ids=label)
@given(texts=TEXTS)
def test_distances_are_one_minus_pairs(system, texts):
    """The condensed distances are those of the pairs, in scipy's order."""
    found = system.distances(texts)
    assert found.dtype == np.float32
    square = 1 - similarity(system, texts, texts)
    np.fill_diagonal(square, 0)
    expected = squareform(square, checks=False) if texts else np.empty(0)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("system", PAIRWISE, ids=label)
@given(queries=TEXTS, corpus=TEXTS, k=st.integers(1, 9))
def test_search_ranks_by_pairs(system, queries, corpus, k):
    """Search gives the best pairs, ties by index, and their similarities."""
    found = system.search(queries, corpus, k)
    expected = top_k(similarity(system, queries, corpus), k)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)


@pytest.mark.parametrize("system", ALL, ids=label)
@given(queries=TEXTS, shards=st.lists(TEXTS, min_size=1, max_size=3), k=st.integers(1, 9))
def test_shards_hold_the_scores_of_one_search(system, queries, shards, k):
    """Scores of all shards, put side by side, are those of one search over all texts."""
    corpus = [text for shard in shards for text in shard]
    whole = np.full((len(queries), len(corpus)), -np.inf)
    start = 0
    for shard, ranked in zip(shards, system.search_shards(queries, shards, 9), strict=True):
        assert ranked.indices.shape == (len(queries), 9)
        rows, places = np.nonzero(ranked.indices >= 0)
        assert len(rows) == len(queries) * len(shard)
        whole[rows, start + ranked.indices[rows, places]] = ranked.scores[rows, places]
        start += len(shard)
    expected = system.search(queries, corpus, k)
    found = top_k(whole, k)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("system", ALL, ids=label)
@given(texts=st.lists(st.tuples(TEXT, TEXT), max_size=8))
def test_pairs_are_within_bounds(system, texts):
    """In [0, 1], float32, and the arguments as they were."""
    a, b = [pair[0] for pair in texts], tuple(pair[1] for pair in texts)
    found = system.pairs(a, b)
    assert found.dtype == np.float32
    assert found.shape == (len(texts),)
    assert ((found >= 0) & (found <= 1)).all()
    assert a == [pair[0] for pair in texts]


@pytest.mark.parametrize("system", ALL, ids=label)
@given(texts=TEXTS)
def test_distances_are_within_bounds(system, texts):
    """As many as there are pairs of texts, in [0, 1]."""
    found = system.distances(texts)
    assert found.shape == (len(texts) * (len(texts) - 1) // 2,)
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("system", [s for s in ALL if s.kind == "classical"], ids=label)
def test_empty_texts(system):
    """Two empty texts are alike, an empty and another one are not, in pairs and in distances."""
    a = ["", "", "one two three", "one two three", "four five"]
    b = ["", "one two", "", "one two three", "six seven one"]
    found = system.pairs(a, b)
    assert found[:3].tolist() == [1, 0, 0]
    assert found[3] == 1
    square = squareform(system.distances(["", "one two three", "", "one two four"]))
    assert square[0].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("system", ALL, ids=label)
def test_no_texts_at_all(system):
    """Nothing in, nothing out."""
    assert system.pairs([], []).shape == (0,)
    assert system.distances([]).shape == (0,)
    assert system.search([], ["a"], 2).indices.shape == (0, 2)
    assert system.search(["a"], [], 2).indices.tolist() == [[-1, -1]]
    assert list(system.search_shards(["a"], [], 2)) == []


@pytest.mark.parametrize("system", ALL, ids=label)
def test_refuses_unequal_lengths(system):
    """Every reference needs its candidate."""
    with pytest.raises(UsageError, match="Cannot pair 2 texts with 1"):
        system.pairs(["a", "b"], ["a"])


@pytest.mark.parametrize("system", ALL, ids=label)
def test_threads_do_not_change_a_bit(system, monkeypatch):
    """One thread or four: the same bytes."""
    from embassay.systems import reference
    from embassay.systems.lexical import bags as index
    from embassay.systems.lexical import bm25, overlap
    from embassay.systems.lexical import bm25 as bm25_mutual

    texts = [" ".join(PROSE[i % 7 : i % 5 + 8 + i % 3]) for i in range(40)]
    outcomes = []
    for threads in (1, 4):
        for module in (reference, bm25, bm25_mutual, index, overlap):
            monkeypatch.setattr(module, "count_cores", lambda threads=threads: threads)
        ranked = system.search(texts, texts, 5)
        parts = system.pairs(texts, texts[::-1]), system.distances(texts), ranked.indices, ranked.scores
        outcomes.append([part.tobytes() for part in parts])
    assert outcomes[0] == outcomes[1]


def test_identities_tell_systems_apart():
    """Every parameter that changes a value changes the identity."""
    systems = [
        *ALL,
        BM25(tokenizer=WORDS, k1=1.2),
        BM25(tokenizer=WORDS, b=0.5),
        BM25(tokenizer=WORDS, delta=0.5),
        BM25(tokenizer=WORDS, normalise="self"),
        BM25(tokenizer=WORDS, variant="okapi"),
        RandomSimilarity(seed=1),
    ]
    assert len({system.identity for system in systems}) == len(systems)
    assert rouge(tokenizer=WORDS, name="rouge?x=1").name == "rouge?x=1"
