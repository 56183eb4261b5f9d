"""The edits of tasks 2, 3 and 5, the texts they make, and what a task gets besides system and data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer
from embassay.errors import UsageError
from embassay.protocols.kernel import evaluation
from embassay.protocols.sage.options import ALL, SageOptions, needle_text
from embassay.records import Documents, Skipped
from embassay.text import (
    PERTURBATIONS,
    SEMANTIC,
    SUPERFICIAL,
    Perturbation,
    first_tokens,
    insertion_variants,
    perturb,
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
OF_2024 = {
    "delete10": "delete10:within=sentences",
    "sentence_shuffle": "sentence_shuffle:split=lines",
    "word_shuffle": "word_shuffle:split=spaces",
}
"""The edits that the first author's earlier code did otherwise."""
_SEVERAL = ("", "mul", "und")
"""Languages of a dataset that say nothing of a text: each is negated in the language that it seems to be in."""
RETRIEVAL_EDITS = retrieval_variants()
"""The 18 perturbed versions of every document in task 5 (spec section 8)."""


@dataclass(frozen=True)
class Edit:
    """One edit as a run does it: its spec string, and what it depends on."""

    name: str
    tokenizer: Tokenizer
    seed: int
    needle: str = ""
    """The text that is inserted; empty for ours."""

    def __call__(
        self, texts: Sequence[str], ids: Sequence[str], langs: Sequence[str] | None = None
    ) -> list[str]:
        """The texts edited; the language that a row states comes before that of the dataset."""
        if langs is None or self.name.partition(":")[0] != "negate":
            return perturb_all(self._built(self.name), texts, ids, self.seed)
        names = [self.name if lang in _SEVERAL else f"negate:lang={lang}" for lang in langs]
        built = {name: self._built(name) for name in dict.fromkeys(names)}
        return [
            perturb(built[name], text, seed=self.seed, text_id=key)
            for name, text, key in zip(names, texts, ids, strict=True)
        ]

    def _built(self, name: str) -> Perturbation:
        return PERTURBATIONS.build(name, tokenizer=self.tokenizer, needle_text=self.needle)


def unchanged(texts: Sequence[str], edited: Sequence[str]) -> NDArray[np.int64]:
    """The places of the texts that an edit left as they were."""
    same = (place for place, (a, b) in enumerate(zip(texts, edited, strict=True)) if a == b)
    return np.fromiter(same, dtype=np.int64)


def left_as_they_were(name: str, rows: Sequence[int], ids: Sequence[str], what: str = "texts") -> Skipped:
    """What is said of the texts that an edit left as they were."""
    return Skipped(f"{name}: {what} that it left as they were", len(rows), tuple(ids[i] for i in rows[:5]))


def edited(variant: str, documents: Documents, context: Context) -> list[str]:
    """Every document under one edit; options of the run that change an edit are applied here."""
    return with_options(variant, context)(documents.texts, documents.ids, documents.langs)


def with_options(variant: str, context: Context) -> Edit:
    """The edit as the options of the run have it."""
    if context.options.edits == "2024":
        variant = OF_2024.get(variant, variant)
    if variant == "numerize" and context.options.numerize_both_cases:
        variant = "numerize:both_cases=true"
    if variant == "delete10" and context.options.delete_next_if_space:
        variant = "delete10:spaces=next"
    if variant == "negate" and context.lang not in _SEVERAL:
        variant = f"negate:lang={context.lang}"
    return Edit(variant, context.tokenizer, context.seed, needle_text(context.options.needle))


def shortened(documents: Documents, context: Context) -> Documents:
    """The documents with texts of at most `text_tokens` tokens [A16]."""
    most = context.options.text_tokens
    if most is None:
        return documents
    texts = tuple(first_tokens(text, context.tokenizer, most) for text in documents.texts)
    return replace(documents, texts=texts)


def retrieval_edits(context: Context) -> tuple[str, ...]:
    """The edits whose corpora task 5 searches."""
    named = context.options.retrieval_edits
    return RETRIEVAL_EDITS if named == ALL else chosen_edits(named)


def chosen_edits(names: str) -> tuple[str, ...]:
    """The edits of a list such as `capitalize,insertion:p=0.15,q=0`, each once, in the order of the paper; `insertion`
    and `removal` alone are their six. UsageError for an empty list and a name that is none of the 18.

    >>> chosen_edits("removal:p=0.5,q=1, capitalize")
    ('capitalize', 'removal:p=0.5,q=1')
    """
    chosen: set[str] = set()
    # A comma stands before the next edit, or before the next parameter of the same.
    for name in re.split(r",(?!\s*[pq]\s*=)", names):
        found = [edit for edit in RETRIEVAL_EDITS if name.strip() in (edit, edit.partition(":")[0])]
        if not found:
            near = get_close_matches(name.strip(), RETRIEVAL_EDITS, n=1)
            raise UsageError(
                f"There is no edit {name.strip()!r} of retrieval corpora.",
                mend=(f"Did you mean {near[0]}? " if near else "")
                + f"Known are {', '.join(RETRIEVAL_EDITS)}.",
            )
        chosen.update(found)
    return tuple(edit for edit in RETRIEVAL_EDITS if edit in chosen)


def corpora_length(context: Context) -> float:
    """The tokens of all versions of a document in task 5 together, in units of the original's."""
    return 1.0 + sum(map(_length, retrieval_edits(context)))


def _length(edit: str) -> float:
    kind, _, parameters = edit.partition(":")
    share = float(parameters.partition(",")[0].removeprefix("p=") or 0)
    return {"insertion": 1 + share, "removal": 1 - share}.get(kind, 1.0)


@dataclass(frozen=True)
class Context(evaluation.Context):
    """With the options of SAGE."""

    options: SageOptions = field(default_factory=SageOptions)
