"""Similarities of many pairs of texts, what a system retrieves for them, and what it has no vector for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role, Similarity
from embassay.measures import ndcg_arrays
from embassay.measures.grades import ABSENT, GRADES, Graded
from embassay.measures.sets import n_recall_of, ra_nwg_of
from embassay.protocols.kernel.estimates import Lost
from embassay.systems.cosine import unit

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


CUTOFF = 10
RECALL = f"N-Recall4+@{CUTOFF}"
GAIN = f"RA-nWG@{CUTOFF}"
NDCG = f"nDCG@{CUTOFF}"
MEASURES = (RECALL, GAIN, NDCG)


def firsts(system: Similarity, queries: Sequence[str], corpus: Sequence[str]) -> Ints:
    """The places in the corpus of the first `CUTOFF` passages for each query, (q, 10), -1 where there are fewer; each
    distinct query is searched for once."""
    distinct = list(dict.fromkeys(queries))
    ranked = system.search(distinct, corpus, CUTOFF)
    row = {text: place for place, text in enumerate(distinct)}
    return np.asarray(ranked.indices[[row[text] for text in queries]])


def values(counts: Ints, top: NDArray[np.int8]) -> Mapping[str, Floats]:
    """Each measure of `MEASURES` for every query, (q,), NaN where it is undefined: from the grades of its pool (q, 5)
    and of what was retrieved (q, 10)."""
    graded = Graded(counts, top)
    return {
        RECALL: n_recall_of(graded, cutoff=CUTOFF, rel=4),
        GAIN: ra_nwg_of(graded, cutoff=CUTOFF),
        NDCG: ndcg_arrays(np.maximum(top - 1.0, 0), _best_gains(counts), CUTOFF),
    }


def graded_top(grades: NDArray[np.int8], indices: Ints) -> NDArray[np.int8]:
    """The grade at each rank, from the grades of all passages for each query (q, n) and places (q, k)."""
    found = np.take_along_axis(grades, np.maximum(indices, 0), axis=1)
    return np.asarray(np.where(indices < 0, np.int8(ABSENT), found))


def counts_of(grades: NDArray[np.int8]) -> Ints:
    """How many passages have grade 1, 2, 3, 4, 5 for each query: (q, n) -> (q, 5)."""
    return np.stack([np.count_nonzero(grades == grade, axis=1) for grade in GRADES], axis=1)


def _best_gains(counts: Ints) -> Floats:
    """Grade less 1 at each rank of the best ranking of a pool, (q, 10), 0 beyond it."""
    ends = np.cumsum(counts[:, ::-1], axis=1)
    passed = (np.arange(CUTOFF)[None, :, None] >= ends[:, None, :]).sum(axis=2)
    return np.asarray(np.maximum(4.0 - passed, 0))


def lost_queries(system: Similarity, ids: Sequence[str], texts: Callable[[int], Iterable[str]]) -> Lost:
    """The lost ones among the queries; `texts` are all those of a query, by its place."""
    lost = Lost(system, ids, "queries")
    failures = getattr(system, "failures", {})
    if failures:
        lost.see_texts([next((one for one in texts(q) if one in failures), "") for q in range(len(ids))])
    return lost
