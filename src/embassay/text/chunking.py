"""Chunks: whole sentences of a document with some overlap, under a breadcrumb of the sections they are in.

SAGE's rule (sentences.py) is the benchmark's and stays as it is; it ends a sentence after every "Dr." and "et al.", and
never at a blank line. Here a wrong end costs a passage its context, so what is known not to end one is left whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.text.tokenizers import TokenEndFinder, find_passage_token_ends, find_word_token_ends

_CLOSING = "[\"'”’)\\]}»]|[ \u00a0\u202f]»"
_STOPS = ".!?…।॥۔؟"
# One set of first characters, so that the search skips to them; possessive, so that 100,000 dots are read once.
_END = re.compile(
    rf"[{_STOPS}。！？\n](?:"
    rf"(?P<stop>(?<=[{_STOPS}])(?<![{_STOPS}]{{2}})[{_STOPS}]*+(?:{_CLOSING})*+\s+)"
    r"|(?<=[。！？])[。！？]*+[」』”）]*+\s*"
    r"|(?<=\n)\s*\n\s*"
    r")"
)
_WORD_BEFORE = re.compile(r"[^\s(\[«“\"'’]+\Z")
# Characters before a full stop that are looked at; no abbreviation is longer.
_REACH = 16

_ABBREVIATIONS = """
    e.g i.e cf viz vs al resp approx fig figs eq eqs tab ref refs sec sect dr mr mrs ms prof st jr sr messrs rev gen col
    lt sgt capt hon mme mlle ex p.ex c.-à-d c-à-d éd eds dept univ ca incl excl
    av bd
"""
_BEFORE_NUMBERS = """
    no nos vol vols p pp ch art chap n num nr v par ver jan feb mar apr jun jul aug sep sept oct nov dec janv févr avr
    juil déc
