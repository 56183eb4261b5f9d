"""Counting tokens before a server does: exactly where the model's own tokenizer is at hand, else a bound."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from embassay.contracts import Tokenizer
from embassay.errors import ModelError
from embassay.text import open_tokenizer

_OF_MODELS = {
    "text-embedding-3-small": "cl100k",
    "text-embedding-3-large": "cl100k",
    "text-embedding-ada-002": "cl100k",
}


def own_tokenizer(model: str) -> Tokenizer | None:
    """The tokenizer that the model itself has; None where that is not known or its file is not at hand."""
    if model not in _OF_MODELS:
        return None
    try:
        return open_tokenizer(_OF_MODELS[model])
    except ModelError:
        return None


def count_tokens(texts: Sequence[str], tokenizer: Tokenizer | None) -> list[int]:
    """The tokens of each text; without the model's tokenizer a bound above, the bytes in UTF-8: no usual
    tokenizer makes more tokens than bytes.

    >>> count_tokens(["naïve", ""], None)
    [6, 0]
    """
    if tokenizer is None:
        return [len(text.encode("utf-8", "replace")) for text in texts]
    return [len(ids) for ids in tokenizer.encode_batch(texts)]


def likely_tokens(texts: Sequence[str]) -> int:
    """What a server that does not say is taken to have counted: a token for every three bytes, which is somewhat
    more than it is in any usual language and script.

    >>> likely_tokens(["a fox", ""])
    2
    """
    return -(-sum(count_tokens(texts, None)) // 3)


def believed(said: object, most: int, otherwise: int) -> int:
    """The tokens that a server says it has counted; with a warning `otherwise`, where that is no number of tokens, or
    more than `most`. None, which says nothing, is `otherwise` too.

    >>> believed(12, 100, 7), believed(None, 100, 7)
    (12, 7)
    """
    if isinstance(said, int) and not isinstance(said, bool) and 0 <= said <= most:
        return said
    if said is not None:
        warnings.warn(
            f"A server says that it counted {str(said)[:40]} tokens, which cannot be; {otherwise:,} are booked.",
            RuntimeWarning,
            stacklevel=2,
        )
    return otherwise


def most_tokens(texts: Sequence[str]) -> int:
    """More than any server counts for the texts: two a byte, and a frame of 1,000 around each."""
    return sum(2 * count + 1000 for count in count_tokens(texts, None))


def too_long(texts: Sequence[str], most: int, tokenizer: Tokenizer) -> list[int]:
    """The positions of the texts with more than `most` tokens; only what has more bytes is tokenized."""
    long = [i for i, text in enumerate(texts) if 4 * len(text) > most and len(_bytes(text)) > most]
    counts = count_tokens([texts[i] for i in long], tokenizer)
    return [i for i, tokens in zip(long, counts, strict=True) if tokens > most]


def cut(text: str, most: int, tokenizer: Tokenizer) -> str:
    """The longest beginning of the text, in whole characters, that has at most `most` tokens by this count."""
    pieces, end = tokenizer.pieces(text), most
    while True:
        head = b"".join(pieces[:end]).decode("utf-8", "ignore")
        # A character that was cut in two can make the rest fall into more tokens than before.
        if end <= 0 or len(tokenizer.encode(head)) <= most:
            return head
        end -= 1


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
