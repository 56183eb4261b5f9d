"""Edits of characters, words and sentences against plain definitions, on any text."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import pairwise
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.randomness import draw_random_bytes
from embassay.text.perturbations import (
    capitalize_exact_quarter,
    capitalize_random_quarter,
    delete_every_tenth_character,
    delete_tenth_character_or_next,
    delete_tenth_characters_of_sentences,
    draw_random_order,
    replace_letters_by_digits,
    shuffle_sentences,
    shuffle_sentences_split_at_lines,
    shuffle_words,
    shuffle_words_at_spaces,
    split_sentences,
    split_sentences_by_lines_and_full_stops,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))
CASED = st.lists(st.sampled_from([*"abzAZ 0é", "ß", "ﬁ", "ŉ", "µ", "ÿ", "ǆ", "я", "ς", "😀", "𐐨", "\ud800"])).map(
    "".join
)
STREAMS = st.integers(0, 1000).map(lambda seed: lambda n: draw_random_bytes(n, seed))
NO_DRAW = bytes


def draw(n: int) -> bytes:
    return draw_random_bytes(n, 1337, "test")


@given(ANY_TEXT | CASED, STREAMS)
def test_capitalize_by_its_definition(text: str, stream: partial[bytes]) -> None:
    """Character i is raised when bits 2(i mod 4) and the next of byte i // 4 are 0 (if it can be)."""
    expected = []
    drawn = stream(len(text))
    for i, character in enumerate(text):
        chosen = (drawn[i // 4] >> 2 * (i % 4)) & 3 == 0
        expected.append(character.upper() if chosen and len(character.upper()) == 1 else character)
    assert capitalize_random_quarter(text, stream) == "".join(expected)


def test_capitalize_raises_a_quarter() -> None:
    """Of 100,000 letters a quarter is raised, within five standard deviations; neighbours are independent."""
    raised = [character == "A" for character in capitalize_random_quarter("a" * 100_000, draw)]
    assert abs(sum(raised) / 100_000 - 0.25) < 5 * (0.25 * 0.75 / 100_000) ** 0.5
    both = sum(a and b for a, b in pairwise(raised)) / 100_000
    assert abs(both - 1 / 16) < 5 * (1 / 16 / 100_000) ** 0.5


@given(CASED)
def test_capitalize_never_lowers_or_lengthens(text: str) -> None:
    """Every character stays or becomes its one-character upper case."""
    edited = capitalize_random_quarter(text, draw)
    assert len(edited) == len(text)
    assert all(new in (old, old.upper()) for old, new in zip(text, edited, strict=True))


@given(st.integers(0, 300), st.sampled_from("aé"), STREAMS)
def test_capitalize_exactly(n: int, letter: str, stream: partial[bytes]) -> None:
    """The option raises exactly a quarter, rounded down."""
    assert Counter(capitalize_exact_quarter(letter * n, stream))[letter.upper()] == floor(n / 4)


@given(st.text(st.sampled_from("ab c\n") | st.characters(exclude_categories=())))
def test_delete_by_its_definition(text: str) -> None:
    """Position 10, 20, 30 ... goes unless a space is there."""
    kept = [c for position, c in enumerate(text, start=1) if position % 10 or c == " "]
    assert delete_every_tenth_character(text, NO_DRAW) == "".join(kept)


@given(st.text(st.sampled_from("ab  ")))
def test_delete_or_next_by_its_definition(text: str) -> None:
    """With the option the next character that is no space goes in place of a space."""
    deleted = set()
    for position in range(9, len(text), 10):
        while position < len(text) and text[position] == " ":
            position += 1
        deleted.add(position)
    expected = "".join(c for i, c in enumerate(text) if i not in deleted)
    assert delete_tenth_character_or_next(text, NO_DRAW) == expected


@given(ANY_TEXT | st.text(st.sampled_from("eiaoEIAOéx ")))
def test_numerize_by_its_definition(text: str) -> None:
    """e i a o become 3 1 4 0, capitals only with the option, all else stays."""
    assert replace_letters_by_digits(text, NO_DRAW) == text.translate(str.maketrans("eiao", "3140"))
    both = str.maketrans("eiaoEIAO", "31403140")
    assert replace_letters_by_digits(text, NO_DRAW, both_cases=True) == text.translate(both)


@given(ANY_TEXT | st.text(st.sampled_from("ab .!\n")), STREAMS)
def test_shuffles_keep_what_they_shuffle(text: str, stream: partial[bytes]) -> None:
    """The same words, the same sentences, one space between them."""
    assert Counter(shuffle_words(text, stream).split()) == Counter(text.split())
    assert shuffle_words(text, stream) == " ".join(shuffle_words(text, stream).split())
    joined = " ".join(split_sentences(text))
    assert Counter(shuffle_sentences(text, stream)) == Counter(joined)


def test_sentences_stay_whole() -> None:
    """A shuffled text has the same sentences in another order."""
    sentences = [f"Sentence number {i} is here." for i in range(40)]
    shuffled = split_sentences(shuffle_sentences(" ".join(sentences), draw))
    assert sorted(shuffled) == sorted(sentences)
    assert shuffled != sentences


@given(st.integers(0, 500), STREAMS)
def test_permutation_orders_the_keys(n: int, stream: partial[bytes]) -> None:
    """The order is that of the 32-bit keys, equal keys by position."""
    keys = [int.from_bytes(stream(4 * n)[4 * i : 4 * i + 4], "little") for i in range(n)]
    assert draw_random_order(n, stream) == sorted(range(n), key=keys.__getitem__)


def test_permutation_with_equal_keys() -> None:
    """Keys that are all equal leave the order as it is."""
    assert draw_random_order(5, bytes) == [0, 1, 2, 3, 4]


def test_permutations_are_uniform() -> None:
    """The six orders of three things come up equally often (chi-square, 5 degrees of freedom, p > 1e-6)."""
    n = 6000
    counts = Counter(tuple(draw_random_order(3, partial(draw_random_bytes, seed=seed))) for seed in range(n))
    assert len(counts) == 6
    assert sum((count - n / 6) ** 2 / (n / 6) for count in counts.values()) < 37


@pytest.mark.parametrize(
    "edit",
    [
        capitalize_random_quarter,
        capitalize_exact_quarter,
        delete_every_tenth_character,
        replace_letters_by_digits,
        shuffle_words,
    ],
)
@pytest.mark.parametrize("text", ["", "x", "1", "日", "\udfff"])
def test_tiny_texts(edit: object, text: str) -> None:
    """Empty texts and single characters pass through every edit."""
    assert callable(edit)
    assert edit(text, draw).lower() == text


def test_edits_of_the_earlier_code() -> None:
    """Sentences end at line ends and before spaces, deletion starts anew in each, words are split at single spaces
    (SAGE [A16]); each by hand."""
    text = "abcdefghijkl mn. Opq?\nRst. "
    assert split_sentences_by_lines_and_full_stops(text) == ["abcdefghijkl mn.", "Opq?.", "Rst."]
    # A space counts as two characters, so the seventh of "a b c de." is the tenth.
    assert delete_tenth_characters_of_sentences("abcdefghijkl. abcdefghij", draw) == "abcdefghikl.\n\nabcdefghi."
    assert delete_tenth_characters_of_sentences("a b c de", draw) == "a b c e."
    assert Counter(shuffle_sentences_split_at_lines(text, draw).split("\n\n")) == Counter(
        split_sentences_by_lines_and_full_stops(text)
    )
    assert Counter(shuffle_words_at_spaces("a  b\nc d", draw).split(" ")) == Counter(["a", "", "b\nc", "d"])
