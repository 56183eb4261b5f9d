"""The tokenizers by name."""

from __future__ import annotations

from functools import cache

from embassay.contracts import Tokenizer
from embassay.registry import Registry

TOKENIZERS: Registry[Tokenizer] = Registry("tokenizer", makes=[["encode", "encode_batch", "pieces"]])
TOKENIZERS.add(
    "cl100k", "embassay.text.cl100k:Cl100k", "tiktoken's cl100k_base, as in the paper; needs its file once"
)
TOKENIZERS.add(
    "words", "embassay.text.words:Words", "runs of word characters and single other ones; needs nothing"
)


@cache
def open_tokenizer(name: str) -> Tokenizer:
    """The tokenizer called `name`, made once per process.

    Raises UsageError for an unknown name, ModelError where the tokenizer's files cannot be had.
    """
    return TOKENIZERS.build(name)
