"""Bytes of text as a document: its encoding told from them, line ends made alike, front matter taken off."""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embassay.data.yaml import yaml_of
from embassay.errors import DataError


class Unread(Exception):
    """A document cannot be read; the message says why, in words that many documents can be counted under."""


@dataclass(frozen=True)
class Prose:
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
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 2**16
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1b\x08")) + b"\x7f"


def decoded(content: bytes, declared: str = "") -> tuple[str, str]:
    """The text, and its encoding: that of a byte order mark, the `declared` one, UTF-8, or what the bytes look most
    like. Unread for what is no text, or in no encoding that can be told."""
    for mark, name in _MARKS:
        if content.startswith(mark):
            return _as(content, name), name
    if is_binary(content):
        raise Unread("files that hold no text")
    for name in filter(None, (declared, "utf-8")):
        try:
            return content.decode(name), codecs.lookup(name).name
        except (LookupError, ValueError):
            continue
    return _guessed(content)


def is_binary(content: bytes) -> bool:
    """Whether there is a NUL byte among them, or one byte in ten of the first is a control character."""
    first = content[:_SAMPLE]
    return b"\0" in content or len(first) - len(first.translate(None, _CONTROLS)) > len(first) / 10


def _guessed(content: bytes) -> tuple[str, str]:
    """By how common the letters that they would make are."""
    from charset_normalizer import from_bytes

    # Cut after a line, not within a character.
    sample = (
        content if len(content) <= _SAMPLE else content[: content.rfind(b"\n", 0, _SAMPLE) + 1 or _SAMPLE]
    )
    found = from_bytes(sample)
    best = found.best()
    if best is None:
        raise Unread("files whose encoding cannot be detected")
    alike = (match for match in found if match.encoding == _WESTERN and _as_good(match, best))
    encoding = next((match.encoding for match in alike if _may_be_western(str(match))), best.encoding)
    return _as(content, encoding), encoding


_WESTERN = "cp1252"
_WITHIN_WORDS = re.compile(r"[^\W\d_](¹|[³¿º¾¼][^\W\d_])")
"""What letters of central Europe would be in western Europe's encoding, and what no word of the west has inside it."""


def _as_good(match: Any, best: Any) -> bool:
    return bool(match.chaos <= best.chaos and match.coherence >= best.coherence)


def _may_be_western(text: str) -> bool:
    """Whether a text, read so, may be: the detector names the first of its alphabet among equals, and so took French
    for Czech. Hungarian shows by an õ where Portuguese would have an ã as well."""
    return not _WITHIN_WORDS.search(text) and ("õ" not in text or "ã" in text)


def _as(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except ValueError:
        raise Unread("files whose encoding cannot be detected") from None


_ENDS = re.compile(r"\r\n?")
_EMBEDDED = re.compile(r"(data:[\w/+.-]{1,40};base64,)[A-Za-z0-9+/=]{100,}")


def cleaned(text: str) -> str:
    r"""Line ends as \n, and pictures that are written out as letters cut."""
    text = _ENDS.sub("\n", text) if "\r" in text else text
    return _EMBEDDED.sub(r"\1...", text) if ";base64," in text else text


def plain_text(content: bytes) -> Prose:
    """A text file, which has no title."""
    text, encoding = decoded(content)
    return Prose(cleaned(text), encoding=encoding)


_TITLE = re.compile(r"\s*#[ \t]+(?P<atx>[^\n]+)|\s*(?P<setext>\S[^\n]*)\n=+[ \t]*(?:\n|\Z)")


def markdown(content: bytes, path: Path) -> Prose:
    """A Markdown file: its text without the front matter, which says its title, language and more.

    Without a title there, that is the first line where it is a heading of the first level.
    """
    whole, encoding = decoded(content)
    text, about, notes = front_matter(cleaned(whole), path)
    title = _said(about, "title") or heading(text)
    lang = _said(about, "lang", "language", "locale")
    return Prose(text, title, lang.replace("_", "-"), about, encoding, notes)


def heading(text: str) -> str:
    """The heading of the first level that a text begins with; empty where it begins with none."""
    found = _TITLE.match(text)
    return (found["atx"] or found["setext"]).strip().rstrip("#").strip() if found else ""


_FENCES = {"---": ("---", "..."), "+++": ("+++",)}
_LONGEST = 2**16
"""Characters of front matter."""


def front_matter(text: str, path: Path) -> tuple[str, Mapping[str, Any], tuple[str, ...]]:
    r"""The text after its front matter, what that says, and what is odd about it: a mapping in YAML between two lines
    `---`, or in TOML between two lines `+++`, before all else. What cannot be read so stays text.

    >>> front_matter("---\ntitle: A\n---\nText.", Path("a.md"))
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
        said = tomllib.loads(inside) if opening == "+++" else yaml_of(inside, path)
    except (DataError, tomllib.TOMLDecodeError, RecursionError):
        return text, {}, ("front matter that cannot be read, kept as text",)
    if not isinstance(said, dict):
        # Two rules with a paragraph between them are no front matter.
        return (text, {}, ()) if said is not None else (text[closing.end() :], {}, ())
    about = {str(key).lower(): value for key, value in said.items() if value is not None}
    return text[closing.end() :], about, ()


def _said(about: Mapping[str, Any], *names: str) -> str:
    return next((found.strip() for name in names if isinstance(found := about.get(name), str)), "")
