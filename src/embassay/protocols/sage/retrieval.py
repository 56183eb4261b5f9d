"""SAGE task 5: how much of nDCG@10 survives 18 perturbations of every document? (SAGE A.6)

`augmented` (the default headline [A19]): the corpus holds every document and its perturbed copies (18, unless fewer are
chosen), which are judged not relevant; the score is the share of the clean nDCG@10 that is kept. `replaced`: for each
perturbation the corpus holds its versions alone; their shares and the harmonic mean of these. Statistics of words are
those of the corpus that is searched: what is clean knows nothing of the copies.

A copy that an edit left as it was is no evidence: it is not among the copies, and is counted. An edit that changed no
document is none of those a number rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from inspect import signature
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import RankedCandidates, Similarity
from embassay.measures import ndcg_arrays
from embassay.protocols.kernel.estimates import Estimate, Items, Lost, Statistic, estimate, make_undefined_score
from embassay.protocols.kernel.groups import describe_bootstrap_units, find_item_groups
from embassay.protocols.sage.tasks import (
    RETRIEVAL_EDITS,
    SageContext,
    TextEdit,
    list_indices_of_unchanged_texts,
    make_edit_for_run_options,
    make_unchanged_skip,
    retrieval_edits,
)
from embassay.records import Documents, HeadlineComponent, RetrievalSet, Score, SkippedItems, TaskOutcome
from embassay.search import merge
from embassay.search.exact import SHARD, cut_corpus_into_shards, iterate_results_of_shards

HEADLINE = "retention"


def evaluate_system(system: Similarity, data: RetrievalSet, context: SageContext) -> TaskOutcome:
    """Evaluate a system on one retrieval dataset.

    A document that lost a version is left out of every corpus and of the judgements, a lost query, and one without
    a judged document left, of the means.
    """
    corpora, items = CorpusVersions(data.corpus, context), Items()
    if not corpora.edits:
        row = make_undefined_score(HEADLINE, len(data), "no edit changed any document")
        part = HeadlineComponent(None, len(data), reason=row.reason)
        return TaskOutcome((row,), {HEADLINE: part}, items.columns, corpora.list_unchanged_copies())
    over = _RetrievalEstimatesOverQueries(context, find_item_groups(data), corpora.edits)
    own_rows = _find_rows_of_same_id_documents(data) if context.options.exclude_self else None
    # Queries of which only their own document is relevant have nothing to find once it is left out.
    data, selfish = _drop_judgements_of_removed_documents(data, frozenset(), own=own_rows is not None)
    # One deeper than the cut, to see whether its border is a tie.
    ranked = _drop_documents_from_rankings(
        _search_corpus_versions(system, data, corpora, K + 1 + (own_rows is not None), context), (), own_rows
    )
    documents, queries = _find_texts_system_failed_to_encode(system, data, corpora)
    for lost in (documents, queries):
        if lost.too_many_lost_reason:
            return lost.make_task_outcome_without_score(HEADLINE, items)
    if not (documents or queries):
        without_copies = _drop_unchanged_copies_from_rankings(ranked, corpora)
        outcome = _score_rankings(without_copies, data, queries.lost_mask | selfish, items, over)
        scores = (*outcome.scores, *corpora.make_undefined_scores_of_idle_edits(len(data)))
        left_out = (*_describe_skipped_orphaned_queries(data, selfish), *corpora.list_unchanged_copies())
        return replace(outcome, scores=scores, skipped=left_out)
    clean = ndcg(list_gains_per_query(data), ranked.apart[0].indices[:, :K], list_ideal_gains(data), context)
    clean[queries.lost_mask | selfish] = np.nan
    whole = over.mean(clean)
    rest, orphans = _drop_judgements_of_removed_documents(data, {data.corpus.ids[row] for row in documents.rows})
    if documents:
        # The same texts again, so that all vectors are kept ones, and as many places more as documents drop out.
        depth = K + 1 + len(documents.rows) + (own_rows is not None)
        ranked = _drop_documents_from_rankings(
            _search_corpus_versions(system, data, corpora, depth, context), documents.rows, own_rows
        )
    without_copies = _drop_unchanged_copies_from_rankings(ranked, corpora)
    outcome = _score_rankings(without_copies, rest, queries.lost_mask | orphans | selfish, items, over)
    orphaned = _describe_skipped_orphaned_queries(data, orphans | selfish)
    left_out = (*documents.skipped, *queries.skipped, *orphaned, *corpora.list_unchanged_copies())
    whole_row = whole.score(f"ndcg@{K}", variant="original:all")
    scores = (*outcome.scores, *corpora.make_undefined_scores_of_idle_edits(len(data)), whole_row)
    return replace(outcome, scores=scores, skipped=left_out)


class _VersionRankings(NamedTuple):
    """The rankings in every version of the corpus, the clean one first: each searched by itself, and all as one."""

    apart: Sequence[RankedCandidates]
    together: Sequence[RankedCandidates]


def _search_corpus_versions(
    system: Similarity, data: RetrievalSet, corpora: CorpusVersions, k: int, context: SageContext
) -> _VersionRankings:
    """The best k of every version of the corpus, each merged as its shards come in."""
    own: Callable[..., Iterator[RankedCandidates]] | None = getattr(system, "search_corpora", None)
    search: Callable[..., Iterator[RankedCandidates]] = own or system.search_shards
    # A system of another package may not know of machines to spread over.
    spread = {"spread": context.spread} if "spread" in signature(search).parameters else {}
    shares = (corpora.shards_per_version,) if own else ()
    shards = iter(search(data.queries.texts, corpora, *shares, k, **spread))

    def search_each_version() -> list[RankedCandidates]:
        return [
            _merge_shard_rankings(islice(shards, corpora.shards_per_version), corpora.shard_offsets, k)
            for _ in range(corpora.versions)
        ]

    apart = search_each_version()
    return _VersionRankings(apart, search_each_version() if own else apart)


def _merge_shard_rankings(shards: Iterable[RankedCandidates], offsets: Sequence[int], k: int) -> RankedCandidates:
    """Merge shards' rankings to the best k of a corpus; two are held at once."""
    best: RankedCandidates | None = None
    for shard, offset in zip(shards, offsets, strict=True):
        best = shard if best is None else merge([best, shard], [0, offset], k)
    assert best is not None  # a corpus of nothing is a shard too
    return best


