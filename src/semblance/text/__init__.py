"""What is done to texts: tokenizers, sentences and perturbations. Pure and seeded."""

from semblance.text.perturbations import (
    PERTURBATIONS,
    SEMANTIC,
    SUPERFICIAL,
    Perturbation,
    insertion_variants,
    perturb,
    perturb_all,
    removal_variants,
    retrieval_variants,
)
from semblance.text.sentences import split_sentences
from semblance.text.tokenizers import TOKENIZERS, open_tokenizer

__all__ = [
    "PERTURBATIONS",
    "SEMANTIC",
    "SUPERFICIAL",
    "TOKENIZERS",
    "Perturbation",
    "insertion_variants",
    "open_tokenizer",
    "perturb",
    "perturb_all",
    "removal_variants",
    "retrieval_variants",
    "split_sentences",
]
