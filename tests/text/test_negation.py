"""Negation: one pass over a versioned list, both directions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.text.negation import AUXILIARIES, negate, rules

PARTS = [
    "is",
    "Is",
    "IS",
    "can",
    "Can",
    "CAN",
    "cannot",
    "ca",
    "wo",
    "will",
    "not",
    "NOT",
    "n't",
    "n’t",
    "N'T",
]
PARTS += ["'t", " ", "  ", "\n", ".", "-", "scan", "isn't", "a", "_", "é", "do", "mu", "st", "nothing"]


def test_every_rule() -> None:
    """Each entry of the table holds in the middle of a text, in all three spellings."""
    for found, put in rules().items():
        assert negate(f"it {found}.") == f"it {put}."
        assert negate(f"{found.capitalize()} it") == f"{put.capitalize()} it"
        assert negate(found.upper()) == put.upper()


def test_the_table_covers_the_list() -> None:
    """17 auxiliaries with three entries each, and four for can."""
    assert len(rules()) == 3 * len(AUXILIARIES) + 4


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("It isn’t, and it ISN'T.", "It is, and it IS."),
        ("He can't; he can’t; he CAN'T; Can't he?", "He can; he can; he CAN; Can he?"),
        ("You can\nnot stay, you cannot.", "You can stay, you can."),
        ("Won't work, won’t, WON'T", "Will work, will, WILL"),
        ("It does n't, ca n't and wo n't.", "It does, can and will."),
        ("nothing is nothing", "nothing is not nothing"),
        ("is isn't is", "is not is is not"),
        ("This island, a scan, cans, whim", "This island, a scan, cans, whim"),
        ("is_it éis isé", "is_it éis isé"),
        ("The BBC is.", "The BBC is not."),
        ("has-been", "has not-been"),
        ("could've", "could not've"),
        ("iS wAS", "iS wAS"),
        ("", ""),
    ],
)
def test_examples(text: str, negated: str) -> None:
    """Contractions with both apostrophes, words that only look alike, spellings, joined words."""
    assert negate(text) == negated


def _plainly(text: str) -> str:
    """The same rules as a plain pattern, word boundary first, nothing arranged for speed."""
    spelled = "|".join(
        sorted((form for verb in (*AUXILIARIES, "can") for form in _forms(verb)), key=len, reverse=True)
    )
    no, nt = "(?:not|Not|NOT)", r"\s?[nN]['’][tT]"
    pattern = rf"\b(?:(ca|Ca|CA|wo|Wo|WO){nt}|(can|Can|CAN){no}|({spelled})(\s+{no}|{nt})?)\b"

    def replace(match: re.Match[str]) -> str:
        irregular, can, verb, negation = match.groups()
        if irregular:
            affirmative = {"ca": "can", "wo": "will"}[irregular.lower()]
            return next(
                form
                for form in _forms(affirmative)
                if form.startswith(irregular[0]) and (form.isupper() == irregular.isupper())
            )
        if can or negation:
            return can or verb
        return verb + ("" if verb.lower() == "can" else " ") + ("NOT" if verb.isupper() else "not")

    return re.sub(pattern, replace, text)


def _forms(word: str) -> tuple[str, str, str]:
    return word, word.capitalize(), word.upper()


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_agrees_with_a_plain_pattern(text: str) -> None:
    """The pattern arranged for speed finds what the plain one finds."""
    assert negate(text) == _plainly(text)


@given(
    st.sampled_from(sorted(rules())), st.sampled_from(["", "He ", "It. "]), st.sampled_from(["", ".", " it"])
)
def test_twice_is_the_affirmative_or_the_same(found: str, before: str, after: str) -> None:
    """Negating twice gives the affirmative back, with contractions written out."""
    affirmative = found if "not" not in found and "n't" not in found else rules()[found]
    twice = negate(negate(before + found + after))
    assert twice in (before + affirmative + after, before + rules()[affirmative] + after)
