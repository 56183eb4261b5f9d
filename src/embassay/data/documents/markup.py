"""HTML as text: headings as Markdown has them, a line for each block, and none of what a reader does not read."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    (
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "body",
            "caption",
            "center",
            "dd",
            "details",
            "dialog",
            "div",
        ),
        *(
            "dl",
            "dt",
            "fieldset",
            "figcaption",
            "figure",
            "footer",
            "form",
            "header",
            "hgroup",
            "hr",
            "legend",
        ),
        *("main", "ol", "p", "section", "summary", "table", "tbody", "tfoot", "thead", "ul"),
    )
)
_UNREAD = frozenset(
    (
        *(
            "script",
            "style",
            "template",
            "svg",
            "math",
            "noscript",
            "iframe",
            "object",
            "canvas",
            "button",
            "select",
        ),
        *("textarea", "nav", "audio", "video", "head"),
    )
)
_BOUNDARIES = frozenset({"nav", "head"})
"""Those of the unread whose end is often forgotten: where one never ends, it is read after all."""
_CELLS = frozenset({"td", "th"})
_SPACE = re.compile(r"[ \t\n\f\xa0]+")
_BREAK = "\r"
"""What stands for `br` until a block ends; no page has one, its line ends being made alike."""
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)


def declared_charset(content: bytes) -> str:
    """The encoding that a page says it has, empty where it says none."""
    found = _CHARSET.search(content[:4096])
    return found[1].decode("ascii") if found else ""


def html_text(page: str) -> tuple[str, str, str]:
    """The text of a page, its title and its language, each empty where there is none.

    Headings are lines of `#`, entries of lists lines with `-`, rows of tables lines with `|`, and preformatted text
    stands in fences. Scripts, styles, pictures, forms and navigation are left out; where the page has a `main`, so is
    all outside it. Never fails.

    >>> html_text("<html lang=en><title>T</title><nav>Menu</nav><h2>A</h2><p>One<br>two.<script>x</script>")
    ('## A\\n\\nOne\\ntwo.', 'T', 'en')
    """
    reader = _parsed(page, _UNREAD)
    if reader.unended & _BOUNDARIES:
        reader = _parsed(page, _UNREAD - _BOUNDARIES)
    return reader.text(), _line("".join(reader.title)), reader.lang


def _parsed(page: str, unread: frozenset[str]) -> _Reader:
    reader = _Reader(unread)
    reader.feed(page)
    reader.close()
    return reader


def _line(text: str) -> str:
    lines = _SPACE.sub(" ", text).split(_BREAK)
    return "\n".join(line.strip() for line in lines).strip()


class _Reader(HTMLParser):
    """Collects text by blocks; `main` of them are inside a `main`."""

    def __init__(self, unread: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self._unread = unread
        self._skipped: list[str] = []
        self._blocks: list[tuple[str, bool]] = []
        self._block: list[str] = []
        self._before = ""
        self._main = self._pre = 0
        self._in_title = self._permalink = False
        self.title: list[str] = []
        self.lang = ""

    @property
    def unended(self) -> set[str]:
        """The tags of what is left out and never ended."""
        return set(self._skipped)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "title" and not self.title:
            self._in_title = True
        elif tag == "html":
            self.lang = self.lang or (given.get("lang") or given.get("xml:lang") or "").strip()
        elif tag == "body" and self._skipped == ["head"]:
            self._skipped.clear()  # a head may end without a word
        elif tag in self._unread:
            self._skipped.append(tag)
        elif tag == "br":
            self._block.append("\n" if self._pre else _BREAK)
        elif tag == "a":
            self._permalink = "headerlink" in (given.get("class") or "")
        else:
            self._open(tag)

    def _open(self, tag: str) -> None:
        if tag == "pre":
            self._end_block()
            self._pre += 1
        elif tag in _HEADINGS:
            self._end_block("#" * _HEADINGS[tag] + " ")
        elif tag == "li":
            self._end_block("- ")
        elif tag in _CELLS:
            self._block.append(" | " if any(self._block) else "")
        elif tag in _BLOCKS or tag == "tr":
            self._end_block()
        self._main += tag == "main"

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._skipped:
            del self._skipped[len(self._skipped) - 1 - self._skipped[::-1].index(tag) :]
        elif tag == "a":
            self._permalink = False
        elif tag == "pre" and self._pre:
            self._end_block()
            self._pre -= 1
        elif tag in _BLOCKS or tag in _HEADINGS or tag in ("li", "tr"):
            self._end_block()
            self._main -= tag == "main" and self._main > 0

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._skipped and not self._permalink:
            self._block.append(data)

    def _end_block(self, before: str = "") -> None:
        """Keep the block that ends here; the next one has `before` in front."""
        text = "".join(self._block)
        if text.strip():
            shown = f"```\n{text.strip(chr(10))}\n```" if self._pre else self._before + _line(text)
            self._blocks.append((shown, self._main > 0))
        self._block.clear()
        if before or text.strip():
            self._before = before

    def text(self) -> str:
        """All of it; only what is in a `main` where there is one."""
        self._end_block()
        main = [text for text, inside in self._blocks if inside]
        return _joined(main or [text for text, _ in self._blocks], _is_close)


def _is_close(one: str, other: str) -> bool:
    """Whether two blocks are lines of one list or table."""
    return all(block.startswith("- ") for block in (one, other)) or all(
        " | " in block for block in (one, other)
    )


def _joined(blocks: list[str], close: Callable[[str, str], bool]) -> str:
    parts = blocks[:1]
    for one, other in pairwise(blocks):
        parts += ["\n" if close(one, other) else "\n\n", other]
    return "".join(parts)
