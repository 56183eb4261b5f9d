"""The tokenizers that encoders bring along: with `--tokenizer minilm` edits and metrics count what the model reads."""

from __future__ import annotations

from embassay.contracts import Tokenizer


def wordllama() -> Tokenizer:
    """wordllama's own tokenizer; ModelError when its files cannot be read."""
    from embassay.systems.encoders.wordllama import WordLlama

    return _own(WordLlama())


def minilm() -> Tokenizer:
    """minilm's own tokenizer; ModelError when its packages are missing."""
    from embassay.systems.encoders.minilm import MiniLM

    return _own(MiniLM())


def _own(encoder: object) -> Tokenizer:
    from embassay.text.words import EncoderTokenizer

    return EncoderTokenizer(encoder.name, encoder.tokenizer)  # type: ignore[attr-defined]
