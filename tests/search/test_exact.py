"""Exact vector search, against a float64 product and a full sort."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import ModelError, UsageError
from embassay.search import exact as module
from embassay.search import exact_search, exact_search_shards, top_k


def unit(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    vectors = rng.standard_normal((n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def brute_force(queries: np.ndarray, corpus: np.ndarray, k: int):
    products = [[float(np.sum(q.astype(float) * c)) for c in corpus.astype(float)] for q in queries]
    return top_k(np.round(np.array(products).reshape(len(queries), len(corpus)), 6), k)


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(0, 5), st.integers(0, 40), st.integers(1, 70)),
    k=st.integers(1, 12),
    block=st.integers(1, 50),
    scale=st.sampled_from([1e-3, 1.0, 50.0]),
)
def test_equals_brute_force_for_any_block(seed, shape, k, block, scale):
    """Rows drawn with repetition from few vectors (many ties): the same ranking and scores, bit by bit."""
    rng = np.random.default_rng(seed)
    q, n, d = shape
    few = unit(rng, 6, d) * scale
    corpus = few[rng.integers(0, 6, n)].reshape(n, d)
    queries = unit(rng, q, d)
    found = exact_search(queries, corpus, k, block=block)
    expected = brute_force(queries, corpus, k)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.scores, expected.scores)


@given(
    seed=st.integers(0, 2**32 - 1),
    cuts=st.lists(st.integers(0, 600), max_size=5),
    k=st.integers(1, 40),
    block=st.integers(1, 700),
    spread=st.sampled_from([0.0, 1e-8, 1e-6, 1.0]),
)
def test_shards_are_searched_as_if_stacked(seed, cuts, k, block, spread):
    """Whatever the cuts and blocks, with vectors of all lengths and hundreds that hardly differ: brute force."""
    rng = np.random.default_rng(seed)
    corpus = unit(rng, 1, 24) + spread * unit(rng, 600, 24) * rng.exponential(2, (600, 1))
    corpus = corpus.astype(np.float32)
    queries = unit(rng, 3, 24)
    ends = [0, *sorted(cuts), 600]
    expected = brute_force(queries, corpus, k)
    for longest in (None, module.bound_largest_vector_norm(corpus)):
        shards = (corpus[start:end] for start, end in pairwise(ends))
        found = exact_search_shards(queries, shards, k, block=block, longest=longest)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.scores, expected.scores)


def test_long_vectors_are_refused_before_they_overflow():
    """Products beyond float32 would be infinite, and rank at random."""
    long = np.full((2, 4), 1e19, np.float32)
    with pytest.raises(ModelError, match="overflow float32"):
        exact_search(long, long, 1)


def test_equal_rows_tie_in_every_block_position():
    """Copies of one vector, scattered over blocks of odd sizes, come in the order of their indices."""
    rng = np.random.default_rng(1)
    corpus = unit(rng, 5_000, 96)
    copies = np.sort(rng.choice(5_000, 60, replace=False))
    corpus[copies] = unit(rng, 1, 96)
    for block in (61, 997, 5_000):
        found = exact_search(corpus[copies[:1]], corpus, 60, block=block)
        assert found.indices[0].tolist() == copies.tolist()
        assert len(set(found.scores[0])) == 1


def test_float_noise_does_not_decide():
    """Two encodings of one text that differ in the last bit tie, and the lower index wins."""
    rng = np.random.default_rng(2)
    vector = unit(rng, 1, 64)
    noisy = np.nextafter(vector, np.float32(2))
    assert exact_search(vector, np.vstack([vector, noisy]), 2).indices.tolist() == [[0, 1]]
    assert exact_search(vector, np.vstack([noisy, vector]), 2).indices.tolist() == [[0, 1]]


def test_a_query_that_scores_all_alike_stays_cheap():
    """A zero vector ties with the whole corpus: its room is full again and again, the other queries unharmed."""
    rng = np.random.default_rng(3)
    corpus, queries = unit(rng, 3000, 16), unit(rng, 3, 16)
    queries[1] = 0
    found = exact_search(queries, corpus, 5, block=100)
    expected = brute_force(queries, corpus, 5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert found.indices[1].tolist() == [0, 1, 2, 3, 4]


def test_queries_may_exceed_one_block(monkeypatch):
    """Blocks of queries do not change the answer."""
    rng = np.random.default_rng(4)
    corpus, queries = unit(rng, 200, 8), unit(rng, 23, 8)
    whole = exact_search(queries, corpus, 7)
    monkeypatch.setattr(module, "_QUERY_BLOCK", 5)
    np.testing.assert_array_equal(exact_search(queries, corpus, 7).indices, whole.indices)


@pytest.mark.parametrize("threads", [2, 3])
def test_queries_side_by_side_find_the_same(monkeypatch, threads):
    """Also over shards and memory maps, and while another search has the processor's threads."""
    monkeypatch.setattr(module, "_LEAST_QUERIES", 20)
    rng = np.random.default_rng(6)
    corpus, queries = unit(rng, 500, 16), unit(rng, 97, 16)
    monkeypatch.setattr(module, "count_cores", lambda: 1)
    alone = exact_search(queries, corpus, 7)
    monkeypatch.setattr(module, "count_cores", lambda: threads)
    for found in (
        exact_search(queries, corpus, 7, block=50),
        exact_search_shards(queries, [corpus[:33], corpus[33:]], 7),
    ):
        assert found.indices.tobytes() == alone.indices.tobytes()
        assert found.scores.tobytes() == alone.scores.tobytes()
    with module._SIDE_BY_SIDE:
        assert exact_search(queries, corpus, 7).scores.tobytes() == alone.scores.tobytes()
    assert not module._SIDE_BY_SIDE.locked()


