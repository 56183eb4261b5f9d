"""SAGE task 5: how much of nDCG@10 survives 18 perturbations of every document? (SAGE A.6)

`augmented` (the default headline [A19]): the corpus holds every document and its 18 perturbed copies, which are judged
not relevant; the score is the share of the clean nDCG@10 that is kept. `replaced`: for each perturbation the corpus
holds its versions alone; 18 shares and their harmonic mean, from the same scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semblance.contracts import Ranked, Similarity
from semblance.measures import ndcg_arrays
from semblance.protocols.estimates import Estimate, Items, Statistic, estimate, undefined
from semblance.protocols.groups import groups_of, words
from semblance.protocols.lost import Lost
from semblance.protocols.sage.context import Context
from semblance.protocols.sage.edits import RETRIEVAL_EDITS, edited
from semblance.records import Component, RetrievalSet, Skipped, TaskOutcome
from semblance.search import merge

HEADLINE = "retention"
K = 10


class Corpora(Sequence[Sequence[str]]):
    """The clean corpus and its 18 perturbed versions, each made when asked for: one is in memory at a time."""

    def __init__(self, data: RetrievalSet, context: Context) -> None:
        self._data, self._context = data, context

    def __len__(self) -> int:
        return 1 + len(RETRIEVAL_EDITS)

    def __getitem__(self, index: int) -> Sequence[str]:  # type: ignore[override]
        if not 0 <= index < len(self):
            raise IndexError(index)
        if index == 0:
            return self._data.corpus.texts
        return edited(RETRIEVAL_EDITS[index - 1], self._data.corpus, self._context)


def evaluate(system: Similarity, data: RetrievalSet, context: Context) -> TaskOutcome:
    """Score one system on one retrieval dataset.

    A document that lost a version is left out of every corpus and of the judgements, a lost query, and one without
    a judged document left, of the means.
    """
    corpora, items, over = Corpora(data, context), Items(), _OverQueries(context, groups_of(data))
    # One deeper than the cut, to see whether its border is a tie.
    ranked = list(system.search_shards(data.queries.texts, corpora, K + 1))
    documents, queries = _lost(system, data, corpora)
    for lost in (documents, queries):
        if lost.too_many:
            return lost.without_score(HEADLINE, items)
    if not (documents or queries):
        return _scored(ranked, data, queries.mask, items, over)
    clean = _ndcg(_gain_matrix(data), ranked[0].indices[:, :K], _ideal_gains(data), context)
    clean[queries.mask] = np.nan
    whole = over.mean(clean)
    rest, orphans = _remaining(data, documents)
    if documents:
        # The same texts again, so that all vectors are kept ones, and as many places more as documents drop out.
        deeper = system.search_shards(data.queries.texts, corpora, K + 1 + len(documents.rows))
        ranked = [_without(one, documents.rows) for one in deeper]
    outcome = _scored(ranked, rest, queries.mask | orphans, items, over)
    left_out = [*documents.skipped, *queries.skipped]
    if orphans.any():
        ids = tuple(data.queries.ids[i] for i in np.flatnonzero(orphans))
        left_out.append(Skipped("query whose relevant documents are all left out", len(ids), ids[:5]))
    scores = (*outcome.scores, whole.score(f"ndcg@{K}", variant="original:all"))
    return replace(outcome, scores=scores, skipped=tuple(left_out))


def _lost(system: Similarity, data: RetrievalSet, corpora: Corpora) -> tuple[Lost, Lost]:
    """Documents of which the system lost a version, and queries that it lost."""
    documents = Lost(system, data.corpus.ids, "documents")
    queries = Lost(system, data.queries.ids, "queries")
    # Versions are made again only where there is something to look for.
    for texts in corpora if getattr(system, "failures", None) else ():
        documents.see_texts(texts)
    queries.see_texts(data.queries.texts)
    return documents, queries


def _remaining(data: RetrievalSet, lost: Lost) -> tuple[RetrievalSet, NDArray[np.bool_]]:
    """The data without judgements of lost documents, and the queries that have no relevant one left."""
    gone = {data.corpus.ids[row] for row in lost.rows}
    qrels = {
        query: {doc: gain for doc, gain in judged.items() if doc not in gone}
        for query, judged in data.qrels.items()
    }
    had, has = (
        [any(gain > 0 for gain in judged[query].values()) for query in data.queries.ids]
        for judged in (data.qrels, qrels)
    )
    return replace(data, qrels=qrels), np.array(had) & ~np.array(has)


def _without(ranked: Ranked, documents: Sequence[int]) -> Ranked:
    """The ranking without these documents, K + 1 deep."""
    out = np.isin(ranked.indices, documents)
    rest = Ranked(np.where(out, -1, ranked.indices), np.where(out, -np.inf, ranked.scores))
    return merge([rest], [0], K + 1)


@dataclass(frozen=True)
class _OverQueries:
    """Estimates over the queries, drawn by `groups` of those that share a relevant document."""

    context: Context
    groups: NDArray[np.int64] | None

    def share(self, columns: NDArray[np.float64], statistic: Statistic, prefix: str = "") -> Estimate:
        """`statistic` of the means of columns (queries, m)."""
        method = prefix + words("queries", RetrievalSet, self.groups)
        return estimate(columns, statistic, self.context, "queries", method, groups=self.groups)

    def mean(self, values: NDArray[np.float64]) -> Estimate:
        """The mean of values (queries,)."""
        return self.share(values[:, None], lambda means: means[..., 0])


def _scored(
    ranked: Sequence[Ranked], data: RetrievalSet, lost: NDArray[np.bool_], items: Items, over: _OverQueries
) -> TaskOutcome:
    """The outcome from the rankings of the clean corpus and its 18 versions; `lost` queries do not count."""
    context = over.context
    gains = _gain_matrix(data)
    ideal = _ideal_gains(data)
    versions = np.stack([_ndcg(gains, one.indices[:, :K], ideal, context) for one in ranked], axis=1)
    shard, index, score = merged(ranked, K + 1, copies_first=context.options.ties == "worst")
    augmented = _ndcg(gains, np.where(shard == 0, index, -1)[:, :K], ideal, context)
    tied = (np.isfinite(score[:, 1:]) & (score[:, 1:] == score[:, :-1])).any(axis=1).astype(np.float64)
    versions[lost] = augmented[lost] = tied[lost] = np.nan

    names = ("", *(f"replaced:{edit}" for edit in RETRIEVAL_EDITS), "augmented")
    columns = np.column_stack([versions, augmented])
    for name, column in zip(names, columns.T, strict=True):
        items.add(data.queries.ids, column, f"ndcg@{K}", name or "original")
    found = _rankings(
        data, gains, "original", np.zeros_like(ranked[0].indices), ranked[0].indices, ranked[0].scores
    )
    copies = _rankings(data, gains, "augmented", shard, index, score)
    counts = {"queries": len(data), "documents": len(data.corpus), "texts": 19 * len(data.corpus)}
    outcome = _outcome(columns, tied, items, over, counts)
    return replace(outcome, rankings={name: found[name] + copies[name] for name in found})


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


def retention(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the clean nDCG kept, from the means of (perturbed, clean): (..., 2) -> (...); NaN if clean is 0."""
    kept, clean = means[..., 0], means[..., 1]
    return np.divide(kept, clean, out=np.full_like(clean, np.nan), where=clean > 0)


