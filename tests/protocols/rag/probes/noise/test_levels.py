"""Small talk leaves the question alone, and grows with the level."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.protocols.rag.probes.questions import LEVELS, Lang, add_small_talk_to_question, read_small_talk_phrases


@given(st.text(min_size=1), st.sampled_from(range(5)), st.sampled_from(get_args(Lang)), st.integers(0, 9))
def test_the_question_stands_in_it_word_for_word(query: str, level: int, lang: Lang, seed: int) -> None:
    text = add_small_talk_to_question(query, level, lang=lang, seed=seed, key="q")
    assert query in text
    assert text == add_small_talk_to_question(query, level, lang=lang, seed=seed, key="q")
    assert (text == query) == (level == 0)


@pytest.mark.parametrize("lang", get_args(Lang))
def test_levels_share_their_phrases_and_grow(lang: Lang) -> None:
    texts = [add_small_talk_to_question("Why?", level, lang=lang, seed=5, key="q7") for level in range(5)]
    greeting = texts[1].removesuffix(" Why?")
    assert all(text.startswith(greeting) for text in texts[1:])
    assert all(len(a) < len(b) for a, b in pairwise(texts[:4]))
    assert len(texts[4]) > len(texts[2])


@pytest.mark.parametrize("lang", get_args(Lang))
def test_every_part_has_several_phrases_and_all_are_used(lang: Lang) -> None:
    bank = read_small_talk_phrases()[lang]
    assert {part for level in LEVELS for part in level} == {*bank, "query"}
    for part, own in bank.items():
        assert len(set(own)) == len(own) >= 6, part
    used = {
        add_small_talk_to_question("Why?", 1, lang=lang, seed=1, key=str(i)).removesuffix(" Why?") for i in range(200)
    }
    assert used == set(bank["greeting"])


@pytest.mark.parametrize("wrong", [{"level": 5}, {"level": -1}, {"lang": "de"}])
def test_other_levels_and_languages_are_refused(wrong: dict[str, object]) -> None:
    arguments = {"level": 1, "lang": "en", **wrong}
    with pytest.raises(UsageError):
        add_small_talk_to_question("Why?", seed=1, key="q", **arguments)  # type: ignore[arg-type]
