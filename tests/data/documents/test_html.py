"""HTML as tags and texts: what stands in a page, and hostile pages in one pass."""

from __future__ import annotations

import pytest

from embassay.data.documents import conversion
from embassay.data.documents.html import HtmlEndTag, HtmlStartTag, tokenize_html
from embassay.data.documents.markup import UnreadableDocumentError, extract_html_text_title_and_language


def told(page: str) -> list[object]:
    """The tokens, short: a tag by its name, an end with a stroke before it."""
    names = {HtmlStartTag: "{0.tag}", HtmlEndTag: "/{0.tag}", str: "'{0}'"}
    return [names[type(token)].format(token) for token in tokenize_html(page)]


@pytest.mark.parametrize(
    ("page", "tokens"),
    [
        ("<p>a<br/>b</p>", ["p", "'a'", "br", "/br", "'b'", "/p"]),
        ("1 < 2 &amp; 3 &lt; 4", ["'1 < 2 & 3 < 4'"]),
        ("1 < 2<p>", ["'1 '", "'<'", "' 2'", "p"]),
        ("<a href='x>y' b=\">\">z", ["a", "'z'"]),
        ("a<!-- <p> -->b<!doctype html>c<?x y?>d<![CDATA[<p>]]>e", ["'a'", "'b'", "'c'", "'d'", "'e'"]),
        ("<script>if (a < b) '<p>'</script>x", ["script", "/script", "'x'"]),
        ("<STYLE>p{}</Style >x", ["style", "/style", "'x'"]),
        ("<script>never ends <p>", ["script"]),
        ("<a href=b/>c", ["a", "'c'"]),
        ("</ p></>x", ["/p", "'x'"]),
        ("a <p class=", ["'a <p class='"]),
        ("<!-- never ends <p>a</p>", ["'a'", "/p"]),
        ('<a href="x>b<p>c', ["a", "'b'", "p", "'c'"]),
    ],
)
def test_a_page(page, tokens):
    """Tags in any case, ends that are missing, signs that begin no tag."""
    assert told(page) == tokens


def test_attributes():
    """In lower case, characters for references, the first of two, none for a value that is left out."""
    (start,) = tokenize_html("<A HREF='a&amp;b' Id = x id=y checked>")
    assert start == HtmlStartTag("a", {"href": "a&b", "id": "x", "checked": ""})


def test_a_character_with_thousands_of_digits():
    """Is no character, and no error."""
    page = "&#" + "1" * 10_000 + ";"
    assert list(tokenize_html(page)) == [page]


HOSTILE = {
    "comments": "<!--", "ends of comments": "<!-- >", "tags": "<a ", "quotes": '<a b="', "mixed": '<a b=">" ',
    "blocks": "<div>", "left out": "<svg>", "cells": "<td>", "ends": "</", "instructions": "<?",
    "declarations": "<!", "sections": "<![CDATA[", "scripts": "<script>", "references": "&amp", "less": "<",
}  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pages_are_read_in_one_pass(piece):
    """3 MB of each: what took the square of its length would run for hours."""
    extract_html_text_title_and_language(piece * (3_000_000 // len(piece)))


def test_what_is_left_out_may_nest_deeply():
    """Each end is found at once, however much is open."""
    text, _, _ = extract_html_text_title_and_language(
        "<svg>" * 100_000 + "</p>" * 100_000 + "</svg>" * 100_000 + "<p>after"
    )
    assert text == "after"


def test_a_refusal_is_remembered(tmp_path, monkeypatch):
    """The next reading of the same bytes takes no time."""
    asked = []

    def refuse(path, kind):
        asked.append(path)
        return {"refused": "files that need more memory or time than allowed"}

    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(conversion, "_request_conversion_from_process", refuse)
    for name in ("one.html", "same.html"):
        (tmp_path / name).write_text("<p>a")
        with pytest.raises(UnreadableDocumentError, match="more memory or time"):
            conversion.convert_document(tmp_path / name, "HTML")
    assert len(asked) == 1