def harmonic_retention(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Harmonic mean of the shares kept under each perturbation, from means of (18 perturbed, clean); 0 if one is 0."""
    clean = means[..., -1:]
    shares = np.divide(means[..., :-1], clean, out=np.full_like(means[..., :-1], np.nan), where=clean > 0)
    with np.errstate(divide="ignore"):
        return np.asarray(shares.shape[-1] / (1 / shares).sum(axis=-1))


def _outcome(
    columns: NDArray[np.float64],
    tied: NDArray[np.float64],
    items: Items,
    over: _OverQueries,
    counts: dict[str, int],
) -> TaskOutcome:
    clean, augmented = columns[:, [0]], columns[:, [-1]]
    original = over.mean(columns[:, 0])
    rows = [
        original.score(f"ndcg@{K}", variant="original"),
        over.mean(columns[:, -1]).score(f"ndcg@{K}", variant="augmented"),
        over.mean(tied).score("tie_share", variant="augmented"),
    ]
    if original.value == 0:
        reason = f"the clean nDCG@{K} is 0, so no share of it is defined"
        headline = undefined(HEADLINE, len(columns), reason)
        return TaskOutcome(
            (headline, *rows),
            {HEADLINE: Component(None, len(columns), reason=reason)},
            items.columns,
            counts=counts,
        )
    kept = {"augmented": over.share(np.column_stack([augmented, clean]), retention)}
    kept["replaced"] = over.share(
        np.column_stack([columns[:, 1:-1], clean]), harmonic_retention, "harmonic mean of 18 shares, "
    )
    rows += [part.score(HEADLINE, variant=name) for name, part in kept.items()]
    for i, edit in enumerate(RETRIEVAL_EDITS, start=1):
        one = over.share(np.column_stack([columns[:, i], clean]), retention)
        rows.append(one.score(HEADLINE, variant=f"replaced:{edit}"))
    whole = _clipped(kept[over.context.options.retrieval_headline])
    return TaskOutcome(
        (whole.score(HEADLINE), *rows), {HEADLINE: whole.component()}, items.columns, counts=counts
    )


def _clipped(share: Estimate) -> Estimate:
    """The headline is clipped to 1; the rows beside it are not."""
    return replace(share, value=min(share.value, 1.0), replicates=np.minimum(share.replicates, 1.0))


def _gain_matrix(data: RetrievalSet) -> list[dict[int, float]]:
    position = {identifier: i for i, identifier in enumerate(data.corpus.ids)}
    return [
        {position[doc]: gain for doc, gain in data.qrels[query].items() if gain > 0 and doc in position}
        for query in data.queries.ids
    ]


def _ideal_gains(data: RetrievalSet) -> NDArray[np.float64]:
    ideal = np.zeros((len(data), K))
    for row, query in enumerate(data.queries.ids):
        best = sorted((gain for gain in data.qrels[query].values() if gain > 0), reverse=True)[:K]
        ideal[row, : len(best)] = best
    return ideal


def _ndcg(
    gains: list[dict[int, float]], indices: NDArray[np.int64], ideal: NDArray[np.float64], context: Context
) -> NDArray[np.float64]:
    found = np.array(
        [[row.get(i, 0.0) for i in hits] for row, hits in zip(gains, indices.tolist(), strict=True)]
    )
    return ndcg_arrays(found, ideal, K, gain=context.options.gain)


def _rankings(
    data: RetrievalSet,
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
            edit = RETRIEVAL_EDITS[source - 1] if source else ""
            gain = 0.0 if source else gains[row].get(document, 0.0)
            entry = (query, version, rank, data.corpus.ids[document], edit, value, gain)
            for name, field in zip(columns, entry, strict=True):
                columns[name].append(field)
    return columns
