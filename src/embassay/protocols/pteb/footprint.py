"""What a cell of PTEB will hold in memory at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from embassay.contracts import Similarity
from embassay.protocols.footprint import (
    dimensions,
    distances,
    footprint,
    replicates,
    text_bytes,
    token_bytes,
    vectors,
)
from embassay.records import LabelledTexts, RetrievalSet
from embassay.runs.memory import Footprint

_KEPT = 2
"""Vectors of the texts as they are are remembered beside those of a run's paraphrases."""


def needed(system: Similarity, data: Any, worded: Sequence[str], resamples: int) -> Footprint:
    """The estimate for one system on one part of a dataset, of which `worded` are the texts that are reworded."""
    corpus: Sequence[str] = data.corpus.texts if isinstance(data, RetrievalSet) else ()
    n, dim = len(worded) + len(corpus), dimensions(system)
    parts = {
        "texts": 3 * text_bytes(worded) + text_bytes(corpus),
        "replicates": replicates(len(worded), 8, resamples),
    }
    if dim:
        parts["vectors"] = _KEPT * vectors(n, dim)
    else:
        parts["tokens"] = 2 * (token_bytes(worded) + token_bytes(corpus))
        if isinstance(data, LabelledTexts):
            largest = max(Counter(data.sets).values(), default=0)
            parts[f"the distances of {largest:,} texts"] = distances(largest)
    return footprint(parts, "Use fewer items (--limit).")
