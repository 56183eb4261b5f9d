"""Damage as keyboards, scanners and recognisers do it: as often as asked for, and only what the fitted tables know."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA, Levenshtein

from embassay.text import PERTURBATIONS, perturb
from embassay.text.channels import ALIKE, read_character_error_table

PROSE = (
    "The committee met on a cold morning in March and could not agree about the route of the new railway. Several "
    "members would rather wait another year than pay for a bridge which nobody had measured. "
) * 40
"""Some 8,000 characters of English."""


def damaged(edit: str, text: str, key: str = "d") -> str:
    return perturb(PERTURBATIONS.build(edit), text, seed=1337, text_id=key)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.2])
def test_letters_go_wrong_as_often_as_asked_for(share: float) -> None:
    """Counted by an edit distance that takes a transposition for one edit; letters of English differ in their rates."""
    letters = sum(map(str.isalpha, PROSE))
    found = OSA.distance(PROSE, damaged(f"typos:p={share}", PROSE)) / letters
    assert found == pytest.approx(share, rel=0.15)


def test_a_scan_is_misread_as_often_as_asked_for() -> None:
    """Of all characters; a text of words has fewer of the marks that are misread most."""
    found = Levenshtein.distance(PROSE, damaged("ocr:p=0.05", PROSE)) / len(PROSE)
    assert 0.03 < found < 0.06


@pytest.mark.parametrize("channel", ["typos", "ocr"])
def test_a_table_is_of_chances(channel: str) -> None:
    """Rates are positive and about 1 in the mean; shares of outcomes add up to 1, and nothing becomes itself."""
    fates = read_character_error_table(channel)  # type: ignore[arg-type]
    for key, fate in fates.items():
        assert 1 <= len(key) <= 2
        assert fate.rate > 0
        assert fate.ends[-1] == pytest.approx(1, abs=0.03)
        assert all(b > a for a, b in pairwise((0.0, *fate.ends)))
        assert key not in fate.outcomes


@given(st.text(st.characters(exclude_categories=()), max_size=60), st.text(max_size=4))
def test_what_no_table_knows_stays(text: str, key: str) -> None:
    """Letters of other scripts, digits at a keyboard; and no share, no damage."""
    known = set("".join(read_character_error_table("typos")))
    others = "".join(letter for letter in text if letter not in known)
    assert damaged("typos:p=1", others, key) == others
    assert damaged("typos:p=0", text, key) == damaged("ocr:p=0", text, key) == text


def test_a_capital_errs_as_its_small_letter() -> None:
    """With the same draws the outcome is the same, written large."""
    small, large = (damaged("typos:p=1", text) for text in ("t" * 200, "T" * 200))
    assert small == large.lower()


def test_words_are_heard_as_others_of_the_same_sound() -> None:
    """All of them where p is 1; each word of a set is one of another, and in one set."""
    assert damaged("speech:p=0", "It's “Their” ship: 1,5 KM!") == "it's their ship 1,5 km"
    heard = damaged("speech:p=1", "We know the right way to write, or not").split()
    assert heard[1] in {"no"}
    assert heard[3] == "write"
    assert heard[4] == "weigh"
    words = re.split(r"[/\s]+", ALIKE.strip())
    assert len(words) == len(set(words))
    assert all(len(group.split("/")) > 1 for group in ALIKE.split())


def test_the_page_says_how_many_sets_there_are(root) -> None:
    page = (root / "docs" / "perturbations.md").read_text("utf-8")
    assert f"({len(ALIKE.split())} sets from CMUdict)" in " ".join(page.split())
