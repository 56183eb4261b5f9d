"""Bytes as text: encodings, front matter, HTML."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data.documents.markup import (
    UnreadableDocumentError,
    cut_pictures_fix_line_ends,
    detect_and_decode_text,
    extract_html_text_title_and_language,
    find_declared_charset,
    read_markdown,
    split_front_matter,
)

WORDS = "Größe, Mühe, Straße und viele Vögel über der Brücke; später schöne Äpfel für die Gäste."


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings_are_told(encoding: str) -> None:
    assert detect_and_decode_text(WORDS.encode(encoding))[0] == WORDS


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Les élèves ont été très étonnés par la façon dont l'œuvre a été reçue."),
        ("cp1252", "Perché no? È già così: la città è più bella."),
        ("cp1252", "Não há informação sobre as opções. As crianças estão à espera."),
        ("cp1252", "Alle mennesker er født frie og lige i værdighed, også på øen."),
        ("cp1250", "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw."),
        ("cp1250", "Árvíztűrő tükörfúrógép. A gyerekek az iskolában nagyon jól érezték magukat."),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. Dnes je hezké počasí."),
    ],
)
def test_old_encodings_of_the_west_and_of_the_middle_of_europe(encoding: str, text: str) -> None:
    """Many bytes are a letter in both, so a detector finds them equal and named the Czech letters."""
    assert detect_and_decode_text(text.encode(encoding)) == (text, encoding)


@pytest.mark.parametrize("content", [b"a\0b", b"\x01\x02\x03\x04abc", b"\xff\xfe\x00"])
def test_what_is_no_text_is_unread(content: bytes) -> None:
    with pytest.raises(UnreadableDocumentError):
        detect_and_decode_text(content)


@pytest.mark.parametrize(
    ("text", "rest", "said"),
    [
        ("---\ntitle: A\ntags: [b]\n---\nText.", "Text.", {"title": "A", "tags": ["b"]}),
        ("+++\ntitle = 'A'\n+++\nText.", "Text.", {"title": "A"}),
        ("---\nno colon here\n---\nText.", "---\nno colon here\n---\nText.", {}),
        ("---\nText without an end", "---\nText without an end", {}),
        ("--- \ntitle: A\n---\n", "--- \ntitle: A\n---\n", {}),
    ],
)
def test_front_matter_is_taken_off(text: str, rest: str, said: dict[str, object]) -> None:
    assert split_front_matter(text, Path("a.md"))[:2] == (rest, said)


@pytest.mark.parametrize("inside", ["a: [", "a: *b", "&x [*x, *x]", "a: 1\na: 2"])
def test_front_matter_that_cannot_be_read_stays_text(inside: str) -> None:
    text = f"---\n{inside}\n---\nText."
    assert split_front_matter(text, Path("a.md")) == (text, {}, ("front matter that cannot be read, kept as text",))


def test_titles_are_the_first_heading_where_nothing_says_more() -> None:
    assert read_markdown(b"# One #\n\nText.", Path("a.md")).title == "One"
    assert read_markdown(b"One\n===\nText.", Path("a.md")).title == "One"
    assert read_markdown(b"Text.\n# One", Path("a.md")).title == ""


def test_pictures_in_letters_are_cut() -> None:
    text = cut_pictures_fix_line_ends(f"![x](data:image/png;base64,{'A' * 500})\r\nText.")
    assert text == "![x](data:image/png;base64,...)\nText."


def test_html_keeps_what_is_read() -> None:
    page = (
        "<html lang=en><head><title>T &amp; U</title><style>p{}</style></head><body><nav>menu</nav><main>"
        "<h2>One <a class=headerlink href=#x>¶</a></h2><ul><li>a<li><p>b</p></ul><table><tr><td>1<td>2</table>"
        "<p>line<br>break<script>x()</script><pre># code\n  y</pre></main><footer>foot</footer>"
    )
    text, title, lang = extract_html_text_title_and_language(page)
    assert (title, lang) == ("T & U", "en")
    assert text == "## One\n\n- a\n- b\n\n1 | 2\n\nline\nbreak\n\n```\n# code\n  y\n```"


def test_a_navigation_without_an_end_hides_nothing() -> None:
    assert extract_html_text_title_and_language("<p>One.<nav><p>Two.")[0] == "One.\n\nTwo."


def test_declared_charsets() -> None:
    assert find_declared_charset(b'<meta charset="iso-8859-1">') == "iso-8859-1"
    assert find_declared_charset(b"<p>none") == ""


@given(st.text(max_size=200))
def test_html_never_fails(page: str) -> None:
    assert isinstance(extract_html_text_title_and_language(page)[0], str)
