"""Jaccard similarity of the sets of token ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semblance.contracts import Kind, Ranked, Tokenizer
from semblance.systems.lexical.bags import token_sets
from semblance.systems.lexical.overlap import Counts, OverlapMeasure


def jaccard_similarity(
    overlaps: Sequence[Counts], sizes_a: Sequence[Counts], sizes_b: Sequence[Counts]
) -> NDArray[np.float64]:
    """Intersection over union of sets, from the sizes of intersection and sets; 1 for two empty sets."""
    union = sizes_a[0] + sizes_b[0] - overlaps[0]
    return np.where(union == 0, 1.0, overlaps[0] / np.maximum(union, 1))


_MEASURE = OverlapMeasure((token_sets,), jaccard_similarity)


@dataclass(frozen=True, kw_only=True)
class Jaccard:
    """|A and B| / |A or B| of the sets of token ids; in [0, 1], higher is more similar.

    Two empty texts have 1, one empty text 0. Values equal as fractions are equal floats. Source: SAGE, A.7
    (Jaccard Similarity).
    """

    tokenizer: Tokenizer
    name: str = "jaccard"

    @property
    def identity(self) -> str:
        """The measure and the tokenizer."""
        return f"jaccard/1 tokenizer={self.tokenizer.identity}"

    @property
    def kind(self) -> Kind:
        """A classical metric."""
        return "classical"

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of `a[i]` and `b[i]`, shape (n,). Raises UsageError for unequal lengths."""
        return _MEASURE.pairs(self.tokenizer, a, b)

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - Jaccard of every two texts, condensed."""
        return _MEASURE.distances(self.tokenizer, texts)

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> Ranked:
        """The k most similar corpus texts of each query."""
        return next(self.search_shards(queries, [corpus], k))

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int
    ) -> Iterator[Ranked]:
        """`search` in each shard, in order."""
        return _MEASURE.search_shards(self.tokenizer, queries, shards, k)
