"""Tokenizers by name: words, the paper's cl100k_base, an encoder's own; and where tokens end in a text."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from hashlib import blake2b, sha256
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer
from embassay.errors import ModelError
from embassay.registry import Registry

if TYPE_CHECKING:
    import tiktoken
    import tokenizers

_KEPT_TOKENS = 1 << 24  # 64 MiB


def encode_as_utf8(text: str) -> bytes:
    """The text in UTF-8; half a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD as in tiktoken.

    >>> encode_as_utf8("caf\\u00e9 \\ud800") == "caf\\u00e9 \\ufffd".encode()
    True
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        # UTF-16 joins two halves that stand together, and replaces one that stands alone.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def cut_text_into_utf8_pieces(text: str, ends: list[int]) -> list[bytes]:
    """The text cut after each of `ends`, in UTF-8; the last piece takes the rest, an empty text has no piece.

    >>> cut_text_into_utf8_pieces("one two ", [3, 7])
    [b'one', b' two ']
    """
    if not text:
        return []
    pieces, start = [], 0
    for end in [*ends[:-1], len(text)]:
        pieces.append(text[start : max(start, end)].encode())
        start = max(start, end)
    return pieces


class TokenByteEndCache:
    """Where the tokens of a text end, in bytes of its UTF-8.

    Kept for the next variant of the same texts, as a text is often changed in a dozen ways; forgotten when
    they would be more than 16 million tokens.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._kept: dict[str, NDArray[np.uint32]] = {}
        self._room = _KEPT_TOKENS

    def __call__(self, text: str) -> NDArray[np.uint32]:
        """The ends, shape (tokens,)."""
        ends = self._kept.get(text)
        if ends is None:
            ends = np.fromiter(accumulate(map(len, self._tokenizer.pieces(text))), np.uint32)
            if len(ends) > self._room:
                # All at once: which text comes again next nobody knows.
                self._kept, self._room = {}, _KEPT_TOKENS
            self._kept[text] = ends
            self._room -= len(ends)
        return ends


def find_tokenizer_byte_ends(tokenizer: Tokenizer) -> TokenByteEndCache:
    """The one `TokenByteEndCache` of a tokenizer."""
    return _piece_ends(tokenizer)  # type: ignore[arg-type]  # protocols do not say that objects hash


_piece_ends = lru_cache(maxsize=8)(TokenByteEndCache)


_UNKNOWN, _SPACE, _OTHER, _LETTERS, _UNSPACED = 0, 1, 2, 3, 4
_KINDS = np.zeros(0x110000, np.uint8)
"""The kind of every character seen so far; filled as texts need it."""


class TokenEndFinder(Protocol):
    """Counts tokens: the end of each token of a text in characters, ascending, shape (tokens,), int64.

    Two tokens may share an end (parts of one character), and the last end is at most the length of the text.
    """

    def __call__(self, text: str) -> NDArray[np.int64]: ...


def find_word_token_ends(text: str) -> NDArray[np.int64]:
    """The ends of the tokens of `--tokenizer words`: runs of word characters and single other ones.

    A text of whitespace alone has none.

    >>> find_word_token_ends(" It's here. ").tolist()
    [3, 4, 5, 10, 11]
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    kinds = _KINDS[points]
    # Kinds of characters are looked up the first time that they occur.
    if not kinds.all():
        _learn_character_kinds(np.unique(points[kinds == _UNKNOWN]))
        kinds = _KINDS[points]
    is_word = kinds == _LETTERS
    ends = kinds == _OTHER
    # A word ends where the next character is none of a word's, and at the end of the text.
    ends[:-1] |= is_word[:-1] & ~is_word[1:]
    ends[-1:] |= is_word[-1:]
    return np.flatnonzero(ends) + 1


_NO_WORD, _PART, _SIGNS_OF_A_WORD = 1_000, 40, 2
"""Letters in a row that are no word any more, and how many of them count as one; signs that count as a word where
words have no blanks between them."""


def find_passage_token_ends(text: str) -> NDArray[np.int64]:
    """The ends by which passages are counted: those of `find_word_token_ends`, and of parts where no word ends for
    long.

    A run of more than 1,000 letters and digits ends after every 40: it is data within a text, and no word. A run of
    Han or kana ends after every two signs, about a word.

    >>> find_passage_token_ends("中文信息 retrieval " + "x" * 1010).tolist()[:5]
    [2, 4, 14, 55, 95]
    """
    ends = find_word_token_ends(text)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    kinds = _KINDS[points]
    kinds[_mark_unspaced_script_characters(points) & (kinds == _LETTERS)] = _UNSPACED
    more = [
        _find_piece_ends_in_long_runs(kinds == kind, size, least)
        for kind, size, least in ((_LETTERS, _PART, _NO_WORD), (_UNSPACED, _SIGNS_OF_A_WORD, 0))
    ]
    return np.unique(np.concatenate([ends, *more])) if any(map(len, more)) else ends


