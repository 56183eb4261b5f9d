"""Models with many vectors for a text, made of its words alone: no weights, no library, the same on every machine."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from embassay.contracts import make_ragged_array
from embassay.randomness import make_seeded_generator

TERMS = 4096


class Tokens:
    """A direction of its own for each word, tilted where a query asks."""

    name, identity, kind, width, dim, floats = "tokens", "tokens/1", "tokens", 16, 16, 160
    similarity, max_tokens, chunk_size = "maxsim", None, 1

    def encode(self, texts, *, role=None):
        return make_ragged_array([self.rows(text, role) for text in texts])

    def rows(self, text, role):
        made = [self.one(word, role) for word in words(text)] or [np.ones(16)]
        return np.array([one / np.linalg.norm(one) for one in made], dtype=np.float32)

    @staticmethod
    @cache
    def one(word, role):
        own = make_seeded_generator(1, word).standard_normal(16)
        return own + 0.1 * make_seeded_generator(2, word).standard_normal(16) * (role == "query")

    def count_truncated(self, texts):
        return 0


class Terms(Tokens):
    """The square root of how often a word is there."""

    name, identity, kind, width, dim = "terms", "terms/1", "terms", 2, TERMS

    def rows(self, text, role):
        places = np.array([place(word) for word in words(text)] or [TERMS - 1])
        terms, counts = np.unique(places, return_counts=True)
        return np.column_stack([terms, np.sqrt(counts)]).astype(np.float32)


@cache
def place(word):
    return make_seeded_generator(3, word).integers(TERMS - 1)


def words(text):
    return re.findall(r"\w+", text.lower())


def install(monkeypatch):
    """`splade:any` and `colbert:any` are these."""
    monkeypatch.setattr("embassay.systems.encoders.colbert.ColbertEncoder", lambda target, name="": Tokens())
    monkeypatch.setattr("embassay.systems.encoders.splade.SpladeEncoder", lambda target, name="": Terms())