def _find_texts_system_failed_to_encode(
    system: Similarity, data: RetrievalSet, corpora: CorpusVersions
) -> tuple[Lost, Lost]:
    """Find documents of which the system lost a version, and queries that it lost."""
    documents = Lost(system, data.corpus.ids, "documents")
    queries = Lost(system, data.queries.ids, "queries")
    # Versions are made again only where there is something to look for.
    for place, texts in enumerate(corpora if getattr(system, "failures", None) else ()):
        documents.note_items_with_unencoded_text(texts, corpora.shard_offsets[place % corpora.shards_per_version])
    queries.note_items_with_unencoded_text(data.queries.texts)
    return documents, queries


def _find_rows_of_same_id_documents(data: RetrievalSet) -> NDArray[np.int64]:
    """Find the row of the document with the query's id, (queries,); -2 where there is none."""
    asked = set(data.queries.ids)
    row_of = {key: row for row, key in enumerate(data.corpus.ids) if key in asked}
    # -1 stands in rankings for a place without a document.
    return np.array([row_of.get(query, -2) for query in data.queries.ids], dtype=np.int64)


def _drop_judgements_of_removed_documents(
    data: RetrievalSet, gone: Set[str], *, own: bool = False
) -> tuple[RetrievalSet, NDArray[np.bool_]]:
    """The data without judgements of documents that are gone (`own`: and of a query's own), and the queries that have
    no relevant one left."""
    if not gone and not own:
        return data, np.zeros(len(data.queries.ids), dtype=bool)
    qrels = {
        query: {doc: gain for doc, gain in judged.items() if doc not in gone and not (own and doc == query)}
        for query, judged in data.qrels.items()
    }
    had, has = (
        [any(gain > 0 for gain in judged[query].values()) for query in data.queries.ids]
        for judged in (data.qrels, qrels)
    )
    return replace(data, qrels=qrels), np.array(had) & ~np.array(has)


