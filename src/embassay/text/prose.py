"""Sentences of Markdown that a person can read by themselves: no code, markup, table, template, address or heading.

A text is taken apart into paragraphs and entries of lists; whatever else it has gives no sentence. A sentence is read
without its markup: `[a guide](guide.md)` is a guide.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from itertools import pairwise

from embassay.text.chunking import find_code_fences, find_sentence_ends

LEAST_WORDS, MOST_WORDS = 6, 45
"""Of a sentence; two signs of a script without blanks count as a word."""
CODE_SHARE = 0.4
"""Share of a sentence's characters that may be code."""


@dataclass(frozen=True)
class ProseSentence:
    """Characters `start` to `end` of a text, and how they read. `stands_alone` says whether it begins as a sentence
    that needs nothing before it (known of English: "This", "However" and the like refer to what was said)."""

    start: int
    end: int
    text: str
    stands_alone: bool


def find_prose_sentences(text: str) -> list[ProseSentence]:
    """The sentences of a Markdown text that read by themselves, in order. Never fails.

    A sentence has 6 to 45 words, ends with a mark that ends sentences, and is no part of a heading, a table, code, a
    template or an entry of words only; it holds no address and few signs that code is written with.

    >>> text = "# On jets\\n\\nThe [jet](j.md) of a nozzle is **loud**.\\n\\n```sh\\nmake it loud now, or never.\\n```"
    >>> [one.text for one in find_prose_sentences(text)]
    ['The jet of a nozzle is loud.']
    """
    sentences = []
    cased = any(map(str.isupper, text))
    for first, last, entry in _find_prose_blocks(text):
        block = text[first:last]
        for start, end in pairwise([0, *find_sentence_ends(block)]):
            raw = block[start:end]
            begin = first + start + len(raw) - len(raw.lstrip())
            prose = raw.strip()
            # What begins a passage or an entry of a list with a small letter may be cut, or no sentence.
            fresh = cased and (begin == 0 or (entry and not start))
            if read := _clean_prose_sentence(prose, fresh=fresh):
                sentences.append(ProseSentence(begin, begin + len(prose), read, _REFERS_BACK.match(read) is None))
    return sentences


_BACK_IN_WORDS = """
    this these that those they their then thus therefore it its he she his her such otherwise however also additionally
    moreover furthermore instead hence but and or so yet nor both neither either where which similarly likewise finally
    first firstly second secondly next here there we our below above consequently nevertheless accordingly meanwhile
    conversely again see
"""
_REFERS_BACK = re.compile(
    rf"({'|'.join(_BACK_IN_WORDS.split())}|the (above|former|latter|following|same|other|second|third)|let.s|each of|"
    r"some of|all of|one of them|even so|in (some cases|this|that|these|those|both|such|addition|contrast|other)|"
    r"(for|with|to (do|solve|avoid|fix)|unlike|once) (this|that|these|so|example|instance)|"
    r"(if|when|note that) (so|not|this|that|these|it|they)|as (above|before|such|a result)|you can (also|then))\b",
    re.IGNORECASE,
)
_MARKED = re.compile(
    r"\s*(#{1,6}\s|\||\+[-=]|<(?!https?:)|:{2,}|:[\w -]+:(\s|\Z)|\.\. |@\w|\$ |>>> |% |\{[%{#]|\[[^\]]+\]:|={3,}|-{3,}|"
    r"[*_~^]{3,}|\\\w|(import|export|from)\s.*['\"];?\s*\Z|!\[|[\w-]+::)"
)
"""How a line begins that is no prose."""
_NOTE = re.compile(r"(?P<indent>\s*)(?:!!!|\?\?\?\+?)\s*\S.*")
_CALLOUT = re.compile(r"\s*>\s*\[!\w+\].*")
_ENTRY = re.compile(r"(?P<mark>\s*(?:(?:[-*+•]|\(?\d{1,3}[.)])\s+)+(?:\[[ xX]\]\s+)?)")
_QUOTED = re.compile(r"\s*>\s?")
_TABLE = re.compile(r".*\S\s*\|\s*\S.*\||.*\s\|\s|[\s|:-]+\Z|.*\S\s{3,}\S")


