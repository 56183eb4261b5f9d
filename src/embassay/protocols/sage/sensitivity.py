"""SAGE task 3: does similarity fall on the expected curve as text is added or removed? (SAGE A.4, tables 5 and 6)

The score is 1 - mean |similarity - expected|. It is not 0 for an insensitive metric: one that always answers 1
scores 0.683. So the mean similarity per size, the share of documents whose similarity falls at every step, and the
score after the best monotone rescaling stand beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.protocols.kernel.estimates import Estimate, Items, Lost, average_estimates, estimate
from embassay.protocols.sage.tasks import (
    INSERTED,
    INSERTIONS,
    POSITIONS,
    REMOVALS,
    REMOVED,
    SageContext,
    edit_documents,
    shorten_documents,
)
from embassay.randomness import make_seeded_generator
from embassay.records import Documents, Score, SkippedItems, TaskOutcome

HEADLINE = "sensitivity"
METHOD = "bootstrap over documents"


class _InsertionOrRemovalVariants(NamedTuple):
    name: str
    variants: tuple[str, ...]
    sizes: tuple[float, ...]


KINDS = (
    _InsertionOrRemovalVariants("insertion", INSERTIONS, INSERTED),
    _InsertionOrRemovalVariants("removal", REMOVALS, REMOVED),
)


def compute_expected_similarity(size: NDArray[np.float64] | float, curve: str = "hyperbolic") -> NDArray[np.float64]:
    """Expected similarity when a share `size` of the tokens is inserted or removed: 1/(1+p), or 1-p [A15]."""
    p = np.asarray(size, dtype=np.float64)
    return 1 - p if curve == "linear" else 1 / (1 + p)


def evaluate_system(system: Similarity, data: Documents, context: SageContext) -> TaskOutcome:
    """Score one system on one dataset's documents.

    Those of under two tokens, and those that lost a version, are skipped and counted.
    """
    documents, skipped = _drop_too_short_documents(shorten_documents(data, context), context)
    items, scores, wholes = Items(), [], []
    lost = Lost(system, documents.ids, "documents")
    similar = {kind: _measure_similarity_to_edited_versions(system, kind, documents, lost, context) for kind in KINDS}
    for kind, similarity in similar.items():
        for variant, column in zip(kind.variants, similarity.T, strict=True):
            items.add(documents.ids, column, "similarity", variant)
    if lost.too_many_lost_reason:
        return lost.make_task_outcome_without_score(HEADLINE, items, skipped)
    for kind, similarity in similar.items():
        similarity[lost.rows] = np.nan
        whole, rows = _score_edit_kind(kind, similarity, context)
        wholes.append(whole)
        scores += rows
    both = average_estimates(wholes, METHOD)
    return TaskOutcome(
        (both.score(HEADLINE), *scores),
        {kind.name: whole.component() for kind, whole in zip(KINDS, wholes, strict=True)},
        items.columns,
        skipped=(*skipped, *lost.skipped),
        counts={"documents": both.n, "pairs": 18 * len(documents)},
    )


def _measure_similarity_to_edited_versions(
    system: Similarity, kind: _InsertionOrRemovalVariants, documents: Documents, lost: Lost, context: SageContext
) -> NDArray[np.float64]:
    """Similarity of every document and its versions of one kind: (documents, variants)."""
    columns = []
    for variant in kind.variants:
        texts = edit_documents(variant, documents, context)
        # A call per variant: for a batch-normalised metric one dataset and one setting are one batch [A3].
        columns.append(system.pairs(documents.texts, texts).astype(np.float64))
        lost.note_items_with_undefined_similarity(columns[-1], documents.texts, texts)
    return np.stack(columns, axis=1)


FALLS = 1
"""Which of its columns is a share of the documents."""


def _score_edit_kind(
    kind: _InsertionOrRemovalVariants, similarity: NDArray[np.float64], context: SageContext
) -> tuple[Estimate, list[Score]]:
    """The score of one kind and its rows, from similarities (documents, variants)."""
    target = np.repeat(compute_expected_similarity(np.array(kind.sizes), context.options.curve), POSITIONS)
    closeness = 1 - np.abs(similarity - target)
    by_size = similarity.reshape(len(similarity), len(kind.sizes), POSITIONS).mean(axis=2)
    # Rounded: what float32 cannot tell apart is no fall.
    falls = (np.diff(np.round(by_size, 6), axis=1) < 0).all(axis=1)
    columns = np.column_stack([closeness.mean(axis=1), falls, closeness, similarity, by_size])
    columns[np.isnan(similarity).any(axis=1)] = np.nan
    names = [(HEADLINE, kind.name), ("falls_at_every_step", kind.name)]
    names += [(HEADLINE, variant) for variant in kind.variants]
    names += [("similarity", variant) for variant in kind.variants]
    names += [("similarity", f"{kind.name}:p={size:g}") for size in kind.sizes]
    estimates = [
        estimate(columns[:, [i]], lambda means: means[..., 0], context, "documents", METHOD, share=i == FALLS)
        for i in range(len(names))
    ]
    rows = [part.score(measure, variant=variant) for part, (measure, variant) in zip(estimates, names, strict=True)]
    # Fewer documents leave no two to each half that the map is fitted on.
    if estimates[0].n >= 4:
        close = 1 - np.abs(_fit_similarities_to_target_curve(similarity, target, context) - target)
        row = estimate(close.mean(axis=1)[:, None], lambda means: means[..., 0], context, "documents", METHOD)
        rows.append(row.score("sensitivity_calibrated", variant=kind.name))
    return estimates[0], rows


def _fit_similarities_to_target_curve(
    similarity: NDArray[np.float64], target: NDArray[np.float64], context: SageContext
) -> NDArray[np.float64]:
    """Similarities after the monotone map that fits the curve best, fitted on the other half of the documents."""
    order = make_seeded_generator(context.seed, "calibration", context.dataset).permutation(len(similarity))
    order = order[~np.isnan(similarity[order, 0])]
    halves = order[::2], order[1::2]
    mapped = np.full_like(similarity, np.nan)
    for fitted, held_out in (halves, halves[::-1]):
        curve = np.tile(target, len(fitted))
        mapped[held_out] = evaluate_isotonic_fit(similarity[fitted].ravel(), curve, similarity[held_out])
    return mapped


def evaluate_isotonic_fit(
    x: NDArray[np.float64], y: NDArray[np.float64], at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The rising map that fits `y` over `x` best (least squares), at the values `at`; beyond `x` as at its ends.

    >>> evaluate_isotonic_fit(np.array([0.1, 0.2, 0.3]), np.array([0.0, 1.0, 0.5]), np.array([0.0, 0.15, 0.9]))
    array([0.   , 0.375, 0.75 ])
    """
    from scipy.optimize import isotonic_regression

    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    # Values of x that differ by rounding alone are one.
    is_first = np.diff(x, prepend=-np.inf) >= np.finfo(float).resolution
    place = np.cumsum(is_first) - 1
    count = np.bincount(place)
    fit = isotonic_regression(np.bincount(place, weights=y) / count, weights=count).x
    curve: NDArray[np.float64] = np.interp(at, x[is_first], fit)
    return curve


def _drop_too_short_documents(data: Documents, context: SageContext) -> tuple[Documents, tuple[SkippedItems, ...]]:
    keep = [len(tokens) > 1 for tokens in context.tokenizer.encode_batch(data.texts)]
    if all(keep):
        return data, ()
    short = [data.ids[i] for i, kept in enumerate(keep) if not kept]
    rows = [i for i, kept in enumerate(keep) if kept]
    kept_documents = Documents(tuple(data.ids[i] for i in rows), tuple(data.texts[i] for i in rows))
    return kept_documents, (SkippedItems("under two tokens", len(short), tuple(short[:5])),)
