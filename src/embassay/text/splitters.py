"""Documents cut by ours or by others' splitters, named by one text: `200`, `430+70`, `chonkie:recursive?size=200`.

    none                                  whole documents
    200, 430+70                           ours: tokens of a chunk, and of its overlap
    chonkie:NAME?size=200&overlap=20      a chunker of chonkie: recursive, sentence
    langchain:NAME?size=200&overlap=20    one of langchain-text-splitters: recursive, character, markdown, latex, python
    ...?context=head                      every chunk but the first begins with the first sentence of its document

Sizes are tokens of the caller's tokenizer, for all of them, so that chunks of one size can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from typing import Any, Literal
from urllib.parse import parse_qsl

from embassay.contracts import Tokenizer
from embassay.errors import ModelError, UsageError
from embassay.text.chunking import Breadcrumb, Chunking, chunk, sentence_ends
from embassay.text.tokenizers import TokenEnds, token_ends

WHOLE = "none"
_OWN = re.compile(r"([1-9][0-9]*)(?:\+([0-9]+))?")
_KEYS = ("size", "overlap", "context", "version")
_USUAL_SIZE = 200
_MEND = (
    "Write none, a number of tokens (200), with overlap (430+70), chonkie:recursive?size=200, or "
    "langchain:recursive?size=200&overlap=20; ?context=head begins each chunk with its document's first sentence."
)
PACKAGES: Mapping[str, str] = {"chonkie": "chonkie", "langchain": "langchain-text-splitters"}
SPLITTERS: Mapping[str, Mapping[str, str]] = {
    "chonkie": {"recursive": "RecursiveChunker", "sentence": "SentenceChunker"},
    "langchain": {
        "recursive": "RecursiveCharacterTextSplitter", "character": "CharacterTextSplitter",
        "markdown": "MarkdownTextSplitter", "latex": "LatexTextSplitter", "python": "PythonCodeTextSplitter",
    },
}  # fmt: skip
"""Library -> the name here -> its class. Those that need a model are not among them."""
Split = Callable[[str], list[str]]
Context = Literal["", "head"]


@dataclass(frozen=True)
class Splitting:
    """How documents are cut: by which library (empty: ours), into how many tokens, with what before each chunk."""

    library: str
    name: str
    size: int
    overlap: int = 0
    context: Context = ""
    version: str = ""

    def __str__(self) -> str:
        own = f"{self.size}+{self.overlap}" if self.overlap else str(self.size)
        options = {
            "size": self.size,
            "overlap": self.overlap,
            "context": self.context,
            "version": self.version,
        }
        if not self.library:
            return own + (f"?context={self.context}" if self.context else "")
        written = "&".join(f"{key}={value}" for key, value in options.items() if value)
        return f"{self.library}:{self.name}?{written}"

    def open(self, tokenizer: Tokenizer) -> Split:
        """What cuts a document into texts, blank ones left out. ModelError without the library, or with another
        version than the one that is named."""
        ends = token_ends(tokenizer)
        own = Chunking(self.size, self.overlap)
        cut = partial(_split_ourselves, own, ends) if not self.library else self._open_others(ends)
        return partial(_split_with_context, cut) if self.context else cut

    def _open_others(self, ends: TokenEnds) -> Split:
        installed = find_version(self.library)
        if self.version and installed != self.version:
            raise ModelError(
                f"The chunks were cut by {self.library} {self.version}, and {installed} is installed.",
                mend=f"Install it with: pip install {PACKAGES[self.library]}=={self.version}",
            )
        return _OPENERS[self.library](SPLITTERS[self.library][self.name], self.size, self.overlap, ends)


def parse_splitting(text: str) -> Splitting | None:
    """How documents are cut; None for whole ones. UsageError for what is neither, or names what is not there.

    >>> str(parse_splitting("430+70")), parse_splitting("none"), str(parse_splitting("200?context=head"))
    ('430+70', None, '200?context=head')
    >>> str(parse_splitting("langchain:recursive?overlap=20"))
    'langchain:recursive?size=200&overlap=20'
    """
    if text == WHOLE:
        return None
    head, _, query = text.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    context = options.get("context", "")
    if options.keys() - set(_KEYS) or context not in ("", "head"):
        raise UsageError(f"The chunk {text!r} is not valid.", mend=_MEND)
    own = _OWN.fullmatch(head)
    if own and options.keys() <= {"context"}:
        splitting = Splitting("", "", int(own[1]), int(own[2] or 0), "head" if context else "")
    else:
        splitting = _parse_others(text, head, options)
    if splitting.overlap > splitting.size // 2:
        raise UsageError(f"The chunk {text!r} is not valid.", mend=_MEND)
    return splitting


def _parse_others(text: str, head: str, options: Mapping[str, str]) -> Splitting:
    library, _, name = head.partition(":")
    if name not in SPLITTERS.get(library, {}):
        known = ", ".join(SPLITTERS.get(library, {}))
        raise UsageError(
            f"The chunk {text!r} is not valid.", mend=f"{library} has {known}." if known else _MEND
        )
    sizes = [options.get("size", str(_USUAL_SIZE)), options.get("overlap", "0")]
    if not all(size.isdecimal() and len(size) < 10 for size in sizes) or int(sizes[0]) < 1:
        raise UsageError(f"The chunk {text!r} is not valid.", mend=_MEND)
    if name == "recursive" and library == "chonkie" and int(sizes[1]):
        raise UsageError(
            "chonkie's recursive chunker has no overlap.", mend="Leave it out, or take chonkie:sentence."
        )
    context: Context = "head" if options.get("context") else ""
    return Splitting(library, name, int(sizes[0]), int(sizes[1]), context, options.get("version", ""))


def pin_splitting(text: str) -> str:
    """The same with the version of the library, so that chunks of another one are not taken for these. UsageError as
    `parse_splitting`; ModelError without the library."""
    splitting = parse_splitting(text)
    if splitting is None or not splitting.library:
        return text
    known = splitting.version or find_version(splitting.library)
    return str(replace(splitting, version=known))


def find_version(library: str) -> str:
    """The installed version of a splitter's library. ModelError with what installs it."""
    try:
        return version(PACKAGES[library])
    except PackageNotFoundError as error:
        raise ModelError(
            f"Chunks of {library} need its package, which is not installed.",
            mend="Install it with: pip install 'embassay[chunkers]'",
        ) from error