def _find_prose_blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start and end of the paragraphs and entries of lists, and whether one is an entry."""
    fences = iter([*find_code_fences(text), (len(text) + 1, len(text) + 1)])
    fence = next(fences)
    first, entry, margin, code, place = -1, False, 0, False, 0
    for line in text.splitlines(keepends=True):
        at, place = place, place + len(line)
        while at >= fence[1]:
            fence = next(fences)
        indent = len(line) - len(line.lstrip())
        blank = not line.strip()
        note = _NOTE.match(line)
        mark = _ENTRY.match(line)
        # After a blank line four blanks more than the margin, that of the list or note that it is in, make code.
        code = indent >= margin + 4 and (code or (first < 0 and not blank and not mark))
        apart = fence[0] <= at or code or note or _is_markup_line(line)
        if first >= 0 and (blank or apart or mark):
            if not _is_heading_underline(line):
                yield first, at, entry
            first = -1
        if note:
            # What is indented under its mark is its text.
            margin = len(note["indent"]) + 4
        elif mark and not apart:
            first, entry, margin = at + len(mark["mark"]), True, len(mark["mark"])
        elif not blank and not apart and first < 0:
            margin = min(margin, indent)
            first, entry = at + (len(quoted[0]) if (quoted := _QUOTED.match(line)) else indent), False
    if first >= 0:
        yield first, len(text), entry


def _is_markup_line(line: str) -> bool:
    return bool(_MARKED.match(line) or _CALLOUT.match(line) or _TABLE.match(line.rstrip()))


def _is_heading_underline(line: str) -> bool:
    """Whether this makes what stands above it a heading."""
    return bool(_UNDERLINED.fullmatch(line.strip()))


_UNDERLINED = re.compile(r"={2,}|-{3,}")
_ENDED = re.compile(r"[.!?…。！？।॥۔؟][\"'”’)\]}»」』）*_]*\Z")
_CODED = re.compile(r"[{}]|<%|%>|<\?php|={2,}|\);|(?:\A|\s)//\s|\A(?:const|let|var|def|return|import|class)\s|&&|\|\|")
_ADDRESS = re.compile(r"\b(?:https?|ftp|file)://|\bwww\.\w|\S+@\S+\.\w+|(?<!\w)/\w+/\w+/|[A-Za-z]:\\")
_SIGNS = re.compile(r"[{}<>=|\\;$#@~^]")
_COMPARED = re.compile(r"(?<=\w|\)) [<>=]{1,2} (?=\w|\()")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_SHORTER = 12
"""Signs of code are fewer than a sentence's characters by this."""


def _clean_prose_sentence(raw: str, *, fresh: bool) -> str:
    """The sentence without its markup; empty where it does not read by itself."""
    read, bare = read_markdown_with_and_without_code(raw)
    letter = next((sign for sign in read if sign.isalpha()), "")
    if not _ENDED.search(read) or (fresh and letter.islower() and not raw.startswith("`")):
        return ""
    if _CODED.search(bare) or _ADDRESS.search(read) or "`" in read:
        return ""
    if len(bare) < (1 - CODE_SHARE) * len(read):
        return ""
    return read if _has_balanced_brackets(read) and _is_worded_like_prose(read) else ""


def _has_balanced_brackets(read: str) -> bool:
    pairs = (("(", ")"), ("[", "]"), ("“", "”"), ("«", "»"), ("「", "」"), ("（", "）"))
    return all(read.count(opening) == read.count(closing) for opening, closing in pairs) and not read.count('"') % 2


