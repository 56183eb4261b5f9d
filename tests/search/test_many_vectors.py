"""Sparse vectors and late interaction: searched exactly, in parts of any size, in the order of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import ModelError, UsageError
from embassay.search import maxsim as module
from embassay.search.maxsim import TokenVectors, compute_maxsim, compute_maxsim_matrix, search_by_maxsim
from embassay.search.sparse import InvertedIndex, SparseMatrix, compute_row_pair_products

DIM, TERMS = 8, 30


def texts(rng, n, most):
    """Texts of up to so many unit vectors, some with none."""
    rows = [rng.standard_normal((rng.integers(0, most + 1), DIM)) for _ in range(n)]
    return [(one / np.linalg.norm(one, axis=1, keepdims=True)).astype(np.float32) for one in rows]


def by_definition(query, document):
    """One pair of tokens after the other."""
    if not len(document):
        return -float(len(query))
    return sum(max(float(np.dot(q.astype(float), d.astype(float))) for d in document) for q in query)


def ranked(scores, k):
    """The best k columns of each row, ties by column."""
    return np.lexsort((np.broadcast_to(np.arange(scores.shape[1]), scores.shape), -scores), axis=1)[:, :k]


@pytest.mark.parametrize("part", [1, 7, 60])
def test_late_interaction_finds_what_the_definition_finds_in_parts_of_any_size_and_order(part, monkeypatch):
    """Indices and scores of 60 documents, with equal ones among them, whatever the blocks."""
    monkeypatch.setattr(module, "_PRODUCTS", 64)
    monkeypatch.setattr(module, "_QUERY_TOKENS", 5)
    rng = np.random.default_rng(3)
    documents, queries = texts(rng, 58, 6), texts(rng, 9, 4)
    documents += [documents[3], documents[5]]
    wanted = np.array([[by_definition(q, d) for d in documents] for q in queries]).round(6)
    order = rng.permutation(60)
    parts = (
        (order[i : i + part], TokenVectors.of([documents[j] for j in order[i : i + part]], DIM))
        for i in range(0, 60, part)
    )
    found = search_by_maxsim(TokenVectors.of(queries, DIM), parts, 12)
    assert found.indices.tolist() == ranked(wanted, 12).tolist()
    np.testing.assert_allclose(found.scores, np.take_along_axis(wanted, found.indices, axis=1), rtol=0, atol=1e-9)
    rough = compute_maxsim_matrix(TokenVectors.of(queries, DIM), TokenVectors.of(documents, DIM))
    np.testing.assert_allclose(rough, wanted, rtol=0, atol=1e-5)


def test_fewer_documents_than_asked_for_and_odd_requests():
    """Rows end in -1; what cannot be is refused."""
    rng = np.random.default_rng(1)
    queries = TokenVectors.of(texts(rng, 2, 3), DIM)
    few = TokenVectors.of(texts(rng, 2, 3), DIM)
    found = search_by_maxsim(queries, [(np.arange(2), few)], 4)
    assert (found.indices[:, 2:] == -1).all()
    assert (found.scores[:, 2:] == -np.inf).all()
    assert (search_by_maxsim(queries, [], 3).indices == -1).all()
    with pytest.raises(UsageError):
        search_by_maxsim(queries, [(np.arange(2), few)], 0)
    with pytest.raises(UsageError):
        search_by_maxsim(queries, [(np.arange(1), TokenVectors.of([np.ones((1, 3), np.float32)], 3))], 1)
    with pytest.raises(ModelError):
        TokenVectors.of([np.full((1, DIM), np.nan, np.float32)], DIM)


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_a_score_is_bounded_by_the_tokens_of_the_query(m, n, seed):
    """Between -m and m for unit vectors, m for a text with itself."""
    rng = np.random.default_rng(seed)
    made = [
        (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        for rows in (rng.standard_normal((m, DIM)), rng.standard_normal((n, DIM)))
    ]
    assert -m - 1e-5 <= compute_maxsim(*made) <= m + 1e-5
    if m:
        assert compute_maxsim(made[0], made[0]) == pytest.approx(m, abs=1e-5)


def weights(rng, n, most=6):
    """Rows of terms in any order and their weights."""
    rows = []
    for size in rng.integers(0, most + 1, n):
        terms = rng.choice(TERMS, size=size, replace=False)
        rows.append(np.column_stack([terms, rng.integers(1, 5, size) / 4]).astype(np.float32).reshape(-1, 2))
    return rows


def dense(rows):
    """The same as a matrix."""
    out = np.zeros((len(rows), TERMS))
    for place, one in enumerate(rows):
        out[place, one[:, 0].astype(int)] = one[:, 1]
    return out


@given(st.integers(0, 2**32 - 1))
def test_an_inverted_index_gives_the_products_of_the_matrix(seed):
    """Ties by index; pairs and lengths too."""
    rng = np.random.default_rng(seed)
    documents, queries = weights(rng, 23), weights(rng, 5)
    products = dense(queries) @ dense(documents).T
    corpus, asked = SparseMatrix.of(documents, TERMS), SparseMatrix.of(queries, TERMS)
    found = InvertedIndex.of(corpus).search(asked, 9)
    assert found.indices.tolist() == ranked(products.round(6), 9).tolist()
    rows = np.arange(5)
    np.testing.assert_allclose(compute_row_pair_products(asked, corpus, rows, rows + 3), products[rows, rows + 3])
    np.testing.assert_allclose(corpus.row_lengths, np.linalg.norm(dense(documents), axis=1))


def test_sparse_vectors_that_cannot_be_are_refused():
    """Terms beyond the vocabulary, other vocabularies, weights that are no numbers."""
    one = np.array([[40, 1]], dtype=np.float32)
    with pytest.raises(UsageError):
        SparseMatrix.of([one], TERMS)
    with pytest.raises(UsageError):
        InvertedIndex.of(SparseMatrix.of([one], 50)).search(SparseMatrix.of([one], 41), 1)
    with pytest.raises(ModelError):
        InvertedIndex.of(SparseMatrix.of([np.array([[1, np.inf]], np.float32)], TERMS))
    with pytest.raises(UsageError):
        InvertedIndex.of(SparseMatrix.of([one], 50)).search(SparseMatrix.of([one], 50), 0)
    assert (InvertedIndex.of(SparseMatrix.of([], 50)).search(SparseMatrix.of([one], 50), 2).indices == -1).all()
