"""reStructuredText as Markdown: its headings, its code in fences, its notes as paragraphs, its references as their
texts, and none of what only steers a page.

Directives are those of Sphinx and docutils by what becomes of them; of others the content stays. Never fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from embassay.data.documents.markup import (
    DocumentAsText,
    cut_pictures_fix_line_ends,
    detect_and_decode_text,
    find_title_heading_at_start,
)

_ADORNED = re.compile(r"([=\-~`:'\"^_*+#<>.])\1{2,}\s*")
_DIRECTIVE = re.compile(r"(?P<indent>\s*)\.\.\s+(?P<name>[\w:+-]+)::(?:\s+(?P<about>.*))?")
_SUBSTITUTED = re.compile(r"\.\.\s+\|(?P<name>[^|\n]+)\|\s+replace::\s*(?P<text>.*)")
_COMMENT = re.compile(r"(?P<indent>\s*)\.\.(\s.*)?")
_FOOTNOTE = re.compile(r"\s*\.\.\s+\[[^\]]+\]\s+(?P<text>.+)")
_FIELD = re.compile(r"\s*:[^:`\s][^:`]*:(\s.*)?")
_ITEM = re.compile(r"\s*([-*+•]|\(?(\d+|#|[A-Za-z])[.)])\s+\S")
_AUTOMATIC = re.compile(r"^(\s*)#\.(?=\s)")
_NOTE_IN_ITEM = re.compile(r"(?<=[-*+] )\.\. [\w-]+::\s*[\d.]*\s*")
_TABLE_RULE = re.compile(r"\s*=+(\s+=+)+\s*")
_COLUMNS = re.compile(r"\s{2,}")
_NOTES_IN_WORDS = """
    note warning tip important attention caution danger error hint seealso admonition topic sidebar container only
    epigraph rubric centered versionadded versionchanged deprecated glossary rst-class figure tab tabs tab-set
    tab-item dropdown grid card details collapse
"""
_NOTES = frozenset(_NOTES_IN_WORDS.split())
_CODE_IN_WORDS = """
    code code-block sourcecode parsed-literal productionlist math doctest testcode testoutput prompt console ipython
    jupyter-execute command-output program-output mermaid graphviz digraph
"""
_CODE = frozenset(_CODE_IN_WORDS.split())
_SILENT_IN_WORDS = """
    toctree image include literalinclude index contents currentmodule py:currentmodule module py:module meta raw
    highlight tabularcolumns default-role default-domain role title csv-table list-table table sectnum header footer
    automodule autoclass autofunction automethod autoattribute autodata autoexception autosummary plot program
    testsetup testcleanup target-notes replace unicode date class
