"""What a system retrieves for the texts of a probe, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.measures import ndcg_arrays
from embassay.measures.graded import ABSENT, GRADES, Graded
from embassay.measures.set_measures import n_recall_of, ra_nwg_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
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
