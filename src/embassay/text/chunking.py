"""Chunks: whole sentences of a document with some overlap, each under a breadcrumb that says where it is from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.text.prose import sentence_ends
from embassay.text.sections import Headings, Section, split_sections
from embassay.text.token_ends import TokenEnds, word_ends


@dataclass(frozen=True)
class Breadcrumb:
    """Where a chunk is from: paper > section > subsection > title, authors, date; what is empty is left out."""

    paper: str = ""
    sections: tuple[str, ...] = ()
    title: str = ""
    authors: str = ""
    date: str = ""

    def __str__(self) -> str:
        """One line.

        >>> str(Breadcrumb("jet-noise", ("Results", "Far field"), "On jets", "A. Lee", "1961"))
        'jet-noise > Results > Far field > On jets, A. Lee, 1961'
        """
        source = ", ".join(filter(None, map(_line, (self.title, self.authors, self.date))))
        return " > ".join(filter(None, (*map(_line, (self.paper, *self.sections)), source)))

    def inside(self, path: tuple[str, ...]) -> Breadcrumb:
        """The breadcrumb of a section of the text."""
        return Breadcrumb(self.paper, (*self.sections, *path), self.title, self.authors, self.date)


def _line(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class Chunk:
    """A passage: characters `start` to `end` of the document, without the whitespace around them in `body`.

    `tokens` are those of the body, `shared` those of them that the chunk before has too.
    """

    start: int
    end: int
    body: str
    breadcrumb: str
    tokens: int
    shared: int

    @property
    def text(self) -> str:
        """What is embedded and judged: the breadcrumb, where there is one, and the body."""
        return f"{self.breadcrumb}\n{self.body}" if self.breadcrumb else self.body


@dataclass(frozen=True)
class Chunking:
    """How documents are cut: at most `limit` tokens in a body, `overlap` of them from the chunk before (0: none).

    `headings` says what opens a section; no chunk is in two sections, and no overlap goes across.
    """

    limit: int = 430
    overlap: int = 70
    headings: Headings = "markdown"

    def __post_init__(self) -> None:
        if self.limit < 1 or not 0 <= self.overlap <= self.limit // 2:
            raise UsageError(
                f"A chunk cannot have {self.limit} tokens with an overlap of {self.overlap}.",
                mend="Give a limit of 1 or more, and an overlap from 0 to half of it.",
            )


def chunk(
    text: str,
    crumb: Breadcrumb = Breadcrumb(),
    chunking: Chunking = Chunking(),
    ends: TokenEnds = word_ends,
) -> list[Chunk]:
    """The chunks of a document, in its order; together they cover every character. A blank text has none.

    Chunks are whole sentences (`sentence_ends`), as many as fit. Each begins with the last sentences of the one
    before: as few as have `overlap` tokens together, fewer where more would leave no room for the next sentence,
    none where even one would. A sentence longer than the limit is split at token boundaries into even parts of at
    least `overlap` tokens, which are then treated as sentences. The breadcrumb is not part of the limit.

    `ends` counts the tokens; the default is `--tokenizer words`, `token_ends` makes one of any tokenizer.
    Takes time linear in the text. Source: spec rag 3.7 (target 430 and even parts are ours).

    >>> [one.body for one in chunk("One two. Three four. Five six.", chunking=Chunking(limit=6, overlap=3))]
    ['One two. Three four.', 'Three four. Five six.']
    """
    if not text.strip():
        return []
    tokens = ends(text)
    return [
        one
        for section in split_sections(text, chunking.headings)
        for one in _chunks(text, section, str(crumb.inside(section.path)), _Cutter(tokens, chunking))
    ]


def _chunks(text: str, section: Section, crumb: str, cutter: _Cutter) -> list[Chunk]:
    cuts = cutter.units([0, *sentence_ends(text[section.start : section.end])], section.start)
    counts = cutter.before(cuts)
    chunks: list[Chunk] = []
    start = section.start
    for first, new, last in cutter.pack(counts.tolist()):
        start, end = (int(cuts[first]) if chunks else start), int(cuts[last])
        body = text[start:end].strip()
        if body:
            tokens, shared = int(counts[last] - counts[first]), int(counts[new] - counts[first])
            chunks.append(Chunk(start, end, body, crumb, tokens, shared))
        elif chunks:  # thousands of empty lines are no passage
            chunks[-1] = replace(chunks[-1], end=end)
    return chunks


@dataclass(frozen=True)
class _Cutter:
    """Cuts a text whose tokens end at `tokens`."""

    tokens: NDArray[np.int64]
    chunking: Chunking

    def before(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many tokens end at or before each place."""
        return np.searchsorted(self.tokens, places, side="right")

    def units(self, sentences: list[int], offset: int) -> NDArray[np.int64]:
        """The bounds of what is packed: those of the sentences, and of the parts of those that are too long."""
        bounds = np.asarray(sentences, np.int64) + offset
        counts = self.before(bounds)
        long = np.flatnonzero(np.diff(counts) > self.chunking.limit)
        if not len(long):
            return bounds
        inner = [self._parts(int(counts[i]), int(counts[i + 1])) for i in long]
        # Tokens that share a character end at one place.
        return np.unique(np.concatenate([bounds, *inner]))

    def _parts(self, first: int, last: int) -> NDArray[np.int64]:
        """Where a sentence of the tokens `first` to `last` is cut."""
        size = self.chunking.overlap or self.chunking.limit
        parts = max(1, (last - first) // size) if self.chunking.overlap else -(-(last - first) // size)
        cuts = first + (last - first) * np.arange(1, parts) // parts
        return self.tokens[cuts - 1]

    def pack(self, counts: list[int]) -> Iterator[tuple[int, int, int]]:
        """Chunks as (first unit, first new unit, unit after the last), of units with `counts` tokens before each."""
        limit, units = self.chunking.limit, len(counts) - 1
        first = new = 0
        while new < units:
            last = new + 1
            while last < units and counts[last + 1] - counts[first] <= limit:
                last += 1
            yield first, new, last
            first, new = self._overlap(counts, first, last) if last < units else last, last

    def _overlap(self, counts: list[int], first: int, last: int) -> int:
        """The first unit of the next chunk, whose first new one is `last`."""
        start = last
        while start > first + 1 and counts[last] - counts[start] < self.chunking.overlap:
            start -= 1
        while start < last and counts[last + 1] - counts[start] > self.chunking.limit:
            start += 1
        return start
