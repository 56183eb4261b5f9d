"""Guidelines in Markdown can only be text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.web.annotation.service import convert_guidelines_to_html
from embassay.web.server import list_allowed_host_names

PLAIN = {
    "p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "strong", "em", "code", "pre", "blockquote", "hr", "br", "a",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
PIECES = [
    "<script>alert(1)</script>", "<img src=x onerror=y>", "](javascript:alert(1))", "[a", "![b",
    "](https://x.example)", "<https://x.example>", "<javascript:x>", "# ", "\n\n", "* ", "`", "```\n",
    "|a|b|\n|:-:|-|\n", "&lt;", "&#106;", '"', "'", "<!--", "-->", "<![CDATA[", "text ", "    ", "\\",
    "](data:text/html,x)", "](HTTPS://x)", "](//x)", "\t", "\x00",
]  # fmt: skip


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def _tags(html):
    parser = _Tags()
    parser.feed(str(html))
    return parser.found


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_no_tag_but_those_of_text(markdown) -> None:
    """Whatever is written; links lead to web addresses only, and take nothing along."""
    for tag, attributes in _tags(convert_guidelines_to_html(markdown)):
        assert tag in PLAIN
        if tag == "a":
            assert set(attributes) <= {"href", "target", "rel", "title"}
            assert re.match("https?://", attributes["href"])
            assert "noreferrer" in attributes["rel"]
        else:
            assert set(attributes) <= {"start", "class"}


def test_what_guidelines_need() -> None:
    """Headings below those of the page, lists, tables, emphasis, code and links."""
    html = convert_guidelines_to_html(
        "# Do\n\n1. **mark** *each*\n\n|a|b|\n|-|-|\n|1|2|\n\n> say `x`\n\n[more](https://x.example)"
    )
    tags = [tag for tag, _ in _tags(html)]
    for tag in ("h3", "ol", "li", "strong", "em", "table", "td", "blockquote", "code", "a"):
        assert tag in tags


@pytest.mark.parametrize(
    ("host", "public", "more", "names"),
    [
        ("127.0.0.1", None, (), ("localhost", "127.0.0.1", "::1")),
        ("0.0.0.0", None, (), ()),
        ("0.0.0.0", "https://Annotate.example.org/x", (), ("localhost", "127.0.0.1", "::1", "annotate.example.org")),
        ("192.0.2.1", None, ("LAB",), ("localhost", "127.0.0.1", "::1", "192.0.2.1", "lab")),
    ],
)
def test_which_names_are_answered(host, public, more, names) -> None:
    """On this machine its own; elsewhere any, until somebody says which."""
    assert list_allowed_host_names(host, public, more) == names
