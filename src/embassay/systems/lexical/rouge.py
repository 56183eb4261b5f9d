"""ROUGE on token ids: the mean of ROUGE-1 and ROUGE-2 F."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer
from embassay.systems.lexical.bags import bigrams, unigrams
from embassay.systems.lexical.overlap import Counts, OverlapSimilarity


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


def rouge(*, tokenizer: Tokenizer, name: str = "rouge") -> OverlapSimilarity:
    """(ROUGE-1 F + ROUGE-2 F) / 2 over token ids; in [0, 1], higher is more similar.

    Counts are clipped; case counts, nothing is stemmed. Two empty texts have 1, one empty text 0; ROUGE-2 is
    0 where a text has fewer than two tokens, so that two equal texts of one token have 0.5. Values equal as
    fractions are equal floats. Source: SAGE, A.7 (ROUGE Score); the numbers are rouge-score's.
    """
    return OverlapSimilarity(
        name=name,
        measure="rouge12-f/1",
        tokenizer=tokenizer,
        bags=(unigrams, bigrams),
        similarity=rouge_similarity,
    )
