"""Sentences that a person can read by themselves: each kind of fault that questions had, and what stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.text.prose import find_prose_sentences, read_markdown_with_and_without_code

PROSE = "A passage holds at most two hundred words of a document."


def readable(text: str) -> list[str]:
    return [one.text for one in find_prose_sentences(text)]


@pytest.mark.parametrize(
    "fault",
    [
        "```sh\nmake the passages now, and then search in all of them.\n```",
        "~~~\nmake the passages now, and then search in all of them.\n~~~",
        "Run:\n\n    make the passages now, and then search in all of them.\n",
        ">>> take the first of all passages that were found before.",
        "$ make the passages now, and then search in all of them.",
        "# What a passage of your documents may hold, and why.",
        "What a passage of your documents may hold, and why.\n===",
        "| Passage | holds at most two hundred words of a document. |",
        "Passage | holds at most two hundred words of a document.",
        "{% block content %} The passage holds two hundred words of a document. {% endblock %}",
        "The name {{ site.name }} stands on every page of the documentation.",
        "<div class='note'>The passage holds two hundred words of a document.",
        "!!! warning \"Passages hold at most two hundred words of text.\"",
        "> [!NOTE] The passage holds at most two hundred words of text.",
        ".. note:: The passage holds at most two hundred words of text.",
        ":::tip The passage holds at most two hundred words of text.",
        ":author: The one who wrote the passage and all of the others.",
        "See the page at https://example.org/guide for all that is told of it.",
        "Write a message to someone@example.org about what you found in it.",
        "- the passage, two hundred words of a document and its title",
        "- default permissions that are used for all of the packaged files.",
        "The passages that were found are one of the following three kinds:",
        "Too few words here.",
        "[guide](guide.md), [passages](passages.md), [questions](questions.md) and [answers](answers.md)",
        "[guide]: guide.md \"What a passage of your documents may hold.\"",
        "The call `passages.search(questions, depth=100, cut=True)` is `find(all)`.",
        "passages.find(question); // Gives all passages that were found before.",
        "Returns true if a === b, and false in all the other cases of it.",
        "-r, --replace         Replace the passage when there is one of the same name.",
        "An opening bracket (that never ends is a sign of a sentence cut.",
        "import { Passage } from 'passages';",
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14.",
    ],
)  # fmt: skip
def test_what_cannot_be_asked(fault: str) -> None:
    """Code, templates, markup, tables, addresses, headings, admonitions, lists of words and parts of sentences."""
    assert readable(f"{PROSE}\n\n{fault}") == [PROSE]


def test_a_cut_sentence_at_the_beginning() -> None:
    """A passage that begins within a sentence does not ask with its rest."""
    assert readable(f"words that were before it are in the other passage. {PROSE}") == [PROSE]


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("The **passage** of [a guide](guide.md#part) holds\n`two` hundred words.",
         "The passage of a guide holds two hundred words."),
        ("- The passage of a list's entry holds two\n  hundred words of it.",
         "The passage of a list's entry holds two hundred words of it."),
        ("> The passage of a quotation holds two\n> hundred words of it.",
         "The passage of a quotation holds two hundred words of it."),
        ("!!! note\n    The passage of a note holds two hundred words of it.",
         "The passage of a note holds two hundred words of it."),
        ("pip finds the passages with a search of all its files.",) * 2,
        ("The value a < b of two passages tells which one is the first.",) * 2,
        ("Press <kbd>Enter</kbd> to see the passage of a question.[^1]",
         "Press Enter to see the passage of a question."),
        ("A file named snake_case_name.md holds *one* of the passages.",
         "A file named snake_case_name.md holds one of the passages."),
        ("一段文字最多包含两百个词语，长的文件会被切开。",) * 2,
        ("the flow past a plate is laminar at low speed .",) * 2,
    ],
)  # fmt: skip
def test_what_is_read(raw: str, read: str) -> None:
    """Sentences without their markup, of paragraphs, lists, quotations and notes, in any case and script."""
    before = "" if raw.islower() else "Before this stands another paragraph of text.\n\n"
    assert readable(f"{before}{raw}")[-1] == read


def test_where_it_stands() -> None:
    """The span of a sentence is all that it was written with."""
    text = f"# Head\n\n1. {PROSE} And **this one** is the second of its entry.\n"
    assert [text[one.start : one.end] for one in find_prose_sentences(text)] == [
        PROSE, "And **this one** is the second of its entry."
    ]  # fmt: skip
    assert [one.stands_alone for one in find_prose_sentences(text)] == [True, False]


@given(st.text("aA .\n#`*_[]()|<>-!:{}\"'。1", max_size=200) | st.text(max_size=200))
def test_any_text(text: str) -> None:
    """Spans ascend, none is empty, none begins or ends with a blank, and reading never fails."""
    last = 0
    for one in find_prose_sentences(text):
        assert last <= one.start < one.end <= len(text)
        assert text[one.start : one.end] == text[one.start : one.end].strip()
        assert one.text == " ".join(one.text.split())
        last = one.end
    read_markdown_with_and_without_code(text)
