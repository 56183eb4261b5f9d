"""Documents cut by ours or by others' splitters, named by one text: `200`, `430+70`, `chonkie:recursive?size=200`.

    none                                  whole documents
    200, 430+70                           ours: tokens of a chunk, and of its overlap
    fixed?size=200&overlap=20             every so many tokens, wherever a sentence is then
    chonkie:NAME?size=200&overlap=20      a chunker of chonkie: recursive, sentence
    langchain:NAME?size=200&overlap=20    one of langchain-text-splitters: recursive, character, markdown, latex, python
    ...?context=head                      every chunk but the first begins with the first sentence of its document
    ...?context=title                     every chunk begins with the document's title and the headings above it
    ...?context=llm:MODEL                 with a sentence in which a language model says what the chunk is about
    ...?context=late                      the text stays as it is, and its vector is read in the whole document

Sizes are tokens of the caller's tokenizer, for all of them, so that chunks of one size can be compared.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl

from embassay.contracts import Tokenizer
from embassay.errors import ModelError, UsageError
from embassay.text.chunking import Breadcrumb, Chunking, TextSection, chunk, find_sentence_ends, split_sections
from embassay.text.tokenizers import TokenEndFinder, find_passage_token_ends, find_word_token_ends, token_ends

WHOLE = "none"
_OWN = re.compile(r"([1-9][0-9]*)(?:\+([0-9]+))?")
_KEYS = ("size", "overlap", "context", "version")
_USUAL_SIZE = 200
HEAD, TITLE, LATE, MODEL = "head", "title", "late", "llm:"
"""What a chunk is read with: its document's first sentence, title and headings, all of it, a model's sentence."""
_FIXED = "fixed"
_MEND = (
    "Write none, a number of tokens (200), tokens and overlap (430+70), fixed?size=200, "
    "chonkie:recursive?size=200, or langchain:recursive?size=200&overlap=20. If needed, add context=head, "
    "title, late or llm:MODEL, as in 200?context=title."
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


@dataclass(frozen=True)
class DocumentChunk:
    """A chunk: its `body` is characters `start` to `end` of the document, but for blanks; `head` is what stands before
    it where it is searched."""

    start: int
    end: int
    body: str
    head: str = ""

    @property
    def text(self) -> str:
        """The text of the chunk that is searched."""
        return f"{self.head}\n{self.body}" if self.head else self.body

    def after(self, head: str) -> DocumentChunk:
        """Prepend another line to what already stands before the chunk."""
        return replace(self, head="\n".join(filter(None, (head, self.head))))


Split = Callable[[str], list[DocumentChunk]]


@dataclass(frozen=True)
class DocumentSplitSettings:
    """How documents are cut: by which library (empty: ours), into how many tokens, and what each chunk is read with."""

    library: str
    name: str
    size: int
    overlap: int = 0
    context: str = ""
    version: str = ""

    def __str__(self) -> str:
        if self.library or self.name:
            head, sizes = ":".join(filter(None, (self.library, self.name))), (self.size, self.overlap)
        else:
            head, sizes = f"{self.size}+{self.overlap}" if self.overlap else str(self.size), (0, 0)
        # The context comes last: the spec string of a model may have options of its own.
        options = {"size": sizes[0], "overlap": sizes[1], "version": self.version, "context": self.context}
        written = "&".join(f"{key}={value}" for key, value in options.items() if value)
        return f"{head}?{written}" if written else head

    @property
    def is_late_chunking(self) -> bool:
        """Whether vectors of chunks are read in the whole document."""
        return self.context == LATE

    @property
    def model(self) -> str:
        """The language model that says what a chunk is about; empty where none does."""
        return self.context.removeprefix(MODEL) if self.context.startswith(MODEL) else ""

    def open(self, tokenizer: Tokenizer) -> Split:
        """What cuts a document into pieces, blank ones left out; what a title or a model adds is not yet before them.
        ModelError without the library, or with another version than the one that is named."""
        ends = token_ends(tokenizer)
        if self.library:
            cut = self._open_library_splitter(ends)
        elif self.name == _FIXED:
            cut = partial(_split_at_tokens, self.size, self.overlap, ends)
        else:
            cut = partial(_split_with_own_chunker, Chunking(self.size, self.overlap), ends)
        return partial(_prepend_first_sentence_to_chunks, cut) if self.context == HEAD else cut

    def _open_library_splitter(self, ends: TokenEndFinder) -> Split:
        installed = find_splitter_version(self.library)
        if self.version and installed != self.version:
            raise ModelError(
                f"The chunks were made with {self.library} {self.version}, but {installed} is installed.",
                mend=f"Install that version: pip install {PACKAGES[self.library]}=={self.version}",
            )
        return _OPENERS[self.library](SPLITTERS[self.library][self.name], self.size, self.overlap, ends)


def parse_document_splitting(text: str) -> DocumentSplitSettings | None:
    """How documents are cut; None for whole ones. UsageError for what is neither, or names what is not there.

    >>> (str(parse_document_splitting("430+70")), parse_document_splitting("none"),
    ... str(parse_document_splitting("200?context=head")))
    ('430+70', None, '200?context=head')
    >>> str(parse_document_splitting("langchain:recursive?overlap=20"))
    'langchain:recursive?size=200&overlap=20'
    """
    if text == WHOLE:
        return None
    head, _, query = text.partition("?")
    plain, has_model, model = query.partition(f"context={MODEL}")
    options = dict(parse_qsl(plain.rstrip("&"), keep_blank_values=True))
    if has_model:
        options["context"] = MODEL + model
    context = options.get("context", "")
    known = context in ("", HEAD, TITLE, LATE) or (has_model and model)
    if options.keys() - set(_KEYS) or not known:
        raise UsageError(f"The chunking {text!r} is not valid.", mend=_MEND)
    own = _OWN.fullmatch(head)
    if own and options.keys() <= {"context"}:
        splitting = DocumentSplitSettings("", "", int(own[1]), int(own[2] or 0), context)
    else:
        splitting = _parse_library_splitter_spec(text, head, options)
    if splitting.overlap > splitting.size // 2:
        raise UsageError(f"The chunking {text!r} is not valid.", mend=_MEND)
    return splitting


def _parse_library_splitter_spec(text: str, head: str, options: Mapping[str, str]) -> DocumentSplitSettings:
    library, _, name = head.partition(":")
    if head == _FIXED and not options.get("version"):
        library, name = "", _FIXED
    elif name not in SPLITTERS.get(library, {}):
        known = ", ".join(SPLITTERS.get(library, {}))
        raise UsageError(f"The chunking {text!r} is not valid.", mend=f"{library} has {known}." if known else _MEND)
    sizes = [options.get("size", str(_USUAL_SIZE)), options.get("overlap", "0")]
    if not all(size.isdecimal() and len(size) < 10 for size in sizes) or int(sizes[0]) < 1:
        raise UsageError(f"The chunking {text!r} is not valid.", mend=_MEND)
    if name == "recursive" and library == "chonkie" and int(sizes[1]):
        raise UsageError(
            "chonkie's recursive chunker has no overlap.", mend="Leave overlap out, or use chonkie:sentence."
        )
    context, version = options.get("context", ""), options.get("version", "")
    return DocumentSplitSettings(library, name, int(sizes[0]), int(sizes[1]), context, version)


def add_library_version_to_splitting_spec(text: str) -> str:
    """The same with the version of the library, so that chunks of another one are not taken for these. UsageError as
    `parse_document_splitting`; ModelError without the library."""
    splitting = parse_document_splitting(text)
    if splitting is None or not splitting.library:
        return text
    known = splitting.version or find_splitter_version(splitting.library)
    return str(replace(splitting, version=known))


def find_splitter_version(library: str) -> str:
    """The installed version of a splitter's library. ModelError with what installs it."""
    try:
        return version(PACKAGES[library])
    except PackageNotFoundError as error:
        raise ModelError(
            f"Chunking with {library} needs its package, which is not installed.",
            mend="Install it: pip install 'embassay[chunkers]'",
        ) from error


