"""The edits of tasks 2, 3 and 5, and the texts they make."""

from __future__ import annotations

from semblance.protocols.sage.context import Context
from semblance.records import Documents
from semblance.text import (
    PERTURBATIONS,
    SEMANTIC,
    SUPERFICIAL,
    insertion_variants,
    perturb_all,
    removal_variants,
    retrieval_variants,
)

POSITIONS = 3
"""Start, middle and end: variants of one size stand together."""
INSERTED = (0.15, 0.5, 1.0)
REMOVED = (0.15, 0.5, 0.9)
EDITS = (*SUPERFICIAL, *SEMANTIC)
INSERTIONS = insertion_variants(INSERTED)
REMOVALS = removal_variants(REMOVED)
RETRIEVAL_EDITS = retrieval_variants()
"""The 18 perturbed versions of every document in task 5 (spec section 8)."""


def edited(variant: str, documents: Documents, context: Context) -> list[str]:
    """Every document under one edit; options of the run that change an edit are applied here."""
    perturbation = PERTURBATIONS.build(_with_options(variant, context), tokenizer=context.tokenizer)
    return perturb_all(perturbation, documents.texts, documents.ids, context.seed)


def _with_options(variant: str, context: Context) -> str:
    if variant == "numerize" and context.options.numerize_both_cases:
        return "numerize:both_cases=true"
    if variant == "delete10" and context.options.delete_next_if_space:
        return "delete10:spaces=next"
    return variant
