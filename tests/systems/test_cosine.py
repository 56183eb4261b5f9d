"""Cosine: bounds, equal and empty texts, agreement with scipy, search and roles."""

from __future__ import annotations

import hashlib
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from embassay.errors import UsageError
from embassay.systems.cosine import Cosine
from embassay.systems.encoders.wordllama import WordLlamaEncoder


class HashEncoder:
    """Vectors drawn from the text's hash; the zero vector for a text of spaces. Remembers the calls."""

    name, identity, dim, max_tokens = "hash", "hash:1", 16, None

    def __init__(self, by_role=False):
        self.by_role = by_role
        self.calls = []

    def encode(self, texts, *, role=None):
        self.calls.append((list(texts), role))
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            if text.strip():
                key = f"{role if self.by_role else ''}|{text}".encode()
                seed = int.from_bytes(hashlib.sha256(key).digest()[:8], "little")
                vector[:] = 3 * np.random.default_rng(seed).standard_normal(self.dim)
        return vectors

    def count_truncated(self, texts):
        return 0


texts = st.lists(st.sampled_from(["", " ", "a", "b", "ab", "a longer text", "東京"]), min_size=1, max_size=30)


@given(texts, texts)
def test_pairs_are_bounded_symmetric_and_exact_for_equal_texts(a, b):
    """Values lie in [-1, 1], do not depend on the order, and are exactly 1 for equal texts."""
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    cosine = Cosine(HashEncoder())
    values = cosine.pairs(a, b)
    assert values.dtype == np.float32
    assert values.shape == (n,)
    assert (np.abs(values) <= 1).all()
    assert np.array_equal(values, cosine.pairs(b, a))
    for x, y, value in zip(a, b, values, strict=True):
        if x == y:
            assert value == 1
        elif not x.strip() or not y.strip():
            assert value == 0


@given(texts)
def test_distances_are_one_minus_scipys_cosine(items):
    """Agreement with scipy on texts with vectors; equal texts are exactly 0 apart, zero vectors 1."""
    distances = Cosine(HashEncoder()).distances(items)
    n = len(items)
    assert distances.dtype == np.float32
    assert distances.shape == (n * (n - 1) // 2,)
    rows, columns = np.triu_indices(n, 1)
    full = [bool(x.strip()) for x in items]
    with np.errstate(invalid="ignore"):
        expected = pdist(HashEncoder().encode(items).astype(np.float64), "cosine") if n > 1 else np.empty(0)
    for i, j, value, other in zip(rows, columns, distances, expected, strict=True):
        if items[i] == items[j]:
            assert value == 0
        elif full[i] and full[j]:
            assert value == pytest.approx(other, abs=1e-6)
        else:
            assert value == 1


def test_distances_span_many_blocks():
    """More texts than a block has rows, with duplicates far apart."""
    items = [f"text {i % 700}" for i in range(1000)]
    distances = Cosine(HashEncoder()).distances(items)
    expected = pdist(HashEncoder().encode(items).astype(np.float64), "cosine")
    np.testing.assert_allclose(distances, expected, atol=2e-6)
    rows, columns = np.triu_indices(len(items), 1)
    assert (distances[(columns - rows) == 700] == 0).all()


def test_an_empty_text_is_similar_to_nothing_but_an_empty_one():
    """Even where the encoder has a vector for the empty text (SAGE spec, section 2)."""

    class Constant(HashEncoder):
        def encode(self, texts, *, role=None):
            return np.ones((len(texts), self.dim), dtype=np.float32)

    cosine = Cosine(Constant())
    assert cosine.pairs(["", "", "a", "a"], ["", "a", "", "b"]).tolist() == [1, 0, 0, 1]
    assert cosine.distances(["", "a", ""]).tolist() == [1, 0, 1]


def test_each_side_is_encoded_by_itself_without_a_role():
    """Originals compared with many variants are the same call to a cache each time."""
    encoder = HashEncoder()
    Cosine(encoder).pairs(["a", "b"], ["c", "d"])
    Cosine(encoder).distances(["a", "b"])
    assert encoder.calls == [(["a", "b"], None), (["c", "d"], None), (["a", "b"], None)]


def test_between_is_pairs_with_each_text_encoded_once():
    """The same values from rows of one list of distinct texts, in one call however many pairs there are."""
    encoder = HashEncoder()
    items = ["a", "b", "", "東京", " "]
    left, right = (np.array(side).ravel() for side in np.meshgrid(np.arange(5), np.arange(5)))
    values = Cosine(encoder).compare_indexed_pairs(items, left, right)
    expected = Cosine(HashEncoder()).pairs([items[i] for i in left], [items[i] for i in right])
    assert values.dtype == np.float32
    assert np.array_equal(values, expected)
    assert encoder.calls == [(items, None)]


def test_vectors_are_the_encoders_own():
    """Not normalised, with the role passed on; zeros for an empty text, whatever the encoder has for it."""

    class Constant(HashEncoder):
        def encode(self, texts, *, role=None):
            super().encode(texts, role=role)
            return np.full((len(texts), self.dim), 3, dtype=np.float32)

    encoder = Constant()
    vectors = Cosine(encoder).vectors(["a", "", "b"], "query")
    assert vectors[:, 0].tolist() == [3, 0, 3]
    assert encoder.calls == [(["a", "", "b"], "query")]
    assert np.array_equal(Cosine(HashEncoder()).vectors(["a", "b"]), HashEncoder().encode(["a", "b"]))


def test_what_failed_is_not_a_number():
    """In `between` as in `pairs`, and in `vectors`; never 0, and not 1 with itself."""

    class Failing(HashEncoder):
        failures: ClassVar = {"b": "Refused."}

        def encode(self, texts, *, role=None):
            vectors = super().encode(texts, role=role)
            vectors[[text == "b" for text in texts]] = np.nan
            return vectors

    rows = np.array([0, 1, 1]), np.array([0, 1, 0])
    assert np.isnan(Cosine(Failing()).compare_indexed_pairs(["a", "b"], *rows)).tolist() == [False, True, True]
    assert np.isnan(Cosine(Failing()).vectors(["a", "b"])).all(axis=1).tolist() == [False, True]


def test_search_tells_queries_from_documents():
    """Search uses the roles, and ranks by cosine."""
    encoder = HashEncoder(by_role=True)
    corpus = [f"document {i}" for i in range(50)]
    found = Cosine(encoder).search(["q1", "q2"], corpus, 5)
    assert [role for _, role in encoder.calls] == ["query", "document"]
    queries, documents = encoder.encode(["q1", "q2"], role="query"), encoder.encode(corpus, role="document")
    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)  # noqa: E731
    scores = unit(queries) @ unit(documents).T
    assert np.array_equal(found.indices, np.argsort(-scores, axis=1)[:, :5])
    np.testing.assert_allclose(found.scores, -np.sort(-scores, axis=1)[:, :5], atol=2e-6)


