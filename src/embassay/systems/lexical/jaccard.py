"""Jaccard similarity of the sets of token ids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer
from embassay.systems.lexical.bags import token_sets
from embassay.systems.lexical.overlap import Counts, OverlapSimilarity


def jaccard_similarity(
    overlaps: Sequence[Counts], sizes_a: Sequence[Counts], sizes_b: Sequence[Counts]
) -> NDArray[np.float64]:
    """Intersection over union of sets, from the sizes of intersection and sets; 1 for two empty sets."""
    union = sizes_a[0] + sizes_b[0] - overlaps[0]
    return np.where(union == 0, 1.0, overlaps[0] / np.maximum(union, 1))


def jaccard(*, tokenizer: Tokenizer, name: str = "jaccard") -> OverlapSimilarity:
    """|A and B| / |A or B| of the sets of token ids; in [0, 1], higher is more similar.

    Two empty texts have 1, one empty text 0. Values equal as fractions are equal floats. Source: SAGE, A.7
    (Jaccard Similarity).
    """
    return OverlapSimilarity(
        name=name, measure="jaccard/1", tokenizer=tokenizer, bags=(token_sets,), similarity=jaccard_similarity
    )