def add_headings_to_pieces(
    pieces: Sequence[DocumentChunk], text: str, title: str, titled: int = 0
) -> list[DocumentChunk]:
    """The pieces of a text, each after the title and the headings above it: `Title > Section > Subsection`. The first
    `titled` characters of the text are the title itself, which a piece that holds them is not told again.

    >>> [piece.text for piece in add_headings_to_pieces([DocumentChunk(4, 9, "Text.")], "# A\\nText.", "The shop")]
    ['The shop > A\\nText.']
    """
    sections = split_sections(text)
    starts = [section.start for section in sections]
    return [
        replace(piece, head=_join_heading_path("" if piece.start < titled else title, piece, sections, starts))
        for piece in pieces
    ]


def _join_heading_path(title: str, piece: DocumentChunk, sections: Sequence[TextSection], starts: Sequence[int]) -> str:
    place = bisect_right(starts, piece.start) - 1
    path = list(sections[place].path) if place >= 0 else []
    name = " ".join(title.split())
    # The first heading often is the title.
    if path and path[0] == name:
        name = ""
    return " > ".join(filter(None, (name, *path)))


def _split_with_own_chunker(how: Chunking, ends: TokenEndFinder, text: str) -> list[DocumentChunk]:
    return [
        DocumentChunk(*_narrow_span_to_nonblank_text(text, piece.start, piece.end), piece.body, piece.breadcrumb)
        for piece in chunk(text, Breadcrumb(), how, ends)
    ]