"""
_SILENT = frozenset(_SILENT_IN_WORDS.split())
_VERSIONED = frozenset({"versionadded", "versionchanged", "deprecated"})
_ROLE = re.compile(r":[\w:+.-]+:`(?P<text>[^`]+)`")
_TARGETED = re.compile(r"(?P<text>.*?)\s*<[^<>]+>", re.DOTALL)
_LITERAL = re.compile(r"``(?P<text>.+?)``", re.DOTALL)
_LINK = re.compile(r"`(?P<text>[^`<]+?)(\s*<[^`<>]+>)?`__?(?!\w)", re.DOTALL)
_WORD_LINK = re.compile(r"(?<![\w`])(?P<text>[A-Za-z][\w.-]*\w)_(?![\w`])")
_BRACKETED = re.compile(r"\s?\[(\d+|#\w*|\*)\]_")


def read_restructured_text(content: bytes, path: Path) -> DocumentAsText:
    """A file of reStructuredText; its title is the heading that it begins with."""
    del path
    whole, encoding = detect_and_decode_text(content)
    text = convert_rst_to_markdown(cut_pictures_fix_line_ends(whole))
    return DocumentAsText(text, find_title_heading_at_start(text), encoding=encoding)


def convert_rst_to_markdown(text: str) -> str:
    r"""Convert reStructuredText to Markdown.

    >>> convert_rst_to_markdown("Title\n=====\n\n.. note::\n\n   See :ref:`the guide <guide>`.\n\nRun::\n\n    make\n")
    '# Title\n\nSee the guide.\n\nRun:\n\n```\nmake\n```\n'
    """
    lines = [line.expandtabs().rstrip() for line in text.split("\n")]
    words = {match["name"]: match["text"] for line in lines if (match := _SUBSTITUTED.match(line))}
    reader = _RstToMarkdownConverter()
    reader.read(lines)
    return "\n".join(_join_paragraphs_and_resolve_references(reader.out, words)).strip("\n") + "\n"


def _join_paragraphs_and_resolve_references(lines: Sequence[str], words: Mapping[str, str]) -> Iterator[str]:
    """One blank line between blocks, and within fences all of them; references as their texts, which may be on two
    lines."""
    paragraph: list[str] = []
    fenced = False
    for line in [*lines, ""]:
        if line and not fenced and not line.startswith("```"):
            paragraph.append(line)
            continue
        if paragraph:
            yield _strip_rst_reference_marks("\n".join(paragraph), words)
            paragraph = []
            if not line:
                yield ""
        if line or fenced:
            yield line
        if line.startswith("```"):
            if fenced:
                yield ""
            fenced = not fenced


def _strip_rst_reference_marks(text: str, words: Mapping[str, str]) -> str:
    """Strip the marks of references; literals are put in single backquotes, as Markdown has them."""
    if "|" in text:
        for name, word in words.items():
            text = text.replace(f"|{name}|", word)
    if "`" in text:
        text = _ROLE.sub(lambda match: _read_reference_text(match["text"]), text)
        text = _LITERAL.sub(lambda match: f"\0{match['text']}\0", text)
        text = _LINK.sub(lambda match: match["text"], text).replace("\0", "`")
    return _BRACKETED.sub("", _WORD_LINK.sub(lambda match: match["text"], text)) if "_" in text else text


class _RstToMarkdownConverter:
    """Collects lines of Markdown; headings are ranked in the order in which their marks come."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self._levels: list[str] = []

    def read(self, lines: Sequence[str]) -> None:
        """Take the lines of a block, the whole text or what is indented under a directive."""
        at = 0
        readers: tuple[Callable[[Sequence[str], int], int], ...] = (
            self._convert_heading_and_find_end,
            self._convert_directive_and_find_end,
            self._skip_comment_and_find_end,
            self._convert_doctest_and_find_end,
            self._convert_table_and_find_end,
            self._convert_literal_block_and_find_end,
            self._convert_definition_and_find_end,
        )
        while at < len(lines):
            after = next((end for reader in readers if (end := reader(lines, at)) > at), at)
            if after == at:
                self.out.append(self._clean_list_item(lines[at]))
                after = at + 1
            at = after

    def _clean_list_item(self, line: str) -> str:
        """A line of text; of a list that numbers itself the number, and of a note in a list its mark gone."""
        return _NOTE_IN_ITEM.sub("", _AUTOMATIC.sub(r"\g<1>1.", line))

    def _convert_heading_and_find_end(self, lines: Sequence[str], at: int) -> int:
        over = bool(_ADORNED.fullmatch(lines[at])) and at + 2 < len(lines)
        title, under = (at + 1, at + 2) if over else (at, at + 1)
        if under >= len(lines) or not _ADORNED.fullmatch(lines[under]):
            return self._skip_transition_line(lines, at)
        name = lines[title].strip()
        if not name or _ADORNED.fullmatch(name) or (over and lines[at] != lines[under]) or _ITEM.match(name):
            return self._skip_transition_line(lines, at)
        if len(lines[under]) + 2 < len(name) or (not over and at and lines[at - 1].strip()):
            return at
        # Which mark is of which level is only known by their order.
        mark = ("^" if over else "") + lines[under][0]
        if mark not in self._levels:
            self._levels.append(mark)
        level = min(self._levels.index(mark) + 1, 6)
        self.out += ["", f"{'#' * level} {name}", ""]
        return under + 1

    def _skip_transition_line(self, lines: Sequence[str], at: int) -> int:
        """Read a transition, a line of marks between two blank ones: a rule across the page."""
        return at + 1 if len(lines[at]) > 3 and _ADORNED.fullmatch(lines[at]) else at

    def _convert_directive_and_find_end(self, lines: Sequence[str], at: int) -> int:
        match = _DIRECTIVE.fullmatch(lines[at])
        if match is None:
            return at
        end = _find_indented_block_end(lines, at + 1, len(match["indent"]))
        body = _dedent(lines[at + 1 : end])
        name, about = match["name"].lower(), (match["about"] or "").strip()
        while body and (not body[0] or _FIELD.fullmatch(body[0])):
            body = body[1:]
        # Options of a directive steer how it is shown, and are gone by now.
        if name in _CODE:
            self._write_code_fence(body)
        elif name not in _SILENT:
            self.out.append("")
            self.out += self._iterate_directive_opening_lines(name, about)
            self.read(body)
            self.out.append("")
        return end

    def _iterate_directive_opening_lines(self, name: str, about: str) -> Iterator[str]:
        """Read what stands on a directive's line: the text of a note, the name of what is described."""
        if name in _VERSIONED:
            about = about.partition(" ")[2]
        elif name not in _NOTES or name in ("only", "container", "rst-class", "figure"):
            about = f"`{about}`\n" if about and name.rpartition(":")[2] in _DESCRIBED else ""
        if about:
            yield about

    def _skip_comment_and_find_end(self, lines: Sequence[str], at: int) -> int:
        match = _COMMENT.fullmatch(lines[at])
        if match is None:
            return at
        end = _find_indented_block_end(lines, at + 1, len(match["indent"]))
        if footnote := _FOOTNOTE.fullmatch(lines[at]):
            self.read(["", footnote["text"], *_dedent(lines[at + 1 : end]), ""])
        return end

    def _convert_doctest_and_find_end(self, lines: Sequence[str], at: int) -> int:
        if not lines[at].lstrip().startswith(">>> "):
            return at
        end = next((place for place in range(at, len(lines)) if not lines[place]), len(lines))
        self._write_code_fence(_dedent(lines[at:end]))
        return end

    def _convert_table_and_find_end(self, lines: Sequence[str], at: int) -> int:
        """Read a table between rules of `=`, as rows between strokes."""
        if not _TABLE_RULE.fullmatch(lines[at]):
            return at
        end = at
        while end < len(lines) and (lines[end] or not _TABLE_RULE.fullmatch(lines[end - 1])):
            end += 1
        rows = [line.strip() for line in lines[at:end] if line and not _TABLE_RULE.fullmatch(line)]
        self.out += ["", *(f"| {' | '.join(_COLUMNS.split(row))} |" for row in rows), ""]
        return end

    def _convert_literal_block_and_find_end(self, lines: Sequence[str], at: int) -> int:
        """Read a literal block: a paragraph's last line that ends in `::`, and the code under it."""
        if not lines[at].endswith("::"):
            return at
        start = next((place for place in range(at + 1, len(lines)) if lines[place]), len(lines))
        indent = _count_indent(lines[at])
        if start == at + 1 or start == len(lines) or _count_indent(lines[start]) <= indent:
            return at
        end = _find_indented_block_end(lines, start, indent)
        if text := lines[at].strip()[:-1].rstrip().removesuffix(":"):
            self.out.append(f"{lines[at][:indent]}{text}:")
        self._write_code_fence(_dedent(lines[start:end]))
        return end

    def _convert_definition_and_find_end(self, lines: Sequence[str], at: int) -> int:
        """Read a term whose definition is indented under it, or an indented paragraph on the margin."""
        line = lines[at]
        fresh = not at or not lines[at - 1] or _count_indent(lines[at - 1]) > _count_indent(line)
        if not line or not fresh or _ITEM.match(line) or line.lstrip().startswith(("|", "+-")):
            return at
        indent = _count_indent(line)
        if at + 1 < len(lines) and lines[at + 1] and _count_indent(lines[at + 1]) > indent:
            end = _find_indented_block_end(lines, at + 1, indent)
            self.out += ["", line.strip(), ""]
            self.read(_dedent(lines[at + 1 : end]))
            self.out.append("")
            return end
        return at

    def _write_code_fence(self, body: Sequence[str]) -> None:
        code = "\n".join(body).strip("\n")
        if code:
            # Code that shows fences stands in a longer one.
            marks = "````" if "```" in code else "```"
            self.out += ["", marks, *code.split("\n"), marks, ""]


_DESCRIBED_IN_WORDS = """
    function method class data attribute exception option cmdoption envvar confval command variable describe object
    property decorator classmethod staticmethod macro type member struct enum setting
"""
_DESCRIBED = frozenset(_DESCRIBED_IN_WORDS.split())
"""Directives that describe what they name."""


def _read_reference_text(text: str) -> str:
    """Read the text of a reference: its own, or the name that it refers to."""
    targeted = _TARGETED.fullmatch(text)
    return (targeted["text"] if targeted and targeted["text"] else text.strip("<>")).lstrip("~!")


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _find_indented_block_end(lines: Sequence[str], start: int, indent: int) -> int:
    """Find where what is indented by more than `indent` ends, with the blank lines inside."""
    end = start
    for place in range(start, len(lines)):
        if lines[place]:
            if _count_indent(lines[place]) <= indent:
                break
            end = place + 1
    return end


def _dedent(lines: Sequence[str]) -> list[str]:
    indent = min((_count_indent(line) for line in lines if line), default=0)
    return [line[indent:] for line in lines]
