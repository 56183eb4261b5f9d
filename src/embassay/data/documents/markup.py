"""Bytes of text, Markdown or HTML as a document: its encoding told from them, front matter taken off, and of HTML the
headings as Markdown has them, a line for each block, and none of what a reader does not read."""

from __future__ import annotations

import codecs
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from embassay.data.documents.html import HtmlStartTag, tokenize_html
from embassay.data.yaml import parse_yaml
from embassay.errors import DataError


class UnreadableDocumentError(Exception):
    """A document cannot be read; the message says why, in words that many documents can be counted under."""


@dataclass(frozen=True)
class DocumentAsText:
    """A document as text. `about` are other facts that it states of itself, `notes` what is odd but no reason to leave
    it out."""

    text: str
    title: str = ""
    lang: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    encoding: str = "utf-8"
    notes: tuple[str, ...] = ()


_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 2**16
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1b\x08")) + b"\x7f"


def detect_and_decode_text(content: bytes, declared: str = "") -> tuple[str, str]:
    """The text, and its encoding: that of a byte order mark, the `declared` one, UTF-8, or what the bytes look most
    like. Unread for what is no text, or in no encoding that can be told."""
    for mark, name in _MARKS:
        if content.startswith(mark):
            return _decode_as(content, name), name
    if is_binary_content(content):
        raise UnreadableDocumentError("files without text")
    # UTF-8 before any guess, because text in another encoding is hardly ever valid in it.
    for name in filter(None, (declared, "utf-8")):
        try:
            return content.decode(name), codecs.lookup(name).name
        except (LookupError, ValueError):
            continue
    return _guess_encoding_and_decode(content)


def is_binary_content(content: bytes) -> bool:
    """Whether there is a NUL byte, or one byte in ten of the first is a control character."""
    first = content[:_SAMPLE]
    return b"\0" in content or len(first) - len(first.translate(None, _CONTROLS)) > len(first) / 10


def _guess_encoding_and_decode(content: bytes) -> tuple[str, str]:
    """Guess the encoding by how common the letters are that the bytes would make."""
    from charset_normalizer import from_bytes

    # Cut after a line, not within a character.
    sample = content if len(content) <= _SAMPLE else content[: content.rfind(b"\n", 0, _SAMPLE) + 1 or _SAMPLE]
    matches = from_bytes(sample)
    best = matches.best()
    if best is None:
        raise UnreadableDocumentError("files whose encoding cannot be detected")
    alike = (match for match in matches if match.encoding == _WESTERN and _is_equally_good_guess(match, best))
    encoding = next((match.encoding for match in alike if _is_plausible_western_text(str(match))), best.encoding)
    return _decode_as(content, encoding), encoding


_WESTERN = "cp1252"
_WITHIN_WORDS = re.compile(r"[^\W\d_](¹|[³¿º¾¼][^\W\d_])")
"""What letters of central Europe would be in western Europe's encoding, and what no word of the west has inside it."""


def _is_equally_good_guess(match: Any, best: Any) -> bool:
    return bool(match.chaos <= best.chaos and match.coherence >= best.coherence)


def _is_plausible_western_text(text: str) -> bool:
    """Whether a text, read so, may be: the detector names the first of its alphabet among equals, and so took French
    for Czech. Hungarian shows by an õ where Portuguese would have an ã as well."""
    return not _WITHIN_WORDS.search(text) and ("õ" not in text or "ã" in text)


