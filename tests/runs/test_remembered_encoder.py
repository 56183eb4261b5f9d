"""Vectors of a part of what was asked before cost nothing."""

from __future__ import annotations

import numpy as np

from embassay.runs.embeddings import CachedEncoder, EmbeddingCache, RememberedEncoder
from embassay.systems.cosine import Cosine


class Lengths:
    """A text's length and first letter; refuses nothing, remembers its calls."""

    name, identity, dim, max_tokens = "lengths", "lengths/1", 2, 9

    def __init__(self):
        self.calls, self.failures = [], {"bad": "Refused."}

    def encode(self, texts, *, role=None):
        self.calls.append((list(texts), role))
        return np.array(
            [[np.nan] * 2 if text == "bad" else [len(text), ord(text[0])] for text in texts], dtype=np.float32
        ).reshape(len(texts), 2)

    def count_truncated(self, texts):
        return sum(len(text) > 9 for text in texts)


def test_a_part_of_what_is_remembered_asks_nothing():
    """In any order and repeated; a text more, another role, or what was forgotten is asked for."""
    inner = Lengths()
    encoder = RememberedEncoder(inner)
    encoder.encode_and_remember_calls([(["aa", "b", "ccc"], None), (["q"], "query")])
    asked = list(inner.calls)
    assert asked == [(["aa", "b", "ccc"], None), (["q"], "query")]
    assert encoder.encode(["ccc", "aa", "ccc"]).tolist() == Lengths().encode(["ccc", "aa", "ccc"]).tolist()
    assert encoder.encode(["q"], role="query").shape == (1, 2)
    assert encoder.has_remembered_texts(["b"], None)
    assert inner.calls == asked
    encoder.encode(["b"], role="query")
    encoder.encode(["b", "dd"])
    encoder.forget()
    encoder.encode(["b"])
    encoder.encode([])
    assert inner.calls[2:] == [(["b"], "query"), (["b", "dd"], None), (["b"], None), ([], None)]


def test_it_stands_between_a_cosine_and_a_cache(tmp_path):
    """Fewer texts are other chunks to the cache, and would be made anew; failures stay known, and NaN."""
    inner = Lengths()
    encoder = RememberedEncoder(CachedEncoder(inner, EmbeddingCache.open(tmp_path / "vectors.db")))
    system = Cosine(encoder)
    assert (encoder.name, encoder.identity, encoder.dim, encoder.max_tokens) == ("lengths", "lengths/1", 2, 9)
    assert encoder.count_truncated(["a" * 10, "b"]) == 1
    texts = ["aa", "b", "ccc"]
    system.vectors(texts)
    encoder.encode_and_remember_calls([(texts, None)])
    assert len(inner.calls) == 1
    assert np.array_equal(system.vectors(texts[1:]), inner.encode(texts)[1:])
    assert len(inner.calls) == 2
    plain = Cosine(RememberedEncoder(Lengths()))
    plain.encoder.encode_and_remember_calls([(["aa", "bad"], None)])
    assert np.isnan(plain.vectors(["bad"])).all()
    assert plain.failures == {"bad": "Refused."}
