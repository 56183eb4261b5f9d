"""Equal pairs of texts get equal similarities, wherever they stand (spec rag 8, T18)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from embassay.protocols.rag.probes.resampling import compute_text_pair_similarities
from embassay.systems import open_system
from embassay.text import open_tokenizer


class Unsteady:
    """A metric whose values depend on the place in the batch, as those of a badly padded model do."""

    name = identity = "unsteady"

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        self.seen += zip(a, b, strict=True)
        return np.arange(len(a), dtype=np.float32)


class Told:
    """An encoder that says which role it was told."""

    name = identity = "told"
    dim, max_tokens = 2, None

    def __init__(self) -> None:
        self.roles: list[tuple[str | None, tuple[str, ...]]] = []

    def vectors(self, texts: Sequence[str], role: str | None = None) -> NDArray[np.float32]:
        self.roles.append((role, tuple(texts)))
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)


places = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


@given(places)
def test_equal_pairs_are_compared_once(pairs: list[tuple[int, int]]) -> None:
    system = Unsteady()
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    found = compute_text_pair_similarities(system, "abcd", "wxyz", left, right)  # type: ignore[arg-type]
    by_pair: dict[tuple[int, int], float] = {}
    for pair, value in zip(pairs, found.tolist(), strict=True):
        assert by_pair.setdefault(pair, value) == value
    assert sorted(system.seen) == sorted(("abcd"[a], "wxyz"[b]) for a, b in set(pairs))


def test_the_last_axis_holds_the_candidates_of_a_query() -> None:
    left, right = np.array([[0, 1]]), np.array([[[0, 1], [1, 0]]])
    found = compute_text_pair_similarities(
        open_system("jaccard", tokenizer=open_tokenizer("words")), ["a b", "c"], ["a b", "c d"], left, right
    )
    assert found.shape == (1, 2, 2)
    assert found[0].tolist() == [[1.0, 0.0], [0.5, 0.0]]


def test_encoders_are_told_roles_and_cosines_are_exact() -> None:
    system = Told()
    found = compute_text_pair_similarities(system, ["aa"], ["b", ""], np.array([0, 0]), np.array([0, 1]), "query")  # type: ignore[arg-type]
    assert [role for role, _ in system.roles] == ["query", "query"]
    assert found == pytest.approx([3 / np.sqrt(10), 1 / np.sqrt(5)], abs=1e-6)