def _is_worded_like_prose(read: str) -> bool:
    """Whether it has words enough and not too many, most of them of letters, and few signs."""
    signs = len(_UNSPACED.findall(read))
    # A letter's marks are apart in Indic scripts, so words are what stands between blanks.
    words = _UNSPACED.sub(" ", read).split()
    told = sum(any(map(str.isalpha, word)) for word in words)
    letters = sum(unicodedata.category(sign)[0] in "LM" for sign in read)
    dense = 3 * letters >= 2 * len(read.replace(" ", ""))
    few = _SHORTER * len(_SIGNS.findall(_COMPARED.sub(" ", read))) <= len(read)
    return dense and few and told + signs // 2 >= LEAST_WORDS and len(words) + signs // 2 <= MOST_WORDS


_CODE = re.compile(r"(`+)(?P<code>.+?)\1", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])")
_NAMED_LINK = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])+)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\])")
_FOOTNOTE = re.compile(r"\s?\[\^[^\]]+\]|\[@[^\]]+\]")
_TAG = re.compile(
    r"</?(?:a|abbr|b|big|br|center|cite|code|del|div|em|font|hr|i|img|ins|kbd|mark|p|q|s|samp|small|span|strong|sub|"
    r"summary|sup|tt|u|var|wbr)(?:\s[^<>]*)?/?>|<!--.*?-->",
    re.DOTALL | re.IGNORECASE,
)
_SHORTCUT = re.compile(r"(?<!\w)\[(?P<text>[^\[\]]*[^\W\d][^\[\]]*)\]")
_ROLE = re.compile(r":[\w:+.-]+:(?=`)")
_ATTRIBUTES = re.compile(r"\s?\{[:#.][^{}]*\}")
_SYMBOL = re.compile(r"(?<!\w):[a-z][a-z0-9_+-]*[a-z0-9]:(?!\w)")
_STRONG = re.compile(r"(\*\*\*|\*\*|(?<!\w)__)(?=\S)(?P<text>.+?)(?<=\S)\1", re.DOTALL)
_WEAK = re.compile(r"(?<![\w*])([*_])(?=[^\s*_])(?P<text>[^*_\n]*?(?:\n[^*_\n]*?)?)(?<=\S)\1(?![\w*])")
_STRUCK = re.compile(r"~~(?P<text>.+?)~~", re.DOTALL)
_ESCAPED = re.compile(r"\\(?=[^\w\s])")
_BREAK = re.compile(r"\s*\n(\s*>)*\s*")
_HELD = re.compile(r"\0(\d+)\0")


def read_markdown_with_and_without_code(raw: str) -> tuple[str, str]:
    r"""A stretch of Markdown as it reads, and the same without its code.

    >>> read_markdown_with_and_without_code("Call `fit` **twice**, see\n[the guide](g.md#fit).")
    ('Call fit twice, see the guide.', 'Call  twice, see the guide.')
    """
    codes: list[str] = []

    def replace_code_by_placeholder(match: re.Match[str]) -> str:
        codes.append(match["code"].strip())
        return f"\0{len(codes) - 1}\0"

    # A NUL would be taken for what stands for code.
    # Code is put aside first: an asterisk in it is one.
    text = _CODE.sub(replace_code_by_placeholder, _ROLE.sub("", raw.replace("\0", "")))
    text = _NAMED_LINK.sub(lambda match: match["text"], _FOOTNOTE.sub("", _IMAGE.sub("", text)))
    text = _SYMBOL.sub("", _ATTRIBUTES.sub("", _TAG.sub("", text)))
    for pattern in (_SHORTCUT, _STRONG, _WEAK, _STRUCK):
        text = pattern.sub(lambda match: match["text"], text)
    text = " ".join(unescape(_BREAK.sub(" ", _ESCAPED.sub("", text))).split())
    read = _HELD.sub(lambda match: " ".join(codes[int(match[1])].split()), text)
    return read, _HELD.sub("", text)