def test_shards_are_searched_one_by_one_with_queries_encoded_once():
    """A shard's ranking is that of searching it alone; its texts are encoded when its turn comes."""
    encoder = HashEncoder()
    shards = [[f"s{shard} d{i}" for i in range(9)] for shard in range(3)]
    results = Cosine(encoder).search_shards(["q"], shards, 4)
    first = next(results)
    assert len(encoder.calls) == 2
    for shard, found in zip(shards, [first, *results], strict=True):
        alone = Cosine(HashEncoder()).search(["q"], shard, 4)
        assert np.array_equal(found.indices, alone.indices)
        assert np.array_equal(found.scores, alone.scores)
    assert sum(texts == ["q"] for texts, _ in encoder.calls) == 1


def test_unequal_sides_are_refused():
    """pairs() needs one candidate for each reference."""
    with pytest.raises(UsageError, match="found 2 and 1"):
        Cosine(HashEncoder()).pairs(["a", "b"], ["a"])


def test_a_real_encoder_ranks_meaning():
    """With wordllama a paraphrase is nearer than another topic."""
    cosine = Cosine(WordLlamaEncoder())
    close, far = cosine.pairs(["A man plays the guitar."] * 2, ["Someone is playing guitar.", "Taxes rise in May."])
    assert close > 0.5 > far
    assert (cosine.name, cosine.kind) == ("wordllama", "embedding")
    assert cosine.identity == f"cosine({WordLlamaEncoder.identity})"


class Refusing(HashEncoder):
    """Has no vector for texts with a `!`, nor for an empty one."""

    def encode(self, texts, *, role=None):
        vectors = super().encode(texts, role=role)
        vectors[[not text or "!" in text for text in texts]] = np.nan
        return vectors

    @property
    def failures(self):
        return {"bad!": "refused", "": "refused"}


def test_what_could_not_be_encoded_is_nan_everywhere():
    """A failed text is NaN with every text, itself too; the others are as they were; an empty text cannot fail."""
    cosine, plain = Cosine(Refusing()), Cosine(HashEncoder())
    a, b = ["a", "bad!", "bad!", ""], ["b", "b", "bad!", ""]
    values = cosine.pairs(a, b)
    assert np.isnan(values[1:3]).all()
    assert np.array_equal(values[[0, 3]], plain.pairs(a, b)[[0, 3]])
    texts = ["a", "bad!", "b", "bad!", "a"]
    distances, expected = cosine.distances(texts), plain.distances(texts)
    failed = np.array([1 in pair or 3 in pair for pair in zip(*np.triu_indices(5, 1), strict=True)])
    assert np.isnan(distances[failed]).all()
    assert np.array_equal(distances[~failed], expected[~failed])
    assert cosine.failures == {"bad!": "refused"}


def test_a_failed_document_is_never_found_and_a_failed_query_finds_nothing():
    """Searching leaves them out and keeps the places of the others."""
    cosine, plain = Cosine(Refusing()), Cosine(HashEncoder())
    found = cosine.search(["a", "bad!", "c"], ["bad!", "a", "b", "bad!", "c"], 4)
    assert (found.indices[1] == -1).all()
    assert (found.scores[1] == -np.inf).all()
    expected = plain.search(["a", "c"], ["a", "b", "c"], 4)
    assert np.array_equal(found.indices[[0, 2]], np.array([1, 2, 4, -1])[expected.indices])
    assert np.array_equal(found.scores[[0, 2]], expected.scores)
    nothing = cosine.search(["a"], ["bad!"], 2)
    assert nothing.indices.tolist() == [[-1, -1]]