def _decode_as(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except ValueError:
        raise UnreadableDocumentError("files whose encoding cannot be detected") from None


_ENDS = re.compile(r"\r\n?")
_EMBEDDED = re.compile(r"(data:[\w/+.-]{1,40};base64,)[A-Za-z0-9+/=]{100,}")


def cut_pictures_fix_line_ends(text: str) -> str:
    r"""Line ends as \n, and pictures that are written out as letters cut."""
    text = _ENDS.sub("\n", text) if "\r" in text else text
    return _EMBEDDED.sub(r"\1...", text) if ";base64," in text else text


def read_plain_text(content: bytes) -> DocumentAsText:
    """Read a text file, which has no title."""
    text, encoding = detect_and_decode_text(content)
    return DocumentAsText(cut_pictures_fix_line_ends(text), encoding=encoding)


_TITLE = re.compile(r"\s*#[ \t]+(?P<atx>[^\n]+)|\s*(?P<setext>\S[^\n]*)\n=+[ \t]*(?:\n|\Z)")


def read_markdown(content: bytes, path: Path) -> DocumentAsText:
    """A Markdown file: its text without the front matter, which says its title, language and more.

    Without a title there, that is the first line where it is a heading of the first level.
    """
    whole, encoding = detect_and_decode_text(content)
    text, about, notes = split_front_matter(cut_pictures_fix_line_ends(whole), path)
    title = _find_first_text_field(about, "title") or find_title_heading_at_start(text)
    lang = _find_first_text_field(about, "lang", "language", "locale")
    return DocumentAsText(text, title, lang.replace("_", "-"), about, encoding, notes)


def find_title_heading_at_start(text: str) -> str:
    """Find the heading of the first level that a text begins with; empty where it begins with none."""
    match = _TITLE.match(text)
    return (match["atx"] or match["setext"]).strip().rstrip("#").strip() if match else ""


_FENCES = {"---": ("---", "..."), "+++": ("+++",)}
_LONGEST = 2**16
"""Characters of front matter."""


def split_front_matter(text: str, path: Path) -> tuple[str, Mapping[str, Any], tuple[str, ...]]:
    r"""The text after its front matter, what that says, and what is odd about it: a mapping in YAML between two lines
    `---`, or in TOML between two lines `+++`, before all else. What cannot be read so stays text.

    >>> split_front_matter("---\ntitle: A\n---\nText.", Path("a.md"))
    ('Text.', {'title': 'A'}, ())
    """
    opening = text[:3]
    if opening not in _FENCES or text[3:4] != "\n":
        return text, {}, ()
    ends = "|".join(map(re.escape, _FENCES[opening]))
    closing = re.compile(rf"^(?:{ends})[ \t]*(?:\n|\Z)", re.MULTILINE).search(text, 4, _LONGEST)
    if closing is None:
        return text, {}, ()
    try:
        inside = text[4 : closing.start()]
        facts = tomllib.loads(inside) if opening == "+++" else parse_yaml(inside, path)
    except (DataError, tomllib.TOMLDecodeError, RecursionError):
        return text, {}, ("front matter that cannot be read, kept as text",)
    if not isinstance(facts, dict):
        # Two rules with a paragraph between them are no front matter.
        return (text, {}, ()) if facts is not None else (text[closing.end() :], {}, ())
    about = {str(key).lower(): value for key, value in facts.items() if value is not None}
    return text[closing.end() :], about, ()


def _find_first_text_field(about: Mapping[str, Any], *names: str) -> str:
    return next((value.strip() for name in names if isinstance(value := about.get(name), str)), "")


_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS_IN_WORDS = """
    address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure
    footer form header hgroup hr legend main ol p section summary table tbody tfoot thead ul
"""
_BLOCKS = frozenset(_BLOCKS_IN_WORDS.split())
_UNREAD_IN_WORDS = """
    script style template svg math noscript iframe object canvas button select textarea nav audio video head
"""
_UNREAD = frozenset(_UNREAD_IN_WORDS.split())
_BOUNDARIES = frozenset({"nav", "head"})
"""Those of the unread whose end is often forgotten: where one never ends, it is read after all."""
_CELLS = frozenset({"td", "th"})
_SPACE = re.compile(r"[ \t\n\f\xa0]+")
_BREAK = "\r"
"""What stands for `br` until a block ends; no page has one, its line ends being made alike."""
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)


def find_declared_charset(content: bytes) -> str:
    """The encoding that a page says it has, empty where it says none."""
    match = _CHARSET.search(content[:4096])
    return match[1].decode("ascii") if match else ""


def extract_html_text_title_and_language(page: str) -> tuple[str, str, str]:
    """Extract the text of a page, its title and its language, each empty where there is none.

    Headings are lines of `#`, entries of lists lines with `-`, rows of tables lines with `|`, and preformatted text
    stands in fences. Scripts, styles, pictures, forms and navigation are left out; where the page has a `main`, so is
    all outside it. Never fails.

    >>> extract_html_text_title_and_language(
    ...     "<html lang=en><title>T</title><nav>Menu</nav><h2>A</h2><p>One<br>two.<script>x</script>"
    ... )
    ('## A\\n\\nOne\\ntwo.', 'T', 'en')
    """
    reader = _parse_page(page, _UNREAD)
    # A second pass that leaves these in: a tag without its end would swallow the page.
    if reader.unclosed_skipped_tags & _BOUNDARIES:
        reader = _parse_page(page, _UNREAD - _BOUNDARIES)
    return reader.text(), _collapse_whitespace_in_lines("".join(reader.title)), reader.lang


