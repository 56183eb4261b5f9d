"""SAGE task 2: superficial noise > summary > meaning-changing edit? (SAGE section 2.2 and A.3, table 4)

Three relations per document, each a strict comparison of similarities to the original; the score is the mean of the
three shares [A13]. An edit that leaves a text as it was is no evidence of anything: it does not count for that
document, and is counted. The score saturates at 1/3 for systems that only see that noise keeps more of the text than a
summary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.protocols.kernel.estimates import Items, Lost, estimate
from embassay.protocols.sage.options import parse_edit_names
from embassay.protocols.sage.tasks import (
    EDITS,
    SageContext,
    edit_documents,
    list_indices_of_unchanged_texts,
    make_unchanged_skip,
)
from embassay.records import Documents, Score, SkippedItems, TaskOutcome
from embassay.text import FURTHER_SUPERFICIAL, SEMANTIC, SUPERFICIAL

HEADLINE = "robustness"
RELATIONS = ("summary_over_semantic", "superficial_over_summary", "superficial_over_semantic")
JOINT = "all_three"
ABOVE = (*SUPERFICIAL, *FURTHER_SUPERFICIAL)
"""Edits that leave the meaning as it was, and so belong above the summary."""


def evaluate_system(system: Similarity, data: Documents, context: SageContext) -> TaskOutcome:
    """Score one system on one dataset's documents and their summaries; a document that lost a version is left out."""
    if data.summaries is None:
        raise ValueError("robustness needs summaries")
    variants = {"original": tuple(data.texts), "summary": tuple(data.summaries)}
    further = parse_edit_names(context.options.further_edits)
    variants |= {name: tuple(edit_documents(name, data, context)) for name in (*EDITS, *further)}
    # A call per version: for a batch-normalised metric one dataset and one version are one batch [A3]. Float noise (a
    # cosine of 1.0000001) must not decide a strict comparison.
    similarity = {name: system.pairs(data.texts, texts).astype(np.float64).round(6) for name, texts in variants.items()}
    items, lost = Items(), Lost(system, data.ids, "documents")
    for name, texts in variants.items():
        lost.note_items_with_undefined_similarity(similarity[name], data.texts, texts)
    if lost.too_many_lost_reason:
        return lost.make_task_outcome_without_score(HEADLINE, items)

    left = {name: list_indices_of_unchanged_texts(data.texts, variants[name]) for name in (*EDITS, *further)}
    for name, rows in left.items():
        similarity[name][rows] = np.nan
    names, columns = _make_robustness_names_and_values(
        similarity, further, extremes=context.options.robustness_edits == "all"
    )
    columns[lost.rows] = np.nan
    columns[_find_unedited_documents(left, len(data)), : 2 + len(RELATIONS)] = np.nan
    for place, name in enumerate((*EDITS, *further), start=2 + len(RELATIONS)):
        columns[left[name], place] = np.nan
    for (measure, variant), column in zip(names, columns.T, strict=True):
        items.add(data.ids, column, measure, variant)
    not_shares = (HEADLINE, "similarity")
    estimates = [
        estimate(columns[:, [i]], lambda means: means[..., 0], context, "documents", share=name not in not_shares)
        for i, (name, _) in enumerate(names)
    ]
    scores: list[Score] = [
        part.score(measure, variant=variant) for part, (measure, variant) in zip(estimates, names, strict=True)
    ]
    return TaskOutcome(
        tuple(scores),
        {HEADLINE: estimates[0].component()},
        items.columns,
        (*lost.skipped, *_iterate_skips_of_unchanged_texts(left, data.ids)),
        counts={"documents": estimates[0].n, "pairs": len(variants) * len(data)},
    )


def _make_robustness_names_and_values(
    similarity: dict[str, NDArray[np.float64]], further: Sequence[str], *, extremes: bool
) -> tuple[list[tuple[str, str]], NDArray[np.float64]]:
    """Measure and variant of every column, and the columns, (n, m): the score and the relations, each edit's side of
    the summary, the similarities."""
    holds = compare_superficial_and_semantic_edits(similarity, extremes=extremes)
    names = [(HEADLINE, ""), *(("share", name) for name in (*RELATIONS, JOINT))]
    names += [(_choose_summary_side_measure(name), name) for name in (*EDITS, *further)]
    names += [("similarity", name) for name in similarity]
    joint, sides = holds.all(axis=1), _compare_edits_with_summary(similarity, further)
    columns = np.column_stack([holds.mean(axis=1), holds, joint, *sides, *similarity.values()])
    return names, columns.astype(np.float64)


def _iterate_skips_of_unchanged_texts(
    left: Mapping[str, NDArray[np.int64]], ids: Sequence[str]
) -> Iterator[SkippedItems]:
    return (make_unchanged_skip(name, rows.tolist(), ids) for name, rows in left.items() if len(rows))


def _find_unedited_documents(left: Mapping[str, NDArray[np.int64]], n: int) -> NDArray[np.bool_]:
    """The documents that no edit of one of the two kinds changed, (n,): they have no relation to judge."""
    none = np.zeros(n, dtype=bool)
    for kind in (SUPERFICIAL, SEMANTIC):
        # A document that no edit of a kind changed occurs as often as the kind has edits.
        none |= np.bincount(np.concatenate([left[name] for name in kind]), minlength=n) == len(kind)
    return none


def compare_superficial_and_semantic_edits(
    similarity: dict[str, NDArray[np.float64]], *, extremes: bool = True
) -> NDArray[np.bool_]:
    """The three relations per document, (n, 3), all strict: an unchanged text equals the original and beats nothing.

    With `extremes` the least similar superficial and the most similar semantic edit count [A14], else the averages;
    NaN is an edit that does not count.
    """
    superficial = np.stack([similarity[name] for name in SUPERFICIAL])
    semantic = np.stack([similarity[name] for name in SEMANTIC])
    summary = similarity["summary"]
    low = np.fmin.reduce(superficial, axis=0) if extremes else _average_similarity_over_edits(superficial)
    high = np.fmax.reduce(semantic, axis=0) if extremes else _average_similarity_over_edits(semantic)
    return np.stack([summary > high, low > summary, low > high], axis=1)


def _average_similarity_over_edits(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over the edits that count, (edits, n) -> (n,); NaN where none does."""
    counted = ~np.isnan(similarity)
    n = counted.sum(axis=0)
    total = np.where(counted, similarity, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0))


def _compare_edits_with_summary(
    similarity: dict[str, NDArray[np.float64]], further: Sequence[str]
) -> list[NDArray[np.bool_]]:
    """Whether each edit alone stands on its side of the summary: noise above it, changed meaning below it."""
    summary = similarity["summary"]
    return [similarity[name] > summary if name in ABOVE else summary > similarity[name] for name in (*EDITS, *further)]


def _choose_summary_side_measure(name: str) -> str:
    return "above_summary" if name in ABOVE else "below_summary"
