"""Documents in a reranker's order."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from embassay.errors import ModelError, UsageError
from embassay.search import rerank


def scoring(*scores: float) -> SimpleNamespace:
    return SimpleNamespace(name="fixed", score=lambda query, texts: np.array(scores, dtype=np.float32))


def test_best_first_and_ties_as_found():
    """Equal scores keep their order."""
    found = rerank(scoring(1, 3, 1, 2), "q", ["a", "b", "c", "d"], ["", "", "", ""])
    assert found.ids == ("b", "d", "a", "c")
    assert found.scores == (3, 2, 1, 1)


def test_the_best_k():
    """k above the number of documents is all of them."""
    assert rerank(scoring(1, 2), "q", ["a", "b"], ["", ""], k=1).ids == ("b",)
    assert rerank(scoring(1, 2), "q", ["a", "b"], ["", ""], k=9).ids == ("b", "a")


def test_nothing_found():
    """No documents, no order."""
    assert rerank(scoring(), "q", [], []).ids == ()


@pytest.mark.parametrize("scores", [(1.0,), (1.0, float("nan")), (1.0, 2.0, 3.0)])
def test_scores_that_are_none(scores):
    """One finite number for each document, or an error with the reranker's name."""
    with pytest.raises(ModelError, match="'fixed' did not return one finite score for each of 2"):
        rerank(scoring(*scores), "q", ["a", "b"], ["", ""])


@pytest.mark.parametrize(("texts", "k"), [(["x"], None), (["x", "y"], 0)])
def test_calls_that_cannot_be(texts, k):
    """Said with what was given."""
    with pytest.raises(UsageError, match="Cannot rerank 2 ids"):
        rerank(scoring(1, 2), "q", ["a", "b"], texts, k)
