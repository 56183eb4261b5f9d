"""Small encoders, contexts and data for the tests of the tasks."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from embassay.data import open_dataset
from embassay.protocols.tasks import TASKS
from embassay.protocols.tasks.task import PtebContext, PtebOptions
from embassay.systems.cosine import Cosine
from embassay.text import open_tokenizer

REASON = "Too long: 9,000 tokens."


class Bag:
    """Counts of hashed words: an encoder that word order means nothing to. Remembers its calls, and fails wherever
    one of the marks is in a text."""

    name = identity = "bag"
    dim, max_tokens = 64, None

    def __init__(self, *marks):
        self.marks, self.failures, self.calls = marks, {}, []

    def encode(self, texts, *, role=None):
        self.calls.append((list(texts), role))
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                vector[hashlib.sha256(word.encode()).digest()[0] % self.dim] += 1
            if any(mark in text for mark in self.marks):
                self.failures[text] = REASON
                vector[:] = np.nan
        return vectors

    def count_truncated(self, texts):
        return 0


@pytest.fixture
def bag():
    """A bag-of-words system; arguments are marks of texts that it cannot encode."""
    return lambda *marks: Cosine(Bag(*marks))


@pytest.fixture
def context():
    def make(dataset="made", **options):
        return PtebContext(dataset, open_tokenizer("words"), 1337, PtebOptions(**{"resamples": 200, **options}))

    return make


@pytest.fixture(scope="session")
def sample():
    """The English sample in the shape of a task."""
    dataset = open_dataset("sample").only("en")
    return lambda task: TASKS.build(task).load(dataset, None, 1337).data
