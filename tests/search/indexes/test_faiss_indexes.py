"""Approximate indexes of faiss: what they find, what they refuse, and that they are built the same each time."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import ModelError, UsageError
from embassay.search.exact import exact_search
from embassay.search.indexes import open_index
from embassay.search.indexes.faiss_index import find_nearest_divisor
from embassay.search.indexes.store import recall

APPROXIMATE = ("hnsw-f32", "hnsw-int8", "pq?nbits=4", "opq?nbits=4")


def vectors(n=300, d=16, seed=1):
    """Vectors of different lengths around a few centres, as texts have them."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((8, d))
    return (centres[rng.integers(0, 8, n)] + 0.4 * rng.standard_normal((n, d))).astype(np.float32)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 150), d=st.integers(2, 24), k=st.integers(1, 30))
def test_a_graph_searched_as_wide_as_it_is_finds_all(seed, n, d, k):
    """With ef = n and room for every link, HNSW gives the ids of exact search, but inside ties at 1e-6."""
    corpus, queries = vectors(n, d, seed), vectors(3, d, seed ^ 1)
    index = open_index(f"hnsw-f32?m=150&ef_construction=300&ef={max(n, k)}", corpus)
    found, exact = index.search(queries, k), exact_search(queries, corpus, k)
    assert found.indices.shape == found.scores.shape == (3, k)
    np.testing.assert_allclose(found.scores, exact.scores, rtol=1e-5, atol=1e-5)
    for row, (ids, expected) in enumerate(zip(found.indices, exact.indices, strict=True)):
        differ = ids != expected
        truth = np.round(corpus.astype(float) @ queries[row].astype(float), 6)
        np.testing.assert_allclose(truth[ids[differ]], truth[expected[differ]], atol=2e-5)


@pytest.mark.parametrize("spec", APPROXIMATE)
def test_answers_keep_the_contract(spec):
    """Sorted scores, ties by number, no number twice, -1 and -inf where there are fewer; facts that fit."""
    corpus = np.concatenate([vectors(), vectors()])
    index = open_index(spec, corpus)
    found = index.search(vectors(5, seed=2), 700)
    held = found.indices >= 0
    assert held.sum(axis=1).max() <= 600
    assert (found.scores[~held] == -np.inf).all()
    for ids, scores in zip(found.indices, found.scores, strict=True):
        some = ids[ids >= 0]
        assert len(set(some)) == len(some)
        assert sorted(zip(-scores, ids, strict=True), key=lambda one: one)[: len(some)] == list(
            zip(-scores[: len(some)], some, strict=True)
        )
    assert (index.facts.n, index.facts.dim, index.name) == (600, 16, spec)
    assert index.facts.build_seconds > 0
    assert not index.facts.found


@pytest.mark.parametrize(
    ("spec", "least"), [("hnsw-f32", 0.99), ("hnsw-int8", 0.9), ("pq?m=8&nbits=6", 0.5), ("opq?m=8&nbits=6", 0.5)]
)
def test_recall_is_that_of_the_kind(spec, least):
    """A graph finds nearly all; codes of 6 bits for two values find most, and many more than chance (1/30)."""
    corpus, queries = vectors(), vectors(40, seed=2)
    found = open_index(spec, corpus).search(queries, 10)
    assert recall(found, exact_search(queries, corpus, 10), 10) >= least


@pytest.mark.parametrize("spec", APPROXIMATE)
def test_the_same_vectors_give_the_same_bytes(spec, tmp_path):
    """Whatever the threads of the process and the shards: one key, and one file but for the seconds in its head."""
    import faiss

    threads = faiss.omp_get_max_threads()
    contents, names = [], set()
    try:
        for place, (count, cut) in enumerate([(1, 300), (2, 300), (2, 7)]):
            faiss.omp_set_num_threads(count)
            corpus = vectors()
            index = open_index(spec, [corpus[:cut], corpus[cut:]], folder=tmp_path / str(place))
            assert faiss.omp_get_max_threads() == count
            (file,) = (tmp_path / str(place)).glob("*.index")
            names.add(file.name)
            contents.append(file.read_bytes().partition(b"\n")[2][:-32])
            assert index.facts.disk_bytes == file.stat().st_size
    finally:
        faiss.omp_set_num_threads(threads)
    assert len(names) == 1
    assert contents[0] == contents[1] == contents[2]


def test_memory_follows_from_the_structure():
    """int8 saves three bytes a value and nothing of the graph; codes are m bytes a vector."""
    facts = {
        spec: open_index(spec, vectors()).facts
        for spec in ("hnsw-f32", "hnsw-int8", "pq?m=4&nbits=8", "opq?m=4&nbits=8")
    }
    memory = {spec: one.memory_bytes for spec, one in facts.items()}
    ranges = 2 * 16 * 4
    assert memory["hnsw-f32"] - memory["hnsw-int8"] == 300 * 16 * 3 - ranges
    assert memory["hnsw-f32"] >= 300 * (16 * 4 + 4 * 2 * 16)
    assert memory["pq?m=4&nbits=8"] == 300 * 4 + 256 * 16 * 4
    assert memory["opq?m=4&nbits=8"] - memory["pq?m=4&nbits=8"] == 16 * 16 * 4


@pytest.mark.parametrize(
    ("spec", "what", "mend"),
    [
        ("pq?m=5", "16 dimensions into 5 equal parts", "m=4"),
        ("opq?m=13&nbits=4", "16 dimensions into 13 equal parts", "m=16"),
        ("pq?nbits=9", "has only 300 vectors", "nbits=8"),
        ("pq?nbits=8&sample=100", "has only 100 vectors", "nbits=6"),
        ("pq?nbits=30", "nbits=30", "1 to 12"),
        ("hnsw-f32?m=1", "link 1", "2 to 512"),
        ("hnsw-int8?ef=0", "ef=0", "ef must be from 1"),
        ("hnsw-f32?efconstruction=5", "no parameter 'efconstruction'", "ef_construction"),
    ],
)
def test_refuses_knobs_that_do_not_fit(spec, what, mend):
    """With what would."""
    with pytest.raises(UsageError, match=what) as caught:
        open_index(spec, vectors())
    assert mend in caught.value.mend


@pytest.mark.parametrize("spec", ["hnsw-f32", "pq?nbits=4"])
def test_refuses_vectors_that_are_not_finite(spec):
    """Before anything is built; queries too, and queries of other dimensions."""
    bad = vectors()
    bad[3, 2] = np.nan
    with pytest.raises(ModelError, match="not finite"):
        open_index(spec, bad)
    index = open_index(spec, vectors())
    with pytest.raises(ModelError, match="not finite"):
        index.search(bad[3:4], 1)
    with pytest.raises(UsageError, match=r"16 dimensions .* queries \(1, 8\)"):
        index.search(bad[:1, :8], 1)
    index.close()
    with pytest.raises(UsageError, match="closed"):
        index.search(bad[:1], 1)


def test_says_which_extra_is_missing(monkeypatch):
    """Without faiss: the command that installs it."""
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ModelError, match="needs the package faiss") as caught:
        open_index("hnsw-f32", vectors())
    assert caught.value.mend == "Install it: pip install 'embassay[ann]'"


@given(dim=st.integers(1, 2000), m=st.integers(-5, 3000))
def test_the_nearest_divisor_divides_and_is_nearest(dim, m):
    """No other divisor is nearer."""
    found = find_nearest_divisor(dim, m)
    assert dim % found == 0
    assert all(dim % one for one in range(1, dim + 1) if abs(one - m) < abs(found - m))
