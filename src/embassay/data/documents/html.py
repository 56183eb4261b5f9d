"""HTML as a row of tags and texts, read in one pass: twice the page takes twice the time, whatever stands in it.

The parser of Python's library searches the rest of the page for the end of each comment and tag that never ends, and
what it makes of them differs between Python's versions. Parsers that build a tree walk all open elements at each tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

_NAME = re.compile(r"[A-Za-z][^\s/>]*")
# Possessive: no part is tried at another length, so that an attribute is read once.
_ATTRIBUTE = re.compile(r"""[\s/]*+([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?+""")
_BETWEEN = re.compile(r"[\s/]*+")
_ENDED = re.compile(r"\s*+([A-Za-z][^\s/>]*)")
_RAW = {tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE) for tag in ("script", "style")}
"""Elements whose content is no HTML."""


@dataclass(frozen=True)
class HtmlStartTag:
    """A tag that begins an element, its name and its attributes' in lower case."""

    tag: str
    attributes: dict[str, str]


@dataclass(frozen=True)
class HtmlEndTag:
    """A tag that ends an element; one that ends itself, as `<br/>`, gives both."""

    tag: str


def tokenize_html(page: str) -> Iterator[HtmlStartTag | HtmlEndTag | str]:
    """The tags of a page and the texts between them, with characters in place of their references.

    Comments and declarations are left out; one without its end goes to the next `>`. A tag without its end is text.

    >>> list(tokenize_html("<p class=a>1 &lt; 2<!-- no --></p>"))
    [HtmlStartTag(tag='p', attributes={'class': 'a'}), '1 < 2', HtmlEndTag(tag='p')]
    """
    yield from _HtmlTokenizer(page)


class _HtmlTokenizer:
    """A position in a page, and what was looked for beyond it in vain: that is looked for no more."""

    def __init__(self, page: str) -> None:
        self._page, self._at = page, 0
        self._absent: set[str] = set()
        self._unclosed_tags = False

    def __iter__(self) -> Iterator[HtmlStartTag | HtmlEndTag | str]:
        page = self._page
        while self._at < len(page):
            opened = page.find("<", self._at)
            if opened < 0 or not self._has_sign_ahead(">", opened):
                yield _decode_character_references(page[self._at :])
                return
            if opened > self._at:
                yield _decode_character_references(page[self._at : opened])
            self._at = opened
            yield from self._iterate_html_markup_at_position()

    def _has_sign_ahead(self, sign: str, start: int) -> bool:
        return self._find_position_of_markup_sign(sign, start) >= 0

    def _find_position_of_markup_sign(self, sign: str, start: int) -> int:
        """Find where `sign` next stands; -1 where it does not, which is then known of all that follows."""
        if sign in self._absent:
            return -1
        place = self._page.find(sign, start)
        if place < 0:
            self._absent.add(sign)
        return place

    def _iterate_html_markup_at_position(self) -> Iterator[HtmlStartTag | HtmlEndTag | str]:
        """Read the markup that begins with the `<` at this position."""
        page, at = self._page, self._at
        following = page[at + 1 : at + 2]
        if following == "!":
            self._skip_declaration()
        elif following == "?":
            self._skip_past_sign(">")
        elif following == "/":
            yield from self._read_end_tag()
        elif name := _NAME.match(page, at + 1):
            yield from self._read_start_tag(name)
        else:
            self._at += 1
            yield "<"

    def _skip_declaration(self) -> None:
        for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>")):
            if self._page.startswith(opening, self._at) and self._has_sign_ahead(closing, self._at + 2):
                self._skip_past_sign(closing)
                return
        self._skip_past_sign(">")

    def _skip_past_sign(self, closing: str) -> None:
        self._at = self._find_position_of_markup_sign(closing, self._at + 2) + len(closing)

    def _read_end_tag(self) -> Iterator[HtmlEndTag]:
        name = _ENDED.match(self._page, self._at + 2)
        self._skip_past_sign(">")
        if name:
            yield HtmlEndTag(name[1].lower())

    def _read_start_tag(self, name: re.Match[str]) -> Iterator[HtmlStartTag | HtmlEndTag]:
        page = self._page
        attributes, after = self._read_tag_attributes(name.end())
        between = _BETWEEN.match(page, after)
        at = between.end() if between else after
        if page[at : at + 1] != ">":
            # A quotation mark that never closes: from here on a tag ends at the first >.
            self._unclosed_tags = True
            attributes, after = {}, name.end()
            at = self._find_position_of_markup_sign(">", after)
        self._at = at + 1
        tag = name[0].lower()
        yield HtmlStartTag(tag, attributes)
        # In `<a href=b/>` the stroke is part of the value.
        if at > after and page[at - 1] == "/":
            yield HtmlEndTag(tag)
        elif tag in _RAW:
            closing = _RAW[tag].search(page, self._at)
            self._at = closing.start() if closing else len(page)

    def _read_tag_attributes(self, at: int) -> tuple[dict[str, str], int]:
        """Read a tag's attributes from a position on, and where they end."""
        attributes: dict[str, str] = {}
        if self._unclosed_tags:
            return attributes, at
        while attribute := _ATTRIBUTE.match(self._page, at):
            value = next((part for part in attribute.groups()[1:] if part is not None), "")
            attributes.setdefault(attribute[1].lower(), _decode_character_references(value))
            at = attribute.end()
        return attributes, at


def _decode_character_references(text: str) -> str:
    """The text with characters in place of their references."""
    try:
        return unescape(text)
    except ValueError:  # the number of a character with thousands of digits
        return text
