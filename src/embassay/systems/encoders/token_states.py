"""The last hidden states that a model has for a text's own tokens, and counting what it finds too long."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError, UsageError
from embassay.systems.weights import first_line

if TYPE_CHECKING:
    from tokenizers import Encoding


def own_tokens(encoding: Encoding, prompt: str = "") -> NDArray[np.int64]:
    """Places of the tokens of what follows the `prompt`, special ones left out."""
    # By its end: a piece that begins with the prompt's last space is the text's.
    return np.array(
        [
            place
            for place, (special, (_, end)) in enumerate(
                zip(encoding.special_tokens_mask, encoding.offsets, strict=True)
            )
            if not special and end > len(prompt)
        ],
        dtype=np.int64,
    )


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


class TokenStates:
    """Token vectors of `model`. UsageError for a tokenizer that does not say where its tokens stand."""

    def __init__(self, model: Any) -> None:
        tokenizer: Any = getattr(model, "tokenizer", None)
        if not getattr(tokenizer, "is_fast", False):
            raise UsageError(
                "The model's tokenizer does not say where a token stands in the text.",
                mend="Take a model with a fast tokenizer (tokenizer.json).",
            )
        self._model = model
        # A copy: how the model's own cuts and pads must not change while another thread uses it.
        self._tokenizer: Any = deepcopy(tokenizer)
        limit = model.max_seq_length
        self._cut: dict[str, Any] = {"truncation": True, "max_length": limit} if limit else {}

    def places(self, texts: Sequence[str], prompt: str) -> list[tuple[int, NDArray[np.int64]]]:
        """How many tokens the model reads of each text with the prompt before it, and which are the text's own."""
        whole = [prompt + text for text in texts]
        encodings = self._tokenizer(whole, **self._cut).encodings if whole else []
        return [(len(one.ids), own_tokens(one, prompt)) for one in encodings]

    def read(
        self,
        texts: Sequence[str],
        places: Sequence[tuple[int, NDArray[np.int64]]],
        prompt: str,
        batch_size: int,
    ) -> list[NDArray[np.float32]]:
        """(own tokens, width) per text. ModelError where the model fails."""
        try:
            states = self._model.encode(
                list(texts), prompt=prompt, batch_size=batch_size, output_value="token_embeddings",
                show_progress_bar=False,
            )  # fmt: skip
        except Exception as error:  # transformers and torch have no root in common
            raise ModelError(f"The model failed while encoding tokens: {first_line(error)}") from error
        return [_own(state, *where) for state, where in zip(states, places, strict=True)]


def _own(state: Any, n: int, own: NDArray[np.int64]) -> NDArray[np.float32]:
    hidden: NDArray[np.float32] = state.detach().float().cpu().numpy()
    if len(hidden) < n:
        raise ModelError(f"The model has {len(hidden)} states for {n} tokens of a text.")
    # The library cuts padding off at the end only; some tokenizers put it in front.
    return hidden[len(hidden) - n :][own]
