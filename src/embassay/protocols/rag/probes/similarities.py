"""Similarities of many pairs of texts: equal pairs get equal values, whatever stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role, Similarity
from embassay.systems.transforms import unit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_BLOCK = 4096


def similarities(
    system: Similarity,
    queries: Sequence[str],
    passages: Sequence[str],
    left: Ints,
    right: Ints,
    role: Role = "document",
) -> Floats:
    """The similarity of `queries[left]` and `passages[right]`, in the shape of `right`.

    `left` and `right` are places in the texts, each of which stands there once; `left` has the leading axes of `right`.
    Every pair is compared once and its value put wherever it stands, so that equal texts cannot get different values by
    their batch or place (spec rag 8, T18). An encoder is told that queries are queries and passages of this role; a
    lexical metric sees all pairs in one batch, query first, for what is normalised within a batch. NaN where a text
    could not be encoded.
    """
    whole = np.broadcast_to(left.reshape(left.shape + (1,) * (right.ndim - left.ndim)), right.shape)
    pairs, places = np.unique(whole.ravel() * len(passages) + right.ravel(), return_inverse=True)
    first, second = pairs // len(passages), pairs % len(passages)
    if hasattr(system, "vectors"):
        values = _cosines(_vectors(system, queries, "query"), _vectors(system, passages, role), first, second)
    else:
        values = system.pairs([queries[i] for i in first], [passages[i] for i in second]).astype(np.float64)
    return values[places].reshape(right.shape)


def _vectors(system: Any, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
    """Vectors of length 1; one that is zero stays so, and has the cosine 0 with all."""
    return unit(np.asarray(system.vectors(texts, role), dtype=np.float32))


def _cosines(
    queries: NDArray[np.float32], passages: NDArray[np.float32], first: Ints, second: Ints
) -> Floats:
    values = np.empty(len(first))
    for start in range(0, len(first), _BLOCK):
        part = slice(start, start + _BLOCK)
        values[part] = np.einsum(
            "nd,nd->n", queries[first[part]], passages[second[part]], dtype=np.float64, casting="same_kind"
        )
    return np.clip(values, -1, 1)
