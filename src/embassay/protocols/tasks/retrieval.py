"""PTEB task 6: nDCG@10 of a corpus searched with paraphrased queries (PTEB section 5).

Queries alone are paraphrased; the corpus is what it is, so its vectors are made once. Gains are linear, as in
trec_eval; documents of equal similarity come in the order of the corpus. In ArguAna every query is a document of the
corpus, and is left out of its own ranking [A8].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from embassay.contracts import RankedCandidates, Similarity
from embassay.measures import ndcg
from embassay.protocols.kernel.estimates import Items, Lost, estimate
from embassay.protocols.kernel.groups import describe_bootstrap_units
from embassay.protocols.tasks.task import (
    OriginalAndParaphrasedData,
    Place,
    PtebContext,
    Wording,
    apply_wording_to_texts,
    iterate_texts_with_item_places,
    list_rows_without_wording_as_skipped,
    make_skipped_items_of_reason,
    make_task_outcome,
    select_rows_of_each_field,
)
from embassay.records import RetrievalSet, TaskOutcome

HEADLINE = "ndcg@10"
K = 10
ORPHANS = "queries whose relevant documents are all left out"

Judgements = dict[str, dict[str, float]]
Found = dict[str, list[str]]


def evaluate_system(system: Similarity, data: RetrievalSet, context: PtebContext) -> TaskOutcome:
    """Score one system; items are the `ndcg@10` of each query.

    A document that could not be encoded is left out of the judgements too, and a query with it that has no other
    relevant one.
    """
    items, own = Items(), is_own_document_excluded(context)
    # One more than is scored, because the query's own document may be left out.
    ranked = system.search(data.queries.texts, data.corpus.texts, K + 1)
    documents, queries = (Lost(system, data.corpus.ids, "documents"), Lost(system, data.queries.ids, "queries"))
    documents.note_items_with_unencoded_text(data.corpus.texts)
    queries.note_items_with_unencoded_text(data.queries.texts)
    for lost in (documents, queries):
        if lost.too_many_lost_reason:
            return lost.make_task_outcome_without_score(HEADLINE, items)
    judged = _keep_findable_judgements(data, {data.corpus.ids[row] for row in documents.rows}, own)
    first = K if own and context.options.own_document == "after" else K + 1
    values = np.asarray(ndcg(judged, _list_first_documents(data, ranked, first, own), K))
    answerable = np.flatnonzero(~np.isnan(values) | queries.lost_mask).tolist()
    values[queries.lost_mask] = np.nan
    items.add(data.queries.ids, values, HEADLINE)
    skipped = (
        *documents.skipped,
        *queries.skipped,
        *make_skipped_items_of_reason(ORPHANS, data.queries.ids, answerable),
    )
    n = int((~np.isnan(values)).sum())
    counts = {"queries": n, "documents": len(data.corpus) - len(documents.rows)}
    if not n:
        return make_task_outcome(
            HEADLINE, "no query has a relevant document", items, n=0, skipped=skipped, counts=counts
        )
    groups = context.number_item_groups(data.queries.ids)
    method = describe_bootstrap_units("queries", RetrievalSet, groups)
    method += f", own document left out {context.options.own_document}" if own else ""
    mean = estimate(values[:, None], lambda means: means[..., 0], context, "queries", method, groups=groups)
    return make_task_outcome(HEADLINE, mean, items, n=n, skipped=skipped, counts=counts)


def is_own_document_excluded(context: PtebContext) -> bool:
    """Whether the document whose id is the query's is left out of its ranking."""
    return context.options.exclude_own or "arguana" in context.dataset.casefold()


def list_texts(data: RetrievalSet) -> Iterator[Place]:
    """List the texts of the queries, each with its place."""
    return iterate_texts_with_item_places("query", data.queries.ids, data.queries.texts)


def replace_texts(data: RetrievalSet, wording: Wording) -> OriginalAndParaphrasedData:
    """Replace the queries by paraphrases; one that has none drops out. The corpus is the same object."""
    wordings = apply_wording_to_texts(list_texts(data), wording)
    rows = [row for row, text in enumerate(wordings) if text is not None]
    queries = data.queries if len(rows) == len(data) else select_rows_of_each_field(data.queries, rows)
    paraphrased = replace(queries, texts=tuple(wordings[row] for row in rows))
    original = data if queries is data.queries else _replace_queries(data, queries)
    return OriginalAndParaphrasedData(
        original,
        _replace_queries(data, paraphrased),
        len(rows),
        len(data),
        list_rows_without_wording_as_skipped("queries", data.queries.ids, rows),
    )


def _replace_queries(data: RetrievalSet, queries: Any) -> RetrievalSet:
    return replace(data, queries=queries, qrels={query: data.qrels[query] for query in queries.ids})


def _keep_findable_judgements(data: RetrievalSet, gone: set[str], own: bool) -> Judgements:
    """The judgements of documents that can be found."""
    return {
        query: {doc: gain for doc, gain in data.qrels[query].items() if doc not in gone and not (own and doc == query)}
        for query in data.queries.ids
    }


def _list_first_documents(data: RetrievalSet, ranked: RankedCandidates, first: int, own: bool) -> Found:
    """The ids of the `first` documents of every query, best first, without its own if that is left out."""
    lists = {}
    for query, hits in zip(data.queries.ids, ranked.indices[:, :first].tolist(), strict=True):
        ids = [data.corpus.ids[hit] for hit in hits if hit >= 0]
        lists[query] = [doc for doc in ids if not (own and doc == query)]
    return lists