"""
_NEVER, _BEFORE_DIGITS = frozenset(_ABBREVIATIONS.split()), frozenset(_BEFORE_NUMBERS.split())


def find_sentence_ends(text: str) -> Iterator[int]:
    """Where the sentences of `text` end, the whitespace after each included; the last end is that of the text.

    A sentence ends after `.`, `!`, `?`, `…` and the marks of Hindi and Urdu with closing quotes and brackets, followed
    by whitespace; after `。`, `！` or `？`; and at a blank line. It does not end after abbreviations ("et al.", "Fig.",
    "M."), an initial ("J. Smith") or the number of a list ("2. "), nor after "No.", "p.", "Jan." before a digit.
    English and French abbreviations are known. Takes time linear in the text.

    >>> text = "Dr. Who et al. left. Why? See Fig. 2."
    >>> list(find_sentence_ends(text))
    [21, 26, 37]
    """
    for match in _END.finditer(text):
        if match.end() < len(text) and not (match["stop"] and _is_sentence_going_on(text, match)):
            yield match.end()
    if text:
        yield len(text)


def _is_sentence_going_on(text: str, match: re.Match[str]) -> bool:
    """Whether the sentence goes on after this full stop."""
    if text[match.start()] != "." or not match["stop"].isspace() or match["stop"].count("\n") > 1:
        return False
    before = _WORD_BEFORE.search(text, max(0, match.start() - _REACH), match.start())
    if before is None:
        return False
    word = before[0]
    if len(word) == 1 and word.isupper():
        return True
    if word.isdecimal():
        return _is_at_line_start(text, before.start())
    if word.lower() in _BEFORE_DIGITS:
        return text[match.end()].isdecimal() or text.startswith("ex.", match.end())  # "p. ex." is one
    return word.lower() in _NEVER


def _is_at_line_start(text: str, place: int) -> bool:
    """Whether nothing but a few blanks is before `place` on its line."""
    before = text[max(0, place - _REACH) : place].rstrip(" \t")
    return before.endswith("\n") or (not before and place < _REACH)


_FENCE = re.compile(r"^ {0,3}(?P<marks>`{3,}|~{3,})[^\n]*$", re.MULTILINE)


def find_code_fences(text: str) -> list[tuple[int, int]]:
    """Where fenced code begins and ends in Markdown, with the lines of its marks; to the end of the text where it is
    not closed.

    >>> find_code_fences("Run:\\n```sh\\nmake\\n```\\nDone.")
    [(5, 19)]
    """
    places: list[tuple[int, int]] = []
    start, marks = -1, ""
    for match in _FENCE.finditer(text):
        if start < 0:
            start, marks = match.start(), match["marks"]
        elif match[0].strip().startswith(marks) and not match[0].strip().strip(marks[0]):
            places.append((start, match.end()))
            start = -1
    return [*places, (start, len(text))] if start >= 0 else places


def _list_prose_sentence_ends(ends: Iterator[int], fences: Sequence[tuple[int, int]]) -> Iterator[int]:
    """The ends of sentences that are not within a fence: code is one sentence, and cut only where it is too long."""
    waiting = iter(fences)
    start, end = next(waiting, (-1, -1))
    for place in ends:
        while 0 <= end <= place:
            start, end = next(waiting, (-1, -1))
        if not start < place < end:
            yield place


Headings = Literal["markdown", "capitals", "none"]

_MARKDOWN = re.compile(r"^ {0,3}(?P<fence>```|~~~)|^ {0,3}(?P<level>#{1,6})[ \t]++(?P<title>[^\n]*)$", re.MULTILINE)
_CAPITALS = re.compile(r"^[^\na-zà-ÿ]{4,60}$", re.MULTILINE)


@dataclass(frozen=True)
class TextSection:
    """Characters `start` to `end` of a text, its heading included; `path` are the titles from the outermost inwards."""

    start: int
    end: int
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Heading:
    place: int
    end: int
    level: int
    title: str


def split_sections(text: str, headings: Headings = "markdown") -> list[TextSection]:
    """The sections of `text`: contiguous, and together all of it. A text without headings is one, an empty one none.

    `markdown` are lines of `#` to `######` and a title outside fenced code; `capitals` are lines of 4 to 60
    characters in capitals, all of one level. Headings with nothing between them open one section, whose path
    is that of the last.

    >>> [(s.path, s.end) for s in split_sections("Intro.\\n# A\\n## B\\nText.\\n# C\\nMore.")]
    [((), 7), (('A', 'B'), 22), (('C',), 31)]
    """
    if not text:
        return []
    sections: list[TextSection] = []
    start, path, levels = 0, (), ()  # type: tuple[int, tuple[str, ...], tuple[int, ...]]
    written = 0  # where the last heading ended: nothing but it may be in the section so far
    for heading in _find_headings(text, headings):
        if text[written : heading.place].strip():
            sections.append(TextSection(start, heading.place, path))
            start = heading.place
        depth = sum(level < heading.level for level in levels)
        path, levels = (*path[:depth], heading.title), (*levels[:depth], heading.level)
        written = heading.end
    if text[written:].strip() or not sections:
        return [*sections, TextSection(start, len(text), path)]
    last = sections.pop()  # headings at the very end have no section of their own
    return [*sections, TextSection(last.start, len(text), last.path)]


def _find_headings(text: str, kind: Headings) -> list[_Heading]:
    if kind == "none":
        return []
    if kind == "capitals":
        capitals = (match for match in _CAPITALS.finditer(text) if sum(map(str.isalpha, match[0])) >= 4)
        return [_Heading(match.start(), match.end(), 1, match[0].strip()) for match in capitals]
    headings, fence = [], ""
    for match in _MARKDOWN.finditer(text):
        if match["fence"]:
            fence = "" if fence == match["fence"] else fence or match["fence"]
        elif not fence and (title := match["title"].strip().rstrip("#").rstrip()):
            headings.append(_Heading(match.start(), match.end(), len(match["level"]), title))
    return headings


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
        source = ", ".join(filter(None, map(_join_lines, (self.title, self.authors, self.date))))
        return " > ".join(filter(None, (*map(_join_lines, (self.paper, *self.sections)), source)))

    def inside(self, path: tuple[str, ...]) -> Breadcrumb:
        """The breadcrumb of a section of the text."""
        return Breadcrumb(self.paper, (*self.sections, *path), self.title, self.authors, self.date)


def _join_lines(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class Chunk:
    """A passage: characters `start` to `end` of the document, without the whitespace around them in `body`.

    `tokens` are those of the body, `shared` those of them that the chunk before has too; of `--tokenizer words` they
    are as `find_passage_token_ends` counts, so that no text without blanks is one token.
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
                mend="Use a limit of 1 or more, and an overlap from 0 to half the limit.",
            )


