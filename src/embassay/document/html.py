"""Blocks as HTML; and a page, style and script in fewer bytes: nothing but variables of the style is renamed, nothing
that a reader sees is lost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from itertools import product
from string import ascii_letters
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from embassay.document import marks
from embassay.document.blocks import (
    Block,
    Column,
    CommandInSentence,
    PageLink,
    Part,
    Said,
    StyledWords,
    SystemNameInSentence,
    Table,
    TableCell,
)
from embassay.protocols.kernel.tables import replace_control_characters

TAGS = ("b", "bdi", "em", "small")


def make_block_environment(*loaders: BaseLoader) -> Environment:
    """Templates of the `loaders` and of blocks: everything is escaped, an unknown name is an error."""
    jinja = Environment(
        loader=ChoiceLoader([*loaders, PackageLoader("embassay.document", "templates")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.globals["marks"] = marks
    jinja.filters.update(said=render_words_as_html, attribute=format_html_attribute, classes=list_cell_css_classes)
    return jinja


def render_blocks_as_html(blocks: Iterable[Block], slug: str = "") -> Markup:
    """Blocks as HTML; `slug` begins the id of a verdict's heading."""
    return Markup(make_block_environment().get_template("blocks.html").module.all(tuple(blocks), slug))  # type: ignore[attr-defined]


def render_words_as_html(words: Said) -> Markup:
    """Words as HTML: names of systems in bold, isolated from the direction of the text around them."""
    return escape(words) if isinstance(words, str) else Markup("").join(map(_render_sentence_part, words))


def _render_sentence_part(part: Part) -> Markup:
    match part:
        case str():
            return escape(part)
        case SystemNameInSentence():
            return Markup("<b><bdi>{}</bdi></b>").format(part.label)
        case CommandInSentence():
            return Markup("<code>{}</code>").format(part.label)
        case StyledWords() if part.style == "command":
            return Markup('<code class="command">{}</code>').format(part.label)
        case StyledWords() if part.style == "data":
            return Markup('<span class="data" dir="auto">{}</span>').format(part.label)
        case PageLink():
            return Markup('<a href="#{}">{}</a>').format(part.place, part.label)
        case StyledWords() if part.style in TAGS:
            return Markup(f"<{part.style}>{{}}</{part.style}>").format(part.label)
    return Markup('<span class="{}">{}</span>').format(part.style, part.label)


def format_html_attribute(value: Any, name: str) -> Markup:
    """An attribute, where it has a value."""
    return Markup(' {}="{}"').format(name, value) if value else Markup("")


def list_cell_css_classes(entry: TableCell, column: Column, table: Table) -> str:
    """The classes of a cell: its ground or its column's style, its own, and whether it is bold."""
    ground = (
        f"{'h' if entry.step >= 0 else 'a'}{abs(entry.step)}" if table.is_heatmap and not column.style else column.style
    )
    return " ".join(filter(None, (ground, entry.style, "best" if entry.bold else "")))


SIGNS = r"\\.|\[(?:\\.|[^\]\\])*\]"
LITERAL = re.compile(
    r'("(?:\\.|[^"\\])*"' + r"|'(?:\\.|[^'\\\n])*'" + r"|`(?:\\.|[^`\\])*`"
    rf"|(?<=[(,=!&|?:])\s?/(?! )(?:{SIGNS}|[^/\\\n\[])+/[a-z]*)"
)  # fmt: skip
"""Strings, templates and regular expressions of a script, which stay as they are."""


VARIABLE = re.compile(r"(?<![\w-])--([a-z][\w-]*)")
BLOCKS = "p|h[1-6]|div|table|section|article|ul|ol|dl|figure|details|pre|fieldset|main"
"""What ends a paragraph without being told."""


def minify_html(html: str) -> str:
    """A page without end tags that HTML lets out, with one line break between tags, no quotes around simple attribute
    values; what steers a terminal, or the direction of what follows, is replaced as in every file of ours.

    Text from data holds no tag and no quote (it is escaped), so only what the templates say matches.
    """
    # Once for the whole page, in whatever block a name stands.
    page: str = replace_control_characters(html)
    head, data, tail = page.partition('<script type="application/json"')
    head = re.sub(r"\s*</(?:td|th|tr|thead|tbody|tfoot|li|dt|dd)>", "", head)
    head = re.sub(rf"</p>(?=\s*</?(?:{BLOCKS})\b)", "", head)
    head = re.sub(r">\s+<", ">\n<", head)
    head = re.sub(rf"\s+(?=</?(?:td|th|tr|tbody|thead|caption|li|dt|dd|summary|{BLOCKS})[ >])", "", head)
    head = re.sub(r'(?<==)"([\w.%#-]+)"/>', r"\1 />", head)
    return re.sub(r'(?<==)"([\w.,%#-]+)"(?=[\s>])', r"\1", head) + data + tail


@lru_cache(maxsize=8)
def read_minified_assets(package: str, names: tuple[str, ...]) -> str:
    """The named files of the package, one after the other, without indentation, lines of comment and blanks that mean
    nothing."""
    folder = resources.files(package) / "assets"
    text = "\n".join((folder / name).read_text("utf-8") for name in names)
    text = re.sub(r"(?m)^\s*(//.*|/\*\*.*\*/)?\n?", "", text)
    return minify_style_sheet(text) if names[0].endswith(".css") else minify_script(text)


def minify_style_sheet(text: str) -> str:
    """A style sheet without blanks around braces, colons and commas, its variables named by one or two letters."""
    text = shorten_style_variables(text)
    text = re.sub(r"\s*([{};,]|!important)\s*", r"\1", text).replace(";}", "}")
    text = re.sub(r"(?<=[A-Za-z0-9]): ", ":", text)
    return re.sub(r"(?<=\)) > (?=[a-z.*])|(?<=[\w\]*]) > (?=[a-z.*])", ">", text)


def shorten_style_variables(text: str) -> str:
    """The variables of a style sheet by one letter or two, the most used first; those of one letter stay as they are:
    others set them.

    >>> shorten_style_variables(":root { --muted: grey; } p { color: var(--muted); left: var(--x); }")
    ':root { --a: grey; } p { color: var(--a); left: var(--x); }'
    """
    used = Counter(VARIABLE.findall(text))
    kept = {name for name in used if len(name) == 1}
    letters = (*ascii_letters, *map("".join, product(ascii_letters, repeat=2)))
    free = (name for name in letters if name not in kept)
    often = sorted((name for name in used if name not in kept), key=lambda name: (-used[name], name))
    short = dict(zip(often, free, strict=False))
    return VARIABLE.sub(lambda match: f"--{short.get(match[1], match[1])}", text)


def minify_script(text: str) -> str:
    """A script without blanks around signs; line breaks stay where a statement could end."""
    parts = LITERAL.split(text)
    return "".join(part if i % 2 else _minify_code_part(part) for i, part in enumerate(parts))


def _minify_code_part(code: str) -> str:
    """Shorten a part of a script that holds no strings."""
    code = re.sub(r"\bconst\b", "let", code)
    code = re.sub(r" *([=<>?:,;{}()\[\]|&*!]) *", r"\1", code)
    code = re.sub(r"(?<=[\w)\]]) ([-+/%]) (?=[\w($\[])", r"\1", code)
    code = re.sub(r"(?<=[{,(\[;])\n", "", code)
    code = re.sub(r"\n(?=[})\].?:])", "", code)
    return re.sub(r"(?<![\w$])\((\w+)\)=>", r"\1=>", code).replace(";}", "}")
