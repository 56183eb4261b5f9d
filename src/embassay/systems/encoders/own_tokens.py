"""Which of a model's tokens are a text's own, and not put there by its tokenizer or a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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