def _describe_skipped_orphaned_queries(data: RetrievalSet, orphans: NDArray[np.bool_]) -> Iterator[SkippedItems]:
    if orphans.any():
        ids = tuple(data.queries.ids[i] for i in np.flatnonzero(orphans).tolist())
        yield SkippedItems("query whose relevant documents are all left out", len(ids), ids[:5])


def _drop_documents_from_rankings(
    found: _VersionRankings, documents: Sequence[int], own_rows: NDArray[np.int64] | None
) -> _VersionRankings:
    """The rankings without these documents and each query's own, K + 1 deep."""
    if own_rows is None and not len(documents):
        return found

    def drop_from_ranking(ranked: RankedCandidates) -> RankedCandidates:
        out = np.isin(ranked.indices, documents)
        if own_rows is not None:
            out |= ranked.indices == own_rows[:, None]
        kept = RankedCandidates(np.where(out, -1, ranked.indices), np.where(out, -np.inf, ranked.scores))
        return merge([kept], [0], K + 1)

    return _VersionRankings(*([drop_from_ranking(ranking) for ranking in ranked] for ranked in found))


def _drop_unchanged_copies_from_rankings(ranked: _VersionRankings, corpora: CorpusVersions) -> _VersionRankings:
    """The rankings without copies that an edit left as they were. No deeper search is needed: each of them has the
    score of its original, which stands in its place."""
    copies = [
        _drop_documents_from_rankings(_VersionRankings([ranking], [ranking]), rows.tolist(), None).together[0]
        for ranking, rows in zip(ranked.together[1:], corpora.unchanged(), strict=True)
    ]
    return _VersionRankings(ranked.apart, [ranked.together[0], *copies])


@dataclass(frozen=True)
class _RetrievalEstimatesOverQueries:
    """Estimates over the queries, drawn by `groups` of those that share a relevant document."""

    context: SageContext
    groups: NDArray[np.int64] | None
    edits: tuple[str, ...]

    @property
    def edit_names_note(self) -> str:
        """A note on which edits a number rests on, where they are not all."""
        if self.edits == RETRIEVAL_EDITS:
            return ""
        own = [edit for edit in self.edits if edit in RETRIEVAL_EDITS]
        further = "".join(f"{edit}, " for edit in self.edits if edit not in own)
        return f"{len(own)} of {len(RETRIEVAL_EDITS)} edits, {further}"

    def share(self, columns: NDArray[np.float64], statistic: Statistic, prefix: str = "") -> Estimate:
        """Estimate `statistic` of the means of columns (queries, m)."""
        method = prefix + describe_bootstrap_units("queries", RetrievalSet, self.groups)
        method += ", own document left out" if self.context.options.exclude_self else ""
        return estimate(columns, statistic, self.context, "queries", method, groups=self.groups)

    def mean(self, values: NDArray[np.float64], prefix: str = "") -> Estimate:
        """Estimate the mean of values (queries,)."""
        return self.share(values[:, None], lambda means: means[..., 0], prefix)