def test_a_corpus_on_disk_is_searched(tmp_path):
    """A memory-mapped array is read block by block."""
    rng = np.random.default_rng(5)
    corpus = unit(rng, 300, 8)
    np.save(tmp_path / "corpus.npy", corpus)
    mapped = np.load(tmp_path / "corpus.npy", mmap_mode="r")
    found = exact_search(corpus[:4], mapped, 3, block=64)
    assert found.indices[:, 0].tolist() == [0, 1, 2, 3]


def test_ids_are_those_of_faiss_but_in_ties():
    """Where an id is another than faiss's flat index has there, the true scores of both are within 1e-6."""
    faiss = pytest.importorskip("faiss")
    rng = np.random.default_rng(6)
    corpus, queries = unit(rng, 5000, 64), unit(rng, 40, 64)
    corpus[2500:] = corpus[:2500] + 1e-7 * unit(rng, 2500, 64)
    index = faiss.IndexFlatIP(64)
    index.add(corpus)
    theirs = index.search(queries, 100)[1]
    ours = exact_search(queries, corpus, 100).indices
    rows, places = np.nonzero(ours != theirs)
    truth = queries.astype(float) @ corpus.astype(float).T
    assert np.abs(truth[rows, ours[rows, places]] - truth[rows, theirs[rows, places]]).max(initial=0) < 1e-6
    assert len(rows) < ours.size


def test_refuses_what_does_not_fit():
    """Other dimensions, other axes, k below 1, values that are not finite."""
    with pytest.raises(UsageError, match=r"vectors of shape \(3, 5\) for the best 1 with queries \(2, 4\)"):
        exact_search(np.zeros((2, 4), np.float32), np.zeros((3, 5), np.float32), 1)
    with pytest.raises(UsageError, match="the best 0"):
        exact_search(np.zeros((2, 4), np.float32), np.zeros((3, 4), np.float32), 0)
    with pytest.raises(ModelError, match="not finite"):
        exact_search(np.zeros((2, 4), np.float32), np.full((3, 4), np.nan, np.float32), 1)
