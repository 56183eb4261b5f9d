"""Sections of a text, by its headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Headings = Literal["markdown", "capitals", "none"]

_MARKDOWN = re.compile(
    r"^ {0,3}(?P<fence>```|~~~)|^ {0,3}(?P<level>#{1,6})[ \t]++(?P<title>[^\n]*)$", re.MULTILINE
)
_CAPITALS = re.compile(r"^[^\na-zà-ÿ]{4,60}$", re.MULTILINE)


@dataclass(frozen=True)
class Section:
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


def split_sections(text: str, headings: Headings = "markdown") -> list[Section]:
    """The sections of `text`: contiguous, and together all of it. A text without headings is one, an empty one none.

    `markdown` are lines of `#` to `######` and a title outside fenced code; `capitals` are lines of 4 to 60
    characters in capitals, all of one level. Headings with nothing between them open one section, whose path
    is that of the last.

    >>> [(s.path, s.end) for s in split_sections("Intro.\\n# A\\n## B\\nText.\\n# C\\nMore.")]
    [((), 7), (('A', 'B'), 22), (('C',), 31)]
    """
    if not text:
        return []
    sections: list[Section] = []
    start, path, levels = 0, (), ()  # type: tuple[int, tuple[str, ...], tuple[int, ...]]
    written = 0  # where the last heading ended: nothing but it may be in the section so far
    for heading in _headings(text, headings):
        if text[written : heading.place].strip():
            sections.append(Section(start, heading.place, path))
            start = heading.place
        depth = sum(level < heading.level for level in levels)
        path, levels = (*path[:depth], heading.title), (*levels[:depth], heading.level)
        written = heading.end
    if text[written:].strip() or not sections:
        return [*sections, Section(start, len(text), path)]
    last = sections.pop()  # headings at the very end have no section of their own
    return [*sections, Section(last.start, len(text), last.path)]


def _headings(text: str, kind: Headings) -> list[_Heading]:
    if kind == "none":
        return []
    if kind == "capitals":
        found = (match for match in _CAPITALS.finditer(text) if sum(map(str.isalpha, match[0])) >= 4)
        return [_Heading(match.start(), match.end(), 1, match[0].strip()) for match in found]
    headings, fence = [], ""
    for match in _MARKDOWN.finditer(text):
        if match["fence"]:
            fence = "" if fence == match["fence"] else fence or match["fence"]
        elif not fence and (title := match["title"].strip().rstrip("#").rstrip()):
            headings.append(_Heading(match.start(), match.end(), len(match["level"]), title))
    return headings