def _score_rankings(
    searched: _VersionRankings,
    data: RetrievalSet,
    lost: NDArray[np.bool_],
    items: Items,
    over: _RetrievalEstimatesOverQueries,
) -> TaskOutcome:
    """The outcome from the rankings of the clean corpus and its versions; `lost` queries do not count."""
    context, ranked = over.context, searched.apart
    gains = list_gains_per_query(data)
    ideal = list_ideal_gains(data)
    versions = np.stack([ndcg(gains, ranking.indices[:, :K], ideal, context) for ranking in ranked], axis=1)
    shard, index, score = merge_version_rankings(searched.together, K + 1, copies_first=context.options.ties == "worst")
    # A perturbed copy has no gain: it takes a place of the ranking, and that is all that is measured.
    augmented = ndcg(gains, np.where(shard == 0, index, -1)[:, :K], ideal, context)
    # Equal scores within the cut or at its border, where the order of the shards decides.
    tied = (np.isfinite(score[:, 1:]) & (score[:, 1:] == score[:, :-1])).any(axis=1).astype(np.float64)
    versions[lost] = augmented[lost] = tied[lost] = np.nan

    names = ("", *(f"replaced:{edit}" for edit in over.edits), "augmented")
    columns = np.column_stack([versions, augmented])
    for name, column in zip(names, columns.T, strict=True):
        items.add(data.queries.ids, column, f"ndcg@{K}", name or "original")
    relevant = make_ranking_columns(
        data, over.edits, gains, "original", np.zeros_like(ranked[0].indices), ranked[0].indices, ranked[0].scores
    )
    copies = make_ranking_columns(data, over.edits, gains, "augmented", shard, index, score)
    counts = {"queries": len(data), "documents": len(data.corpus), "texts": len(ranked) * len(data.corpus)}
    outcome = _make_retrieval_outcome(columns, tied, items, over, counts)
    return replace(outcome, rankings={name: relevant[name] + copies[name] for name in relevant})


