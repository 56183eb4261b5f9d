"""What the rankings of task 5 are worth: gains, nDCG, and the best over a corpus and its copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked
from embassay.measures import ndcg_arrays
from embassay.protocols.sage.context import Context
from embassay.records import RetrievalSet
from embassay.search import merge

K = 10


def merged(
    ranked: Sequence[Ranked], k: int, *, copies_first: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The best k over the clean corpus (first) and its versions: shard, index in it and score, each (queries, k).

    Equal scores: the original before the copies, then by shard and corpus order [A18]; `copies_first` is the bound.
    """
    order = [*range(1, len(ranked)), 0] if copies_first else list(range(len(ranked)))
    stride = 1 + max(int(one.indices.max()) for one in ranked)
    best = merge([ranked[shard] for shard in order], [shard * stride for shard in order], k)
    shard, index = np.divmod(best.indices, stride)
    return shard, np.where(best.indices < 0, -1, index), best.scores


def gains_of(data: RetrievalSet) -> list[dict[int, float]]:
    """For each query the gains above 0 by row of the corpus."""
    judged = {doc for query in data.queries.ids for doc, gain in data.qrels[query].items() if gain > 0}
    position = {identifier: i for i, identifier in enumerate(data.corpus.ids) if identifier in judged}
    return [
        {position[doc]: gain for doc, gain in data.qrels[query].items() if gain > 0 and doc in position}
        for query in data.queries.ids
    ]


def ideal_gains(data: RetrievalSet) -> NDArray[np.float64]:
    """The best K gains that each query has, descending, (queries, K)."""
    ideal = np.zeros((len(data), K))
    for row, query in enumerate(data.queries.ids):
        best = sorted((gain for gain in data.qrels[query].values() if gain > 0), reverse=True)[:K]
        ideal[row, : len(best)] = best
    return ideal


def ndcg(
    gains: list[dict[int, float]], indices: NDArray[np.int64], ideal: NDArray[np.float64], context: Context
) -> NDArray[np.float64]:
    """nDCG@K of every query, (queries,), from the rows found for it (queries, K)."""
    found = np.array(
        [[row.get(i, 0.0) for i in hits] for row, hits in zip(gains, indices.tolist(), strict=True)]
    )
    return ndcg_arrays(found, ideal, K, gain=context.options.gain)


def rankings(
    data: RetrievalSet,
    edits: Sequence[str],
    gains: list[dict[int, float]],
    version: str,
    shard: NDArray[np.int64],
    index: NDArray[np.int64],
    score: NDArray[np.float64],
) -> dict[str, list[Any]]:
    """The top K of every query as columns: an edit's name marks a perturbed copy, whose gain is 0."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("query_id", "version", "rank", "doc_id", "edit", "score", "gain")
    }
    for row, query in enumerate(data.queries.ids):
        hits = zip(shard[row, :K].tolist(), index[row, :K].tolist(), score[row, :K].tolist(), strict=True)
        for rank, (source, document, value) in enumerate(hits, start=1):
            if document < 0:
                break
            edit = edits[source - 1] if source else ""
            gain = 0.0 if source else gains[row].get(document, 0.0)
            entry = (query, version, rank, data.corpus.ids[document], edit, value, gain)
            for name, field in zip(columns, entry, strict=True):
                columns[name].append(field)
    return columns