def chunk(
    text: str,
    crumb: Breadcrumb = Breadcrumb(),
    chunking: Chunking = Chunking(),
    ends: TokenEndFinder = find_word_token_ends,
) -> list[Chunk]:
    """The chunks of a document, in its order; together they cover every character. A blank text has none.

    Chunks are whole sentences (`find_sentence_ends`), as many as fit. Each begins with the last sentences of the one
    before: as few as have `overlap` tokens together, fewer where more would leave no room for the next sentence,
    none where even one would. A sentence longer than the limit is split at token boundaries into even parts of at
    least `overlap` tokens, which are then treated as sentences. The breadcrumb is not part of the limit.

    `ends` counts the tokens; the default is `--tokenizer words` (`find_passage_token_ends`),
    `token_ends` makes one of any.
    Takes time linear in the text. Source: spec rag 3.7 (target 430 and even parts are ours).

    >>> [one.body for one in chunk("One two. Three four. Five six.", chunking=Chunking(limit=6, overlap=3))]
    ['One two. Three four.', 'Three four. Five six.']
    """
    if not text.strip():
        return []
    tokens = (find_passage_token_ends if ends is find_word_token_ends else ends)(text)
    return [
        piece
        for section in split_sections(text, chunking.headings)
        for piece in _chunk_section(text, section, str(crumb.inside(section.path)), _SectionCutter(tokens, chunking))
    ]


def _chunk_section(text: str, section: TextSection, crumb: str, cutter: _SectionCutter) -> list[Chunk]:
    part = text[section.start : section.end]
    fences = find_code_fences(part) if cutter.chunking.headings == "markdown" else []
    cuts = cutter.find_packing_unit_bounds(
        [0, *_list_prose_sentence_ends(find_sentence_ends(part), fences)], section.start
    )
    counts = cutter.before(cuts)
    chunks: list[Chunk] = []
    start = section.start
    for first, new, last in cutter.pack_units_into_chunks(counts.tolist()):
        start, end = (int(cuts[first]) if chunks else start), int(cuts[last])
        body = text[start:end].strip()
        if body:
            tokens, shared = int(counts[last] - counts[first]), int(counts[new] - counts[first])
            chunks.append(Chunk(start, end, body, crumb, tokens, shared))
        elif chunks:  # thousands of empty lines are no passage
            chunks[-1] = replace(chunks[-1], end=end)
    return chunks


@dataclass(frozen=True)
class _SectionCutter:
    """Cuts a text whose tokens end at `tokens`."""

    tokens: NDArray[np.int64]
    chunking: Chunking

    def before(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many tokens end at or before each place."""
        return np.searchsorted(self.tokens, places, side="right")

    def find_packing_unit_bounds(self, sentences: list[int], offset: int) -> NDArray[np.int64]:
        """The bounds of what is packed: those of the sentences, and of the parts of those that are too long."""
        bounds = np.asarray(sentences, np.int64) + offset
        counts = self.before(bounds)
        long = np.flatnonzero(np.diff(counts) > self.chunking.limit)
        if not len(long):
            return bounds
        inner = [self._find_cuts_of_long_sentence(int(counts[i]), int(counts[i + 1])) for i in long]
        # Tokens that share a character end at one place.
        return np.unique(np.concatenate([bounds, *inner]))

    def _find_cuts_of_long_sentence(self, first: int, last: int) -> NDArray[np.int64]:
        """Where a sentence of the tokens `first` to `last` is cut."""
        size = self.chunking.overlap or self.chunking.limit
        # Rounded down, no part is shorter than the overlap; without one, rounded up, none is longer than the limit.
        parts = max(1, (last - first) // size) if self.chunking.overlap else -(-(last - first) // size)
        cuts = first + (last - first) * np.arange(1, parts) // parts
        return self.tokens[cuts - 1]

    def pack_units_into_chunks(self, counts: list[int]) -> Iterator[tuple[int, int, int]]:
        """Chunks as (first unit, first new unit, unit after the last), of units with `counts` tokens before each."""
        limit, units = self.chunking.limit, len(counts) - 1
        first = new = 0
        while new < units:
            last = new + 1
            while last < units and counts[last + 1] - counts[first] <= limit:
                last += 1
            yield first, new, last
            first, new = self._find_overlap_start(counts, first, last) if last < units else last, last

    def _find_overlap_start(self, counts: list[int], first: int, last: int) -> int:
        """The first unit of the next chunk, whose first new one is `last`."""
        start = last
        # The overlap grows until it is long enough, then shrinks until the next unit fits.
        while start > first + 1 and counts[last] - counts[start] < self.chunking.overlap:
            start -= 1
        while start < last and counts[last + 1] - counts[start] > self.chunking.limit:
            start += 1
        return start