def _split_at_tokens(size: int, overlap: int, ends: TokenEndFinder, text: str) -> list[DocumentChunk]:
    """Every `size` tokens, whatever is there: the naive cut that others are compared with."""
    count = find_passage_token_ends if ends is find_word_token_ends else ends
    # Each end once: several tokens can end within one character.
    places = [0, *sorted(set(count(text).tolist()) - {0})]
    pieces = []
    for first in range(0, max(1, len(places) - 1 - overlap), size - overlap):
        last = min(first + size, len(places) - 1)
        end = len(text) if last == len(places) - 1 else places[last]
        start, end = _narrow_span_to_nonblank_text(text, places[first], end)
        if start < end:
            pieces.append(DocumentChunk(start, end, text[start:end]))
    return pieces


def _narrow_span_to_nonblank_text(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


def _prepend_first_sentence_to_chunks(cut: Split, text: str) -> list[DocumentChunk]:
    """Chunks that say what document they are of, without asking a model: its first sentence goes before each."""
    pieces = cut(text)
    start = text.lstrip()
    head = start[: next(iter(find_sentence_ends(start)), len(start))].strip()
    return pieces[:1] + [piece.after(head) for piece in pieces[1:]]


def locate_split_pieces(
    text: str, bodies: Sequence[str], back: Callable[[int], int] = lambda end: end
) -> Iterator[DocumentChunk]:
    """Where the pieces that another splitter gives stand in the text, in its order; blanks may differ. `back` says
    where the piece after one that ends there may begin, which is before its end where pieces overlap. ModelError for
    one that does not stand in the text.

    >>> [(piece.start, piece.end) for piece in locate_split_pieces("a  b c b c", ["a b", "c", "b c"])]
    [(0, 4), (5, 6), (7, 10)]
    """
    last = DocumentChunk(-1, 0, "")
    for body in bodies:
        if not (body := body.strip()):
            continue
        # Beginnings first that overlap no more than told: where a text repeats itself, several would fit.
        places = (
            _find_body_in_text(text, body, start) for start in (max(back(last.end), last.start + 1), last.start + 1)
        )
        place = next(filter(None, places), None)
        if place is None:
            raise ModelError(
                f"A splitter changed the text, so its chunk {body[:40]!r} has no position in the document.",
                mend="Use another splitter.",
            )
        last = DocumentChunk(*place, body)
        yield last


def _find_body_in_text(text: str, body: str, start: int) -> tuple[int, int] | None:
    # As it is, which is nearly always; else with other blanks, since splitters join what they have cut.
    place = text.find(body, start)
    if place >= 0:
        return place, place + len(body)
    match = re.compile(r"\s+".join(map(re.escape, body.split()))).search(text, start)
    return match.span() if match else None


def _make_overlap_start_finder(text: str, overlap: int, ends: TokenEndFinder) -> Callable[[int], int]:
    """Where the last `overlap` tokens before a place in the text begin."""
    places = [0, *sorted(set(ends(text).tolist()) - {0})]
    return lambda end: places[max(0, bisect_right(places, end) - 1 - overlap)] if overlap else end


class _ChonkieTokenizer:
    """A tokenizer of ours as chonkie takes one: codes of pieces that together are the text."""

    def __init__(self, ends: TokenEndFinder) -> None:
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
        return [self._assign_code_to_piece(piece) for piece in self.tokenize(text)]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of codes."""
        return "".join(self._pieces[token] for token in tokens)

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self.tokenize(text))

    def _assign_code_to_piece(self, piece: str) -> int:
        if piece not in self._codes:
            self._codes[piece] = len(self._pieces)
            self._pieces.append(piece)
        return self._codes[piece]


def _open_chonkie(kind: str, size: int, overlap: int, ends: TokenEndFinder) -> Split:
    import chonkie
    from chonkie.tokenizer import Tokenizer as ChonkieTokenizer

    # It takes no tokenizer but of its own class, which is not there to inherit from before chonkie is imported.
    counted: Any = type("CountedTokens", (_ChonkieTokenizer, ChonkieTokenizer), {})(ends)
    more = {} if kind == "RecursiveChunker" else {"chunk_overlap": overlap}
    chunker: Any = getattr(chonkie, kind)(tokenizer=counted, chunk_size=size, **more)

    def cut_with_chonkie(text: str) -> list[DocumentChunk]:
        if not text.strip():
            return []
        return list(
            locate_split_pieces(
                text, [piece.text for piece in chunker(text)], _make_overlap_start_finder(text, overlap, ends)
            )
        )

    return cut_with_chonkie


def _open_langchain(kind: str, size: int, overlap: int, ends: TokenEndFinder) -> Split:
    import langchain_text_splitters

    def count(text: str) -> int:
        return len(ends(text))

    splitter: Any = getattr(langchain_text_splitters, kind)(
        chunk_size=size, chunk_overlap=overlap, length_function=count
    )
    return lambda text: list(
        locate_split_pieces(text, splitter.split_text(text), _make_overlap_start_finder(text, overlap, ends))
    )


_OPENERS: Mapping[str, Callable[[str, int, int, TokenEndFinder], Split]] = {
    "chonkie": _open_chonkie,
    "langchain": _open_langchain,
}