def _parse_page(page: str, unread: frozenset[str]) -> _HtmlBlockReader:
    reader = _HtmlBlockReader(unread)
    for token in tokenize_html(page):
        if isinstance(token, str):
            reader.take_text(token)
        elif isinstance(token, HtmlStartTag):
            reader.start(token.tag, token.attributes)
        else:
            reader.end_element(token.tag)
    return reader


def _collapse_whitespace_in_lines(text: str) -> str:
    lines = _SPACE.sub(" ", text).split(_BREAK)
    return "\n".join(line.strip() for line in lines).strip()


class _HtmlBlockReader:
    """Collects text by blocks; `main` of them are inside a `main`."""

    def __init__(self, unread: frozenset[str]) -> None:
        self._unread = unread
        self._skipped: list[str] = []
        self._skipped_tags = Counter[str]()
        self._blocks: list[tuple[str, bool]] = []
        self._block: list[str] = []
        self._before = ""
        self._main = self._pre = 0
        self._in_title = self._permalink = False
        self.title: list[str] = []
        self.lang = ""

    @property
    def unclosed_skipped_tags(self) -> set[str]:
        """The tags of what is left out and never ended."""
        return set(self._skipped)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        if tag == "title" and not self.title:
            self._in_title = True
        elif tag == "html":
            self.lang = self.lang or (attributes.get("lang") or attributes.get("xml:lang", "")).strip()
        elif tag == "body" and self._skipped == ["head"]:
            self._leave_skipped_element("head")  # which may end without a word
        elif tag in self._unread:
            self._skipped.append(tag)
            self._skipped_tags[tag] += 1
        elif tag == "br":
            self._block.append("\n" if self._pre else _BREAK)
        elif tag == "a":
            self._permalink = "headerlink" in attributes.get("class", "")
        else:
            self._open_element(tag)

    def _open_element(self, tag: str) -> None:
        if tag == "pre":
            self._end_block()
            self._pre += 1
        elif tag in _HEADINGS:
            self._end_block("#" * _HEADINGS[tag] + " ")
        elif tag == "li":
            self._end_block("- ")
        elif tag in _CELLS:
            if self._block:
                self._block.append(" | ")
        elif tag in _BLOCKS or tag == "tr":
            self._end_block()
        self._main += tag == "main"

    def _leave_skipped_element(self, tag: str) -> None:
        """Leave what is skipped, and with it all that began within and never ended."""
        left = ""
        while left != tag:
            left = self._skipped.pop()
            self._skipped_tags[left] -= 1

    def end_element(self, tag: str) -> None:
        """End an element."""
        if tag == "title":
            self._in_title = False
        elif self._skipped_tags[tag]:
            self._leave_skipped_element(tag)
        elif tag == "a":
            self._permalink = False
        elif tag == "pre" and self._pre:
            self._end_block()
            self._pre -= 1
        elif tag in _BLOCKS or tag in _HEADINGS or tag in ("li", "tr"):
            self._end_block()
            self._main -= tag == "main" and self._main > 0

    def take_text(self, data: str) -> None:
        """Take in the text between two tags."""
        if self._in_title:
            self.title.append(data)
        elif not self._skipped and not self._permalink:
            self._block.append(data)

    def _end_block(self, before: str = "") -> None:
        """End a block and keep it; the next one has `before` in front."""
        text = "".join(self._block)
        if text.strip():
            shown = (
                f"```\n{text.strip(chr(10))}\n```" if self._pre else self._before + _collapse_whitespace_in_lines(text)
            )
            self._blocks.append((shown, self._main > 0))
        self._block.clear()
        if before or text.strip():
            self._before = before

    def text(self) -> str:
        """All of it; only what is in a `main` where there is one."""
        self._end_block()
        main = [text for text, inside in self._blocks if inside]
        return _join_blocks(main or [text for text, _ in self._blocks], _are_of_same_list_or_table)


def _are_of_same_list_or_table(one: str, other: str) -> bool:
    """Whether two blocks are lines of one list or table."""
    return all(block.startswith("- ") for block in (one, other)) or all(" | " in block for block in (one, other))


def _join_blocks(blocks: list[str], close: Callable[[str, str], bool]) -> str:
    parts = blocks[:1]
    for block, following in pairwise(blocks):
        parts += ["\n" if close(block, following) else "\n\n", following]
    return "".join(parts)
