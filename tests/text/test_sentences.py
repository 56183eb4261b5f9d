"""Sentences: cut after . ! ? and whitespace, nothing lost but the whitespace between them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.text import split_sentences

TEXTS = st.lists(st.sampled_from(["a", "Bc", ".", "!", "?", " ", "\n", "\u00a0", "é"])).map("".join)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("One.Two. Three", ["One.Two.", "Three"]),
        ("What?! Yes...  No", ["What?!", "Yes...", "No"]),
        ("One.\n\nTwo.\u00a0Three.", ["One.", "Two.", "Three."]),
        ("  Dr. Who went home.  ", ["Dr.", "Who went home."]),
        ("3.14 is pi", ["3.14 is pi"]),
        (". . .", [".", ".", "."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_examples(text: str, sentences: list[str]) -> None:
    """A sentence ends at . ! or ? before whitespace; whitespace around the text does not count."""
    assert split_sentences(text) == sentences


@given(TEXTS)
def test_agrees_with_a_look_behind(text: str) -> None:
    """The same as splitting the stripped text at whitespace behind a sentence end."""
    expected = re.split(r"(?<=[.!?])\s+", text.strip()) if text.strip() else []
    assert split_sentences(text) == expected


@given(st.text(st.characters(exclude_categories=())))
def test_keeps_every_character_but_whitespace(text: str) -> None:
    """No word is lost or changed in any text."""
    assert " ".join(split_sentences(text)).split() == text.split()
