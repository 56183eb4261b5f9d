"""Small systems and documents for the SAGE tests."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.contracts import RankedCandidates
from embassay.protocols.sage.options import SageOptions
from embassay.protocols.sage.tasks import SageContext
from embassay.search import top_k
from embassay.text import open_tokenizer


class Pairwise:
    """A similarity from a function of two texts; search and distances by brute force."""

    def __init__(self, function, name="pairwise", kind="classical"):
        self.function, self.name, self.identity, self.kind = function, name, name, kind

    def pairs(self, a, b):
        return np.array([self.function(x, y) for x, y in zip(a, b, strict=True)], dtype=np.float32)

    def distances(self, texts):
        n = len(texts)
        return np.array(
            [max(0.0, 1 - self.function(texts[i], texts[j])) for i in range(n) for j in range(i + 1, n)],
            dtype=np.float32,
        )

    def search(self, queries, corpus, k):
        return next(self.search_shards(queries, [corpus], k))

    def search_shards(self, queries, shards, k):
        for shard in shards:
            scores = np.array([[self.function(q, d) for d in shard] for q in queries], dtype=np.float64)
            yield top_k(scores, k)


@pytest.fixture
def pairwise():
    return Pairwise


@pytest.fixture
def context():
    def make(**options):
        options = {"resamples": 200, **options}
        return SageContext("made", open_tokenizer("words"), 1337, SageOptions(**options))

    return make


@pytest.fixture
def ranked():
    def make(indices, scores):
        return RankedCandidates(np.array(indices, dtype=np.int64), np.array(scores, dtype=np.float64))

    return make


def score_of(outcome, measure, variant="", subset=""):
    found = [s for s in outcome.scores if (s.measure, s.variant, s.subset) == (measure, variant, subset)]
    assert len(found) == 1, (measure, variant, [(s.measure, s.variant) for s in outcome.scores])
    return found[0]


@pytest.fixture
def score():
    return score_of
