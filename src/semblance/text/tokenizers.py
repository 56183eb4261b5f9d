"""The tokenizers by name."""

from __future__ import annotations

from functools import cache

from semblance.contracts import Tokenizer
from semblance.registry import Registry

TOKENIZERS: Registry[Tokenizer] = Registry("tokenizer", makes=[["encode", "encode_batch", "pieces"]])
TOKENIZERS.add(
    "cl100k", "semblance.text.cl100k:Cl100k", "tiktoken's cl100k_base, as in the paper; needs its file once"
)
TOKENIZERS.add(
    "words", "semblance.text.words:Words", "runs of word characters and single other ones; needs nothing"
)


@cache
def open_tokenizer(name: str) -> Tokenizer:
    """The tokenizer called `name`, made once per process.

    Raises UsageError for an unknown name, ModelError where the tokenizer's files cannot be had.
    """
    return TOKENIZERS.build(name)