def _split_ourselves(how: Chunking, ends: TokenEnds, text: str) -> list[str]:
    return [piece.text for piece in chunk(text, Breadcrumb(), how, ends)]


def _split_with_context(cut: Split, text: str) -> list[str]:
    """Chunks that say what document they are of, without asking a model: its first sentence goes before each."""
    pieces = cut(text)
    start = text.lstrip()
    head = start[: next(iter(sentence_ends(start)), len(start))].strip()
    return pieces[:1] + [f"{head}\n{piece}" for piece in pieces[1:]]


class _CountedTokens:
    """A tokenizer of ours as chonkie takes one: codes of pieces that together are the text."""

    def __init__(self, ends: TokenEnds) -> None:
        self._ends = ends
        self._codes: dict[str, int] = {}
        self._pieces: list[str] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def tokenize(self, text: str) -> list[str]:
        """The text in pieces of one token each; what follows the last token belongs to it."""
        places = [0, *sorted(set(self._ends(text).tolist()) - {0})]
        places[-1] = len(text) if len(places) > 1 else places[-1]
        pieces = [text[first:last] for first, last in pairwise(places)]
        return pieces or ([text] if text else [])

    def encode(self, text: str) -> list[int]:
        """The code of each piece."""
        return [self._code(piece) for piece in self.tokenize(text)]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of codes."""
        return "".join(self._pieces[token] for token in tokens)

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self.tokenize(text))

    def _code(self, piece: str) -> int:
        if piece not in self._codes:
            self._codes[piece] = len(self._pieces)
            self._pieces.append(piece)
        return self._codes[piece]


def _open_chonkie(kind: str, size: int, overlap: int, ends: TokenEnds) -> Split:
    import chonkie
    from chonkie.tokenizer import Tokenizer as ChonkieTokenizer

    # It takes no tokenizer but of its own class, which is not there to inherit from before chonkie is imported.
    counted: Any = type("CountedTokens", (_CountedTokens, ChonkieTokenizer), {})(ends)
    more = {} if kind == "RecursiveChunker" else {"chunk_overlap": overlap}
    chunker: Any = getattr(chonkie, kind)(tokenizer=counted, chunk_size=size, **more)
    return lambda text: _strip_blank(piece.text for piece in chunker(text)) if text.strip() else []


def _open_langchain(kind: str, size: int, overlap: int, ends: TokenEnds) -> Split:
    import langchain_text_splitters

    def count(text: str) -> int:
        return len(ends(text))

    splitter: Any = getattr(langchain_text_splitters, kind)(
        chunk_size=size, chunk_overlap=overlap, length_function=count
    )
    return lambda text: _strip_blank(splitter.split_text(text))


def _strip_blank(pieces: Any) -> list[str]:
    return [body for piece in pieces if (body := piece.strip())]


_OPENERS: Mapping[str, Callable[[str, int, int, TokenEnds], Split]] = {
    "chonkie": _open_chonkie,
    "langchain": _open_langchain,
}
