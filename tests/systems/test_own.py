"""Comparing vectors as their model was made for, against direct computation."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from embassay.errors import UsageError
from embassay.search import exact_search
from embassay.systems.cosine import Cosine, TransformedEncoder, VectorTransformOptions
from embassay.systems.own import (
    InnerProductLayout,
    NamedVectorSimilarity,
    compute_similarity_matrix_by_name,
    find_model_own_similarity,
    find_systems_forced_to_cosine,
)

DIRECT = {
    "dot": lambda a, b: a @ b.T,
    "euclidean": lambda a, b: -cdist(a, b),
    "manhattan": lambda a, b: -cdist(a, b, "cityblock"),
}


class Table:
    """An encoder with a vector for each text, which is its number; texts of a query are those of a document."""

    name = identity = "table"
    max_tokens = None

    def __init__(self, vectors, similarity="dot"):
        self.vectors, self.similarity, self.dim = vectors, similarity, vectors.shape[1]

    def encode(self, texts, *, role=None):
        return self.vectors[[int(text) for text in texts]]

    def count_truncated(self, texts):
        return 0


@pytest.fixture(params=[1e-6, 1.0, 1e6])
def vectors(request):
    """Of very different lengths, at three scales; the last two are equal."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(40, 6)) * rng.uniform(0.1, 9, size=(40, 1)) + 2
    rows[-1] = rows[-2]
    return (rows * request.param).astype(np.float32)


@pytest.mark.parametrize("by", DIRECT)
def test_a_search_finds_what_the_similarity_has_highest(by, vectors):
    """In the order of direct computation at any scale, ties to the lower index; with the score itself."""
    system = NamedVectorSimilarity(Table(vectors, by), by)
    texts = [str(n) for n in range(len(vectors))]
    queries = texts[:7]
    found = system.search(queries, texts, 12)
    direct = DIRECT[by](vectors[:7].astype(np.float64), vectors.astype(np.float64))
    assert np.array_equal(found.indices, np.argsort(-direct, axis=1, kind="stable")[:, :12])
    expected = np.take_along_axis(direct, found.indices, axis=1)
    np.testing.assert_allclose(found.scores, expected, atol=1e-5 * np.abs(direct).max())


@pytest.mark.parametrize("by", DIRECT)
def test_pairs_have_the_order_of_the_similarity(by, vectors):
    """By pairs and by positions; divided by the largest, so that tiny vectors keep their digits."""
    system = NamedVectorSimilarity(Table(vectors, by), by)
    texts = [str(n) for n in range(len(vectors))]
    left, right = np.arange(20), np.arange(20, 40)
    direct = np.diag(DIRECT[by](vectors[left].astype(np.float64), vectors[right].astype(np.float64)))
    for found in (system.pairs(texts[:20], texts[20:]), system.compare_indexed_pairs(texts, left, right)):
        np.testing.assert_allclose(found, direct / np.abs(direct).max(), atol=1e-6)
    with pytest.raises(UsageError, match="not a distance"):
        system.distances(texts)


@pytest.mark.parametrize("by", ["dot", "euclidean"])
def test_an_index_by_inner_product_has_the_order_of_the_similarity(by, vectors):
    """Also for a query that is laid out alone, when its time is taken."""
    layout = InnerProductLayout.of(by, vectors)
    documents, queries = layout.make_inner_product_document_vectors(vectors), layout.queries(vectors[:9])
    found = exact_search(queries, documents, 15)
    direct = DIRECT[by](vectors[:9].astype(np.float64), vectors.astype(np.float64))
    assert np.array_equal(found.indices, np.argsort(-direct, axis=1, kind="stable")[:, :15])
    alone = exact_search(layout.queries(vectors[4:5]), documents, 15)
    assert np.array_equal(alone.indices[0], found.indices[4])


def test_no_index_searches_by_manhattan_distance(vectors):
    """Which is refused, and not taken for another."""
    with pytest.raises(UsageError, match="Manhattan"):
        InnerProductLayout.of("manhattan", vectors)
    assert np.allclose(
        np.linalg.norm(InnerProductLayout.of("cosine", vectors).make_inner_product_document_vectors(vectors), axis=1), 1
    )


@pytest.mark.parametrize("by", [*DIRECT, "cosine", "whatever"])
def test_every_similarity_of_the_library_by_name(by, vectors):
    """To six digits of the largest; a name that is none is the cosine."""
    a, b = vectors[:5].astype(np.float64), vectors.astype(np.float64)
    units = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (a, b))
    expected = DIRECT[by](a, b) if by in DIRECT else DIRECT["dot"](*units)
    np.testing.assert_allclose(
        compute_similarity_matrix_by_name(by, a, b), expected, atol=1e-6 * np.abs(expected).max()
    )


def test_a_model_says_what_it_was_made_for(vectors):
    """Through what it is wrapped in; not where its vectors are rounded, or brought to one length."""
    encoder = Table(vectors)
    assert find_model_own_similarity(SimpleNamespace(encoder=encoder)) == "dot"
    assert find_model_own_similarity(TransformedEncoder(encoder, VectorTransformOptions(dims=3))) == "dot"
    assert find_model_own_similarity(TransformedEncoder(encoder, VectorTransformOptions(quantize="int8"))) == "cosine"
    assert find_model_own_similarity(TransformedEncoder(encoder, VectorTransformOptions(normalize=True))) == "cosine"
    assert (
        find_model_own_similarity(
            TransformedEncoder(Table(vectors, "manhattan"), VectorTransformOptions(normalize=True))
        )
        == "manhattan"
    )
    assert (
        find_model_own_similarity(Table(vectors, "maxsim")) == find_model_own_similarity(SimpleNamespace()) == "cosine"
    )


def test_a_text_that_failed_is_not_found_and_finds_nothing(vectors):
    """As with the cosine."""
    lost = vectors.copy()
    lost[3] = np.nan
    for by in DIRECT:
        found = NamedVectorSimilarity(Table(lost, by), by).search(["3", "4"], ["2", "3", "4"], 3)
        assert found.indices[0].tolist() == [-1, -1, -1]
        assert sorted(found.indices[1].tolist()) == [-1, 0, 2]
        assert np.isnan(NamedVectorSimilarity(Table(lost, by), by).pairs(["3"], ["4"])).all()


def test_unit_vectors_have_one_order_by_cosine_dot_and_distance():
    """So nothing is to be said of them."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(30, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    texts = [str(n) for n in range(30)]
    orders = [
        system.search(texts[:4], texts, 10).indices.tolist()
        for system in (
            Cosine(Table(rows)),
            NamedVectorSimilarity(Table(rows), "dot"),
            NamedVectorSimilarity(Table(rows), "euclidean"),
        )
    ]
    assert orders[0] == orders[1] == orders[2]


def test_models_that_are_compared_by_cosine_though_made_for_another_similarity(vectors):
    """Alone and as members of an ensemble; not those that are compared by their own, nor those made for the cosine."""
    dot, usual = Cosine(Table(vectors, "dot"), name="d"), Cosine(Table(vectors, "cosine"), name="c")
    by_own = NamedVectorSimilarity(Table(vectors, "euclidean"), "euclidean", name="e")
    assert find_systems_forced_to_cosine(dot) == {"d": "dot"}
    assert (
        find_systems_forced_to_cosine(usual)
        == find_systems_forced_to_cosine(by_own)
        == find_systems_forced_to_cosine(None)
        == {}
    )
    inner = SimpleNamespace(members=[usual, dot])
    assert find_systems_forced_to_cosine(SimpleNamespace(members=[by_own, inner])) == {"d": "dot"}
