"""Counting what a transformers tokenizer finds too long."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any


class TokenLimit:
    """`tokens` of a text are read by a model with this `tokenizer`; None where it has no limit, or no tokenizer
    that can be asked."""

    def __init__(self, tokenizer: Any, tokens: Any) -> None:
        known = callable(tokenizer) and isinstance(tokens, int)
        self.tokens: int | None = tokens if known else None
        # A copy: counting does not cut, and the model's own must not change while another thread uses it.
        self._tokenizer = deepcopy(tokenizer) if known else None

    def exceeded(self, texts: Sequence[str], prompt: str = "") -> int:
        """How many of the texts, with the prompt before each, have more tokens than that."""
        if self.tokens is None or self._tokenizer is None or not texts:
            return 0
        whole = [prompt + text for text in texts]
        ids = self._tokenizer(whole, truncation=False, verbose=False)["input_ids"]
        return sum(len(one) > self.tokens for one in ids)
