"""ROUGE on token ids: the mean of ROUGE-1 and ROUGE-2 F."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semblance.contracts import Kind, Ranked, Tokenizer
from semblance.systems.lexical.bags import bigrams, unigrams
from semblance.systems.lexical.overlap import Counts, OverlapMeasure


def rouge_similarity(
    overlaps: Sequence[Counts], sizes_a: Sequence[Counts], sizes_b: Sequence[Counts]
) -> NDArray[np.float64]:
    """The mean of the two F scores, as one quotient of integers.

    Each argument holds unigrams, then bigrams. F is 2 overlap / (size + size), so the mean is o1/s1 + o2/s2.
    Without a bigram on either side ROUGE-2 is 0; without a token on either side the mean is 1.
    """
    one, two = (a + b for a, b in zip(sizes_a, sizes_b, strict=True))
    s1, s2 = np.maximum(one, 1), np.maximum(two, 1)
    # Below 2**53 for all texts of up to 30 million tokens, hence exact.
    mean = (overlaps[0] * s2 + overlaps[1] * s1) / (s1 * s2)
    return np.where(one == 0, 1.0, mean)


_MEASURE = OverlapMeasure((unigrams, bigrams), rouge_similarity)


@dataclass(frozen=True, kw_only=True)
class Rouge:
    """(ROUGE-1 F + ROUGE-2 F) / 2 over token ids; in [0, 1], higher is more similar.

    Counts are clipped; case counts, nothing is stemmed. Two empty texts have 1, one empty text 0; ROUGE-2 is
    0 where a text has fewer than two tokens, so that two equal texts of one token have 0.5. Values equal as
    fractions are equal floats. Source: SAGE, A.7 (ROUGE Score); the numbers are rouge-score's.
    """

    tokenizer: Tokenizer
    name: str = "rouge"

    @property
    def identity(self) -> str:
        """The measure and the tokenizer."""
        return f"rouge12-f/1 tokenizer={self.tokenizer.identity}"

    @property
    def kind(self) -> Kind:
        """A classical metric."""
        return "classical"

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of `a[i]` and `b[i]`, shape (n,). Raises UsageError for unequal lengths."""
        return _MEASURE.pairs(self.tokenizer, a, b)

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - ROUGE of every two texts, condensed."""
        return _MEASURE.distances(self.tokenizer, texts)

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> Ranked:
        """The k most similar corpus texts of each query."""
        return next(self.search_shards(queries, [corpus], k))

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int
    ) -> Iterator[Ranked]:
        """`search` in each shard, in order."""
        return _MEASURE.search_shards(self.tokenizer, queries, shards, k)
