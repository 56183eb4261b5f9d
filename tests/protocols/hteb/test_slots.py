"""HTEB's own ways of evaluating: reranking with equal similarities."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.protocols.hteb.options import REFERENCE, HtebOptions
from embassay.protocols.hteb.slots import evaluate_reranking
from embassay.protocols.tasks.task import PtebContext
from embassay.records import RerankingSet
from embassay.systems.cosine import Cosine
from embassay.text import open_tokenizer


class Coarse:
    """An encoder with few directions, so that many similarities are equal, and lengths that change a dot product."""

    name = identity = "coarse"
    max_tokens = None
    dim = 2

    def __init__(self, similarity):
        self.similarity = similarity

    def encode(self, texts, *, role=None):
        angles = [0.4 * (len(text.split()) % 4) for text in texts]
        rows = np.array([[np.cos(angle), np.sin(angle)] for angle in angles]).reshape(len(texts), 2)
        return (rows * [[1 + len(text) % 2] for text in texts]).astype(np.float32)

    def count_truncated(self, texts):
        return 0


@pytest.mark.parametrize("by", ["cosine", "dot"])
@pytest.mark.parametrize("candidates", ["cosine", REFERENCE])
def test_average_precision_under_ties_is_scikit_learns(by, candidates):
    """The paper's own measure, by cosine and as in the reference; the irrelevant do not come first (spec hteb 7)."""
    from sklearn.metrics import average_precision_score

    rng = np.random.default_rng(2)
    texts = [" ".join(["ab", "abc"][n % 2 : n % 2 + 1] * (1 + n % 7)) for n in range(14)]
    shown = [tuple(rng.choice(texts, 9, replace=False)) for _ in range(6)]
    gains = [np.array([1.0, 0, 1, 0, 0, 0, 1, 0, 0]) for _ in range(6)]
    queries = [(f"q {'word ' * n}",) for n in range(6)]
    data = RerankingSet(tuple(f"q{n}" for n in range(6)), tuple(queries), tuple(shown), tuple(gains))
    encoder = Coarse(by)
    context = PtebContext("x", open_tokenizer("words"), 1, HtebOptions(resamples=10, candidates=candidates))
    found = evaluate_reranking(Cosine(encoder), data, context).scores[0].value
    values = []
    for (query,), documents, labels in zip(queries, shown, gains, strict=True):
        (asked,), rows = encoder.encode([query]), encoder.encode(documents)
        scores = rows @ asked
        if by == "cosine" or candidates == "cosine":
            scores = scores / np.linalg.norm(rows, axis=1) / np.linalg.norm(asked)
        values.append(average_precision_score(labels, np.round(scores, 5)))
    assert found == pytest.approx(np.mean(values))
