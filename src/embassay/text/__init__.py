"""What is done to texts: tokenizers, sentences, chunks and perturbations. Pure and seeded."""

from embassay.text.chunking import Breadcrumb, Chunk, Chunking, chunk
from embassay.text.perturbations import (
    FURTHER,
    FURTHER_SUPERFICIAL,
    PERTURBATIONS,
    SEMANTIC,
    SUPERFICIAL,
    Perturbation,
    first_tokens,
    insertion_variants,
    perturb,
    perturb_all,
    read_needle,
    removal_variants,
    retrieval_variants,
    split_sentences,
    text_digest,
)
from embassay.text.tokenizers import TOKENIZERS, open_tokenizer, token_ends

__all__ = [
    "FURTHER",
    "FURTHER_SUPERFICIAL",
    "PERTURBATIONS",
    "SEMANTIC",
    "SUPERFICIAL",
    "TOKENIZERS",
    "Breadcrumb",
    "Chunk",
    "Chunking",
    "Perturbation",
    "chunk",
    "first_tokens",
    "insertion_variants",
    "open_tokenizer",
    "perturb",
    "perturb_all",
    "read_needle",
    "removal_variants",
    "retrieval_variants",
    "split_sentences",
    "text_digest",
    "token_ends",
]
