"""Sentences of prose: abbreviations, initials and lists stay whole, paragraphs end; nothing is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.text.chunking import find_sentence_ends

ANY_TEXT = st.text(st.characters(exclude_categories=()))
PIECES = ["a", "Bc", ".", "!", "…", "。", " ", "\n", "\r\n", "»", "\u00a0", '"', "Dr", "No", "7", "é"]


def sentences(text: str) -> list[str]:
    ends = [0, *find_sentence_ends(text)]
    return [text[start:end].strip() for start, end in pairwise(ends)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Who met Mme. Roy.", ["Dr. Who met Mme. Roy."]),
        ("Shown by Lee et al. in 1961. Then not.", ["Shown by Lee et al. in 1961.", "Then not."]),
        ("See Fig. 2 (cf. eq. 3). Done.", ["See Fig. 2 (cf. eq. 3).", "Done."]),
        ("J. R. Smith left. He did.", ["J. R. Smith left.", "He did."]),
        ("The answer is no. He left.", ["The answer is no.", "He left."]),
        ("It is No. 7 on p. 12. Look.", ["It is No. 7 on p. 12.", "Look."]),
        ("1. Heat it.\n2. Cool it.", ["1. Heat it.", "2. Cool it."]),
        ("It took 5. Then 6.", ["It took 5.", "Then 6."]),
        ('He said "No!" Then he left.', ['He said "No!"', "Then he left."]),
        ("(It rained.) It stopped.", ["(It rained.)", "It stopped."]),
        ("Il dit : « Oui ! » Puis il part.", ["Il dit : « Oui ! »", "Puis il part."]),
        ("M. Dupont habite av. Foch, p. ex. ici.", ["M. Dupont habite av. Foch, p. ex. ici."]),
        ("A heading\n\nIts text", ["A heading", "Its text"]),
        ("A heading\r\n\r\nIts text", ["A heading", "Its text"]),
        ("one line\nthe next", ["one line\nthe next"]),
        ("first. second <cit> . third", ["first.", "second <cit> .", "third"]),
        ("天気がいい。散歩しよう！はい", ["天気がいい。", "散歩しよう！", "はい"]),
        ("Wait... what?! Yes.", ["Wait...", "what?!", "Yes."]),
        ("3.14 is pi", ["3.14 is pi"]),
        ("", []),
        (" \n ", [""]),
    ],
)
def test_examples(text: str, expected: list[str]) -> None:
    """Each of the rules, in English and French."""
    assert sentences(text) == expected


@given(ANY_TEXT | st.lists(st.sampled_from(PIECES)).map("".join))
def test_ends_ascend_to_the_end(text: str) -> None:
    """The sentences of any text follow each other without a gap and none is empty."""
    ends = list(find_sentence_ends(text))
    assert ends == sorted(set(ends))
    assert ends[-1:] == [len(text)] * bool(text)
    assert 0 not in ends


@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("unit", [".", "\n\r", "\r", '."', ".»", "« ", ". ", "1. ", " ", "a. "])
def test_takes_linear_time(unit: str) -> None:
    """200,000 characters that almost match are no trap."""
    assert list(find_sentence_ends("x\n" + unit * (200_000 // len(unit)) + "x"))
