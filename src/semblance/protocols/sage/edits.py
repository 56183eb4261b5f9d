"""The edits of tasks 2, 3 and 5, and the texts they make."""

from __future__ import annotations

from collections.abc import Sequence

from semblance.protocols.sage.context import Context
from semblance.records import Documents
from semblance.text import PERTURBATIONS, SEMANTIC, SUPERFICIAL, perturb_all

POSITIONS = ("0", "0.5", "1")
INSERTED = ("0.15", "0.5", "1")
REMOVED = ("0.15", "0.5", "0.9")
EDITS = (*SUPERFICIAL, *SEMANTIC)


def insertions(sizes: Sequence[str] = INSERTED) -> tuple[str, ...]:
    """Variant names of needle insertion, size by size."""
    return tuple(f"insertion:p={p},q={q}" for p in sizes for q in POSITIONS)


def removals(sizes: Sequence[str] = REMOVED) -> tuple[str, ...]:
    """Variant names of span removal, size by size."""
    return tuple(f"removal:p={p},q={q}" for p in sizes for q in POSITIONS)


RETRIEVAL_EDITS = (*EDITS, *insertions(INSERTED[:2]), *removals(REMOVED[:2]))
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