def compute_ndcg_retention(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the clean nDCG kept, from the means of (perturbed, clean): (..., 2) -> (...); NaN if clean is 0."""
    kept, clean = means[..., 0], means[..., 1]
    return np.divide(kept, clean, out=np.full_like(clean, np.nan), where=clean > 0)


def compute_harmonic_retention(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Harmonic mean of the shares kept under each perturbation, from means of (perturbed ..., clean); 0 if one is 0."""
    clean = means[..., -1:]
    shares = np.divide(means[..., :-1], clean, out=np.full_like(means[..., :-1], np.nan), where=clean > 0)
    # 1 / 0 is infinite here and makes the mean 0.
    with np.errstate(divide="ignore"):
        return np.asarray(shares.shape[-1] / (1 / shares).sum(axis=-1))


def _make_retrieval_outcome(
    columns: NDArray[np.float64],
    tied: NDArray[np.float64],
    items: Items,
    over: _RetrievalEstimatesOverQueries,
    counts: dict[str, int],
) -> TaskOutcome:
    clean, augmented = columns[:, [0]], columns[:, [-1]]
    original = over.mean(columns[:, 0])
    rows = [
        original.score(f"ndcg@{K}", variant="original"),
        over.mean(columns[:, -1], over.edit_names_note).score(f"ndcg@{K}", variant="augmented"),
        over.mean(tied, over.edit_names_note).score("tie_share", variant="augmented"),
    ]
    if original.value == 0:
        reason = f"the clean nDCG@{K} is 0, so the share is undefined"
        headline = make_undefined_score(HEADLINE, len(columns), reason)
        return TaskOutcome(
            (headline, *rows),
            {HEADLINE: HeadlineComponent(None, len(columns), reason=reason)},
            items.columns,
            counts=counts,
        )
    kept = {"augmented": over.share(np.column_stack([augmented, clean]), compute_ndcg_retention, over.edit_names_note)}
    kept["replaced"] = over.share(
        np.column_stack([columns[:, 1:-1], clean]),
        compute_harmonic_retention,
        f"{over.edit_names_note}harmonic mean of {len(over.edits)} shares, ",
    )
    rows += [part.score(HEADLINE, variant=name) for name, part in kept.items()]
    for i, edit in enumerate(over.edits, start=1):
        one = over.share(np.column_stack([columns[:, i], clean]), compute_ndcg_retention)
        rows.append(one.score(HEADLINE, variant=f"replaced:{edit}"))
    whole = _clip_headline(kept[over.context.options.retrieval_headline])
    return TaskOutcome((whole.score(HEADLINE), *rows), {HEADLINE: whole.component()}, items.columns, counts=counts)


def _clip_headline(share: Estimate) -> Estimate:
    """Clip the headline to at most 1; the rows beside it are not clipped."""
    return replace(share, value=min(share.value, 1.0), replicates=np.minimum(share.replicates, 1.0))


@dataclass(frozen=True)
class EditedCorpusShard(Sequence[str]):
    """Some documents under one edit, or as they are. It holds its texts from the first look on, and pickles without
    them; `told` hears then which of them the edit left as they were."""

    ids: Sequence[str]
    originals: Sequence[str]
    edit: TextEdit | None
    langs: Sequence[str] | None = None
    told: Callable[[NDArray[np.int64]], None] | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: Any) -> Any:
        return self._edited_texts[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._edited_texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return EditedCorpusShard, (self.ids, self.originals, self.edit, self.langs)

    @cached_property
    def _edited_texts(self) -> Sequence[str]:
        if self.edit is None:
            return self.originals
        edited = self.edit(self.originals, self.ids, self.langs)
        if self.told is not None:
            self.told(list_indices_of_unchanged_texts(self.originals, edited))
        return edited


def _find_unchanged_rows(shard: EditedCorpusShard) -> NDArray[np.int64]:
    return list_indices_of_unchanged_texts(shard.originals, list(shard))


class CorpusVersions(Sequence[EditedCorpusShard]):
    """The shards of the clean corpus, then those of each perturbed version of it; `idle` are the edits that change no
    document, and make no version."""

    def __init__(self, corpus: Documents, context: SageContext) -> None:
        self._corpus, self._cuts, self._spread = corpus, cut_corpus_into_shards(len(corpus)), context.spread
        edits = {edit: make_edit_for_run_options(edit, context) for edit in retrieval_edits(context)}
        self.idle = tuple(name for name, edit in edits.items() if not _has_edit_effect(edit, corpus))
        self.edits = tuple(name for name in edits if name not in self.idle)
        self._made = (None, *(edits[name] for name in self.edits))
        self._advance = context.advance
        # Progress counts the versions that are not made as done.
        if self.idle:
            self._advance(len(self.idle) * len(corpus))
        self._left: dict[int, NDArray[np.int64]] = {}

    @property
    def versions(self) -> int:
        """The number of versions of the corpus, the clean one included."""
        return len(self._made)

    @property
    def shards_per_version(self) -> int:
        """The number of shards in each version of the corpus."""
        return len(self._cuts)

    @property
    def shard_offsets(self) -> list[int]:
        """The row of the first document of each shard of a version."""
        return [part.start for part in self._cuts]

    def __len__(self) -> int:
        return self.versions * self.shards_per_version

    def __iter__(self) -> Iterator[EditedCorpusShard]:
        """Each shard in turn; when the next is asked for, the one before is done."""
        for index in range(len(self)):
            yield self[index]
            self._advance(len(self[index]))

    def __getitem__(self, index: int) -> EditedCorpusShard:  # type: ignore[override]
        if not 0 <= index < len(self):
            raise IndexError(index)
        version, place = divmod(index, self.shards_per_version)
        part, corpus = self._cuts[place], self._corpus
        langs = None if corpus.langs is None else corpus.langs[part]
        told = partial(self._left.__setitem__, index)
        return EditedCorpusShard(corpus.ids[part], corpus.texts[part], self._made[version], langs, told)

    def unchanged(self) -> list[NDArray[np.int64]]:
        """For each of the edits the rows of the documents that it left as they were. They are noted where texts are
        made; a shard whose texts were made on another machine, or by nobody, is looked at there."""
        there = [index for index in range(self.shards_per_version, len(self)) if index not in self._left]
        masks = iterate_results_of_shards(_find_unchanged_rows, map(self.__getitem__, there), self._spread)
        self._left.update(zip(there, masks, strict=True))
        places = list(enumerate(self.shard_offsets))
        firsts = range(self.shards_per_version, len(self), self.shards_per_version)
        return [np.concatenate([self._left[at + place] + row for place, row in places]) for at in firsts]

    def list_unchanged_copies(self) -> tuple[SkippedItems, ...]:
        """List per edit the copies that it left unchanged, as skipped items."""
        ids, everything = self._corpus.ids, range(len(self._corpus))
        rows: dict[str, Sequence[int]] = dict.fromkeys(self.idle, everything)
        rows |= {name: same.tolist() for name, same in zip(self.edits, self.unchanged(), strict=True)}
        return tuple(make_unchanged_skip(name, same, ids, "copies") for name, same in rows.items() if same)

    def make_undefined_scores_of_idle_edits(self, n: int) -> tuple[Score, ...]:
        """Make a score row for each edit that changed nothing, over n queries."""
        reason = "the edit changed no document"
        return tuple(make_undefined_score(HEADLINE, n, reason, variant=f"replaced:{edit}") for edit in self.idle)


def _has_edit_effect(edit: TextEdit, corpus: Documents) -> bool:
    """Whether an edit changes a document: a few are looked at, then twice as many, until one is found."""
    start, size = 0, 8
    # Eight at first: only an edit that changes no document has to look at all of them.
    while start < len(corpus):
        part = slice(start, start + size)
        texts, langs = corpus.texts[part], None if corpus.langs is None else corpus.langs[part]
        if len(list_indices_of_unchanged_texts(texts, edit(texts, corpus.ids[part], langs))) < len(texts):
            return True
        start, size = start + size, min(2 * size, SHARD)
    return False


K = 10


def merge_version_rankings(
    ranked: Sequence[RankedCandidates], k: int, *, copies_first: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The best k over the clean corpus (first) and its versions: shard, index in it and score, each (queries, k).

    Equal scores: the original before the copies, then by shard and corpus order [A18]; `copies_first` is the bound.
    """
    order = [*range(1, len(ranked)), 0] if copies_first else list(range(len(ranked)))
    # Row and shard in one number, so that one merge ranks all versions.
    stride = 1 + max(int(ranking.indices.max()) for ranking in ranked)
    best = merge([ranked[shard] for shard in order], [shard * stride for shard in order], k)
    shard, index = np.divmod(best.indices, stride)
    return shard, np.where(best.indices < 0, -1, index), best.scores


def list_gains_per_query(data: RetrievalSet) -> list[dict[int, float]]:
    """For each query the gains above 0 by row of the corpus."""
    # Rows of relevant documents alone: a corpus of millions has few.
    judged = {doc for query in data.queries.ids for doc, gain in data.qrels[query].items() if gain > 0}
    position = {identifier: i for i, identifier in enumerate(data.corpus.ids) if identifier in judged}
    return [
        {position[doc]: gain for doc, gain in data.qrels[query].items() if gain > 0 and doc in position}
        for query in data.queries.ids
    ]


def list_ideal_gains(data: RetrievalSet) -> NDArray[np.float64]:
    """The best K gains that each query has, descending, (queries, K)."""
    ideal = np.zeros((len(data), K))
    for row, query in enumerate(data.queries.ids):
        best = sorted((gain for gain in data.qrels[query].values() if gain > 0), reverse=True)[:K]
        ideal[row, : len(best)] = best
    return ideal


def ndcg(
    gains: list[dict[int, float]], indices: NDArray[np.int64], ideal: NDArray[np.float64], context: SageContext
) -> NDArray[np.float64]:
    """nDCG@K of every query, (queries,), from the rows found for it (queries, K)."""
    gain = np.array([[row.get(i, 0.0) for i in hits] for row, hits in zip(gains, indices.tolist(), strict=True)])
    return ndcg_arrays(gain, ideal, K, gain=context.options.gain)


def make_ranking_columns(
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
            for name, values in zip(columns, entry, strict=True):
                columns[name].append(values)
    return columns
