"""Synonyms and changed facts: what they touch, what they leave, and that they are the same every time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.text import PERTURBATIONS, perturb
from embassay.text.semantics import _LISTS, _other, _synonyms

WORDS = re.compile(r"\w+")


def edited(name, text, seed=1):
    return perturb(PERTURBATIONS.build(name), text, seed=seed, text_id="a")


@given(st.text(), st.sampled_from(["synonyms", "facts"]))
def test_any_text_passes_and_comes_out_the_same_twice(text, name):
    """Also one without anything to change."""
    assert edited(name, text) == edited(name, text)


def test_synonyms_change_words_of_the_list_alone_and_at_least_one():
    """In the case of the word; about half of many."""
    text = "Doctors often help children. They BEGIN to gather small gifts, and the doctor was happy."
    for seed in range(20):
        before, after = WORDS.findall(text), WORDS.findall(edited("synonyms", text, seed))
        changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
        assert changed
        assert all(_synonyms()[a.lower()] == b.lower() for a, b in changed)
        assert all(a[0].isupper() == b[0].isupper() and a.isupper() == b.isupper() for a, b in changed)
    assert edited("synonyms", "An old car.") == "An old automobile."
    assert edited("synonyms", "Nothing of ours") == "Nothing of ours"


def test_facts_are_changed_everywhere_alike():
    """Numbers keep their form, names change places, words of a list become others of it."""
    text = "In 1998 Berlin sent 1,250 men to Oslo on 3 May. Of the 1,250 men, two saw Berlin again in 1998."
    found = edited("facts", text)
    before, after = WORDS.findall(text), WORDS.findall(found)
    assert len(before) == len(after)
    new = {}
    for a, b in zip(before, after, strict=True):
        assert new.setdefault(a, b) == b
    assert new["Berlin"] == "Oslo"
    assert new["Oslo"] == "Berlin"
    assert new["1998"] != "1998"
    assert 1978 <= int(new["1998"]) <= 2018
    assert new["1"] != "1"
    assert new["250"] == "250"
    assert new["two"] != "two"
    assert new["May"] != "May"
    assert 1 <= int(new["3"]) <= 28
    assert new["men"] == "men"
    assert new["In"] == "In"


@pytest.mark.parametrize(
    "text", ["We may march on.", "He took B12 and a 3rd one.", "Nothing here. Then this.", ""]
)
def test_what_is_no_fact_stays(text):
    """Modal may, parts of words, words that begin a sentence."""
    assert edited("facts", text) == text


def test_a_single_name_becomes_one_of_nobodys():
    """And the same one in all places."""
    found = edited("facts", "we met Anna, and Anna left")
    assert "Anna" not in found
    assert len(set(re.findall(r"[A-Z]\w+", found))) == 1


@given(st.integers(0, 2**32 - 1), st.from_regex(r"[0-9]{1,4}([.,][0-9]{1,3})?", fullmatch=True))
def test_another_number_is_another_number(key, number):
    """Of the same form, whatever was drawn."""
    found = _other("number", number, key)
    assert found != number
    assert re.sub(r"\d", "9", found) == re.sub(r"\d", "9", number)


@given(st.integers(0, 2**32 - 1), st.sampled_from([one for some in _LISTS for one in some]))
def test_another_word_of_the_list(key, word):
    """Never itself."""
    found = _other("listed", word, key)
    assert found != word
    assert any(word in some and found in some for some in _LISTS)