def _find_piece_ends_in_long_runs(mine: NDArray[np.bool_], size: int, least: int) -> NDArray[np.int64]:
    """The ends of the parts of `size` characters, the last being what is left, of the runs of `mine` longer than
    `least`."""
    edges = np.flatnonzero(np.diff(mine, prepend=False, append=False))
    # Runs begin at every first edge and end at every second.
    begun, stops = edges[::2], edges[1::2]
    long = stops - begun > least
    begun, stops = begun[long], stops[long]
    # Rounded up.
    parts = -(-(stops - begun) // size)
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts) + 1
    return np.asarray(np.minimum(np.repeat(begun, parts) + number * size, np.repeat(stops, parts)))


def _mark_unspaced_script_characters(points: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Han and kana, which are written without blanks."""
    inside = (points >= 0x3040) & (points <= 0x30FF) | (points >= 0x3400) & (points <= 0x4DBF)
    inside |= (points >= 0x4E00) & (points <= 0x9FFF) | (points >= 0xF900) & (points <= 0xFAFF)
    return inside | (points >= 0x20000) & (points <= 0x3FFFF)


def _learn_character_kinds(points: NDArray[np.uint32]) -> None:
    # `\w` is what str.isalnum says, and the underscore; `\s` is str.isspace.
    for point in points.tolist():
        letter = chr(point)
        # Threads may learn a sign at once: they write the same.
        is_word = letter.isalnum() or letter == "_"
        _KINDS[point] = _LETTERS if is_word else _SPACE if letter.isspace() else _OTHER


def token_ends(tokenizer: Tokenizer) -> TokenEndFinder:
    """The ends of any tokenizer's tokens; one that ends inside a character ends after it.

    >>> from embassay.text import open_tokenizer
    >>> token_ends(open_tokenizer("words"))("It works").tolist()
    [2, 8]
    """
    if tokenizer.name == "words":
        return find_word_token_ends

    def find_token_ends(text: str) -> NDArray[np.int64]:
        pieces = np.cumsum([len(piece) for piece in tokenizer.pieces(text)], dtype=np.int64)
        # A token that ends within a character ends with it.
        return np.searchsorted(_find_character_byte_ends(text), pieces, side="left") + 1

    return find_token_ends


def _find_character_byte_ends(text: str) -> NDArray[np.int64]:
    """The end of each character in bytes of the UTF-8 that tokenizers see, shape (characters,)."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    sizes = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000).astype(np.int64)
    # The halves of a surrogate pair are joined to one character of four bytes, which ends with the second.
    high = (points[:-1] >= 0xD800) & (points[:-1] < 0xDC00) & (points[1:] >= 0xDC00) & (points[1:] < 0xE000)
    sizes[:-1][high] = 0
    sizes[1:][high] = 4
    return np.cumsum(sizes)


_WORD = re.compile(r"\w+|[^\w\s]")
_REMEMBERED = 1 << 20


class WordTokenizer:
    """A token is a run of word characters or one other character that is not whitespace (Unicode).

    Whitespace belongs to the piece of the token after it, at the end of the text to that of the last token.
    A text of whitespace alone is one token (the same for all such texts), an empty text none. Case counts.
    Ids are 63 bits of a hash of the token, so they are the same in every process.

    >>> WordTokenizer().pieces(" It's here. ")
    [b' It', b"'", b's', b' here', b'. ']
    """

    name = "words"
    identity = f"words/1/unicode-{unicodedata.unidata_version}"

    def __init__(self) -> None:
        self._ids = _HashedTokenIds()

    def __reduce__(self) -> tuple[type[WordTokenizer], tuple[()]]:
        return WordTokenizer, ()

    def encode(self, text: str) -> list[int]:
        """Token ids, in order."""
        words = _WORD.findall(encode_as_utf8(text).decode()) or ([" "] if text else [])
        return [self._ids[token] for token in words]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` for many texts."""
        return [self.encode(text) for text in texts]

    def pieces(self, text: str) -> list[bytes]:
        """The bytes of each token with the whitespace before it; joined they are the text."""
        text = encode_as_utf8(text).decode()
        return cut_text_into_utf8_pieces(text, [match.end() for match in _WORD.finditer(text)] or [len(text)])


class _HashedTokenIds(dict[str, int]):
    """The id of a token; the tokens of a corpus with typing errors are too many to remember all."""

    def __missing__(self, token: str) -> int:
        if len(self) >= _REMEMBERED:
            self.clear()
        hashed = blake2b(token.encode(), digest_size=8).digest()
        number = self[token] = int.from_bytes(hashed, "little") >> 1
        return number


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
        clean = [encode_as_utf8(text).decode() for text in texts]
        encodings = self._tokenizer.encode_batch(clean, add_special_tokens=False)
        return [list(encoding.ids) or [-1] * bool(text) for encoding, text in zip(encodings, clean, strict=True)]

    def pieces(self, text: str) -> list[bytes]:
        """The bytes of each token with what the encoder drops before it; joined they are the text."""
        text = encode_as_utf8(text).decode()
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return cut_text_into_utf8_pieces(text, [end for _, end in offsets] or [len(text)])


_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
# How tiktoken names what it has downloaded.
_FILE = hashlib.sha1(_ADDRESS.encode(), usedforsecurity=False).hexdigest()
_CONNECT_SECONDS = 5.0
# As many as tiktoken takes by itself.
_THREADS = 8


class Cl100kTokenizer:
    """tiktoken's `cl100k_base`, special tokens read as ordinary text.

    Half a surrogate pair is read as U+FFFD. The vocabulary is opened when the first text is read;
    ModelError then where it is neither cached nor can be downloaded.
    """

    name = "cl100k"

    def __init__(self) -> None:
        self.identity = f"cl100k_base/{_SHA256[:16]}/tiktoken-{_tiktoken_version()}"

    def __reduce__(self) -> tuple[Callable[[], Cl100kTokenizer], tuple[()]]:
        return _load_shared_cl100k_tokenizer, ()

    @cached_property
    def _tiktoken_encoding(self) -> tiktoken.Encoding:
        return _open_encoding()

    def encode(self, text: str) -> list[int]:
        """Token ids, in order."""
        return self._tiktoken_encoding.encode_ordinary(text)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` for many texts, in threads."""
        threads = min(_THREADS, os.cpu_count() or 1)
        return self._tiktoken_encoding.encode_ordinary_batch(list(texts), num_threads=threads)

    def pieces(self, text: str) -> list[bytes]:
        """The bytes of each token; a character may be spread over several."""
        return self._tiktoken_encoding.decode_tokens_bytes(self.encode(text))


@cache
def _load_shared_cl100k_tokenizer() -> Cl100kTokenizer:
    """The tokenizer in a process that it was sent to."""
    return Cl100kTokenizer()


def is_vocabulary_cached() -> bool:
    """Whether the vocabulary lies where it is looked for, so that nothing has to be downloaded."""
    path = _find_cached_vocabulary()
    return path is not None and path.exists()


def _tiktoken_version() -> str:
    import tiktoken

    return tiktoken.__version__


def _find_cached_vocabulary() -> Path | None:
    """Where tiktoken looks for the vocabulary; None where its cache is switched off."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable], _FILE) if os.environ[variable] else None
    return Path(tempfile.gettempdir(), "data-gym-cache", _FILE)


def _open_encoding() -> tiktoken.Encoding:
    import requests
    import tiktoken

    path = _find_cached_vocabulary()
    try:
        if path is None or not path.exists():
            # tiktoken downloads without a time limit: find out first whether the server answers.
            requests.head(_ADDRESS, timeout=_CONNECT_SECONDS).raise_for_status()
        elif hashlib.sha256(path.read_bytes()).hexdigest() != _SHA256:
            # tiktoken would delete a file that does not match, which may be the user's only copy.
            raise ModelError(
                f"The vocabulary file {path} of cl100k_base is damaged.", mend=_describe_encoding_download()
            )
        return tiktoken.get_encoding("cl100k_base")
    except (OSError, ValueError) as error:
        where = f"readable at {path}" if path else "cached (TIKTOKEN_CACHE_DIR is empty)"
        raise ModelError(
            f"The tokenizer cl100k needs the vocabulary file of cl100k_base, which is neither {where} "
            f"nor downloadable now ({type(error).__name__}).",
            mend=_describe_encoding_download(),
        ) from None


def _describe_encoding_download() -> str:
    return (
        f"Download {_ADDRESS} once, save it as {_FILE} in a folder and set TIKTOKEN_CACHE_DIR to that "
        f"folder. Or use `--tokenizer words`, whose scores differ from the paper's."
    )


TOKENIZERS: Registry[Tokenizer] = Registry("tokenizer", makes=[["encode", "encode_batch", "pieces"]])
TOKENIZERS.add(
    "cl100k",
    "embassay.text.tokenizers:Cl100kTokenizer",
    "tiktoken's cl100k_base, as in the paper; downloads a file once",
)
TOKENIZERS.add(
    "words",
    "embassay.text.tokenizers:WordTokenizer",
    "runs of word characters, and other characters one by one; no dependencies",
)


def open_tokenizer(name: str, *, later: bool = False) -> Tokenizer:
    """The tokenizer called `name`, made once per process; with `later` its files are opened when it reads a text.

    Raises UsageError for an unknown name, ModelError where the tokenizer's files cannot be had.
    """
    tokenizer = _build_tokenizer(name)
    if not later:
        tokenizer.encode("")
    return tokenizer


@cache
def _build_tokenizer(name: str) -> Tokenizer:
    return TOKENIZERS.build(name)
