"""Tokenizers that need nothing: words by a regular expression, and an encoder's own tokenizer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING

from embassay.text.pieces import as_utf8, cut

if TYPE_CHECKING:
    import tokenizers

_WORD = re.compile(r"\w+|[^\w\s]")
_REMEMBERED = 1 << 20


class Words:
    """A token is a run of word characters or one other character that is not whitespace (Unicode).

    Whitespace belongs to the piece of the token after it, at the end of the text to that of the last token.
    A text of whitespace alone is one token (the same for all such texts), an empty text none. Case counts.
    Ids are 63 bits of a hash of the token, so they are the same in every process.

    >>> Words().pieces(" It's here. ")
    [b' It', b"'", b's', b' here', b'. ']
    """

    name = "words"
    identity = f"words/1/unicode-{unicodedata.unidata_version}"

    def __init__(self) -> None:
        self._ids = _Ids()

    def __reduce__(self) -> tuple[type[Words], tuple[()]]:
        return Words, ()

    def encode(self, text: str) -> list[int]:
        """Token ids, in order."""
        found = _WORD.findall(as_utf8(text).decode()) or ([" "] if text else [])
        return [self._ids[token] for token in found]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` for many texts."""
        return [self.encode(text) for text in texts]

    def pieces(self, text: str) -> list[bytes]:
        """The bytes of each token with the whitespace before it; joined they are the text."""
        text = as_utf8(text).decode()
        return cut(text, [match.end() for match in _WORD.finditer(text)] or [len(text)])


class _Ids(dict[str, int]):
    """The id of a token; the tokens of a corpus with typing errors are too many to remember all."""

    def __missing__(self, token: str) -> int:
        if len(self) >= _REMEMBERED:
            self.clear()
        hashed = blake2b(token.encode(), digest_size=8).digest()
        found = self[token] = int.from_bytes(hashed, "little") >> 1
        return found


class EncoderTokenizer:
    """An encoder's own tokenizer, without its special tokens, truncation and padding.

    What the encoder drops (whitespace, control characters) belongs to the piece of the token after it, at
    the end to that of the last. Tokens that share a character leave it to the first. A text of which the
    encoder sees nothing is one token with the id -1, an empty text none.
    """

    def __init__(self, name: str, tokenizer: tokenizers.Tokenizer) -> None:
        description = tokenizer.to_str()
        self.name = name
        self.identity = f"{name}/{sha256(description.encode()).hexdigest()[:16]}"
        self._tokenizer = type(tokenizer).from_str(description)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, text: str) -> list[int]:
        """Token ids, in order."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` for many texts, on all cores."""
        clean = [as_utf8(text).decode() for text in texts]
        encodings = self._tokenizer.encode_batch(clean, add_special_tokens=False)
        return [
            list(encoding.ids) or [-1] * bool(text) for encoding, text in zip(encodings, clean, strict=True)
        ]

    def pieces(self, text: str) -> list[bytes]:
        """The bytes of each token with what the encoder drops before it; joined they are the text."""
        text = as_utf8(text).decode()
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return cut(text, [end for _, end in offsets] or [len(text)])
