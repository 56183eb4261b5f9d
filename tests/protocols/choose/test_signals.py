"""Questions that passages ask of themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.contracts import RankedCandidates
from embassay.protocols.choose.questions import (
    LONGEST,
    SIGNS,
    TIED,
    compute_ndcg_of_single_passage,
    cut_rankings_at_ties,
    find_passage_ranks,
    take_passage_sentences_for_questions,
    take_sentence_out,
)
from embassay.randomness import make_seeded_generator
from embassay.search.bm25 import split_words

HARBOUR = (
    "The harbour master keeps a log of every vessel that enters. Each vessel pays a toll by its length. "
    "The toll was doubled in 1924, and smugglers moved to the next bay."
)
BAKERY = (
    "The baker lights the oven at three. Rye dough rests longest, because rye holds more water. "
    "By six the first loaves leave the oven for the market."
)
FILLER = tuple(f"Number {i} is a note about subject {chr(97 + i)} and nothing else here." for i in range(12))
TEXTS = (HARBOUR, BAKERY, *FILLER)


def test_a_sentence_leaves_its_passage_and_nothing_else_does() -> None:
    """Question and rest together have the passage's words."""
    asked, rest, halved = take_sentence_out(HARBOUR, make_seeded_generator(1, "x")) or ("", "", True)
    assert not halved
    assert sorted(split_words(asked) + split_words(rest)) == sorted(split_words(HARBOUR))
    assert asked in HARBOUR
    assert asked not in rest


def test_one_sentence_is_cut_in_two_halves() -> None:
    """Of a passage of one sentence a half is asked; too short a one asks nothing."""
    text = "rye dough rests longest because it holds much more water"
    asked, rest, halved = take_sentence_out(text, make_seeded_generator(1, "x")) or ("", "", False)
    assert halved
    assert {asked, rest} == {"rye dough rests longest because", "it holds much more water"}
    assert take_sentence_out("five words are too few", make_seeded_generator(1, "x")) is None
    assert take_sentence_out("", make_seeded_generator(1, "x")) is None


def test_a_text_without_blanks_is_cut_at_its_signs() -> None:
    """Chinese has no blanks: each sign is a word, and the halves are written without any."""
    text = "海港的管理员记录每一艘进港的船"
    asked, rest, _ = take_sentence_out(text, make_seeded_generator(1, "x")) or ("", "", True)
    assert " " not in asked + rest
    assert {asked + rest, rest + asked} & {text}


def test_sentences_of_hindi_are_sentences() -> None:
    """They end with a danda; one is taken out, and no half of the passage."""
    text = "बंदरगाह का प्रबंधक हर जहाज का लेखा रखता है। हर जहाज अपनी लंबाई के अनुसार कर देता है। कर 1924 में दोगुना हुआ था।"
    asked, rest, halved = take_sentence_out(text, make_seeded_generator(1, "x")) or ("", "", True)
    assert not halved
    assert asked.endswith("।")
    assert asked in text
    assert asked not in rest


@pytest.mark.parametrize(("word", "blank", "most"), [("rye{} ", " ", LONGEST), ("海", "", LONGEST * SIGNS)])
def test_no_question_is_half_a_page(word: str, blank: str, most: int) -> None:
    """A long passage without a sentence to spare asks with its first or last words, as many as a sentence has."""
    text = "".join(word.format(place) for place in range(400)).strip()
    for seed in range(6):
        asked, rest, halved = take_sentence_out(text, make_seeded_generator(seed, "x")) or ("", "", False)
        assert halved
        assert len(split_words(asked)) == most
        assert blank.join([asked, rest]) == text or blank.join([rest, asked]) == text


def test_tables_code_and_headings_are_not_asked() -> None:
    """A row of a table is no question, however many words it has."""
    text = f"# All about the harbour and its vessels.\n\n| one | two | three | four | five |\n\n{HARBOUR}"
    for seed in range(20):
        asked, *_ = take_sentence_out(text, make_seeded_generator(seed, "x")) or ("",)
        assert not asked.startswith(("#", "|"))


def test_half_of_the_shared_rare_words_are_gone() -> None:
    """And nothing else: what the passage has not, stays."""
    found = take_passage_sentences_for_questions(TEXTS, [""] * len(TEXTS), 20, 7)
    whole = {one.row: one.text.split() for one in found.questions["sentence"]}
    for question in found.questions["half"]:
        gone = [part for part in whole[question.row] if part not in question.text.split()]
        own = set(split_words(found.texts[question.row]))
        assert all(set(split_words(part)) & own for part in gone)
        left = [part for part in whole[question.row] if part not in gone]
        assert " ".join(left) == question.text


def test_a_title_is_taken_out_with_its_sentence() -> None:
    """A passage that begins with its title is searched without it where it asks."""
    texts = [f"Of harbours. {HARBOUR}", f"Of bread. {BAKERY}", *FILLER]
    found = take_passage_sentences_for_questions(texts, ["Of harbours", "Of bread", *[""] * len(FILLER)], 20, 7)
    assert not any("Of harbours" in text for text in found.texts)


def test_the_first_passages_ask_what_all_would() -> None:
    """More passages ask more questions, and of the same texts: what is searched does not change."""
    found = take_passage_sentences_for_questions(TEXTS, [""] * len(TEXTS), 20, 7)
    few, more = found.list_questions_of_first_passages(2), found.list_questions_of_first_passages(20)
    assert more == found.questions
    assert len(few["sentence"]) == 2
    for name, questions in few.items():
        assert questions == found.questions[name][: len(questions)]
    assert {one.row for one in few.get("half", ())} <= {one.row for one in few["sentence"]}


def test_the_same_seed_asks_the_same() -> None:
    """Another seed does not."""
    first, again, other = (
        take_passage_sentences_for_questions(TEXTS, [""] * len(TEXTS), 5, seed) for seed in (7, 7, 8)
    )
    assert first == again
    assert first != other
    assert len(first.questions["sentence"]) == 5


def test_ranks_and_gains_by_hand() -> None:
    """Found first, third, and not at all; -1 fills up short rankings."""
    top = np.array([[4, 1, 2], [4, 1, 2], [4, 1, -1]])
    places = find_passage_ranks(top, np.array([4, 2, 9]))
    assert places.tolist() == [1, 3, 0]
    assert compute_ndcg_of_single_passage(places).tolist() == [1.0, 0.5, 0.0]


def test_what_stands_by_the_order_of_documents_is_not_found() -> None:
    """Ten or more that tie with the last; fewer, and what stands above, are found. -1 fills up a short ranking."""
    n = TIED + 4
    indices = np.tile(np.arange(n), (5, 1))
    scores = np.zeros((5, n))
    scores[0, :4] = [4, 3, 2, 1]
    scores[1, :5] = [5, 4, 3, 2, 1]
    scores[2] = -np.arange(n)
    indices[3, -2:], scores[3, -2:] = -1, -np.inf
    # Of four passages in all, nobody ties with the last.
    scores[4, :4] = [4, 3, 2, 1]
    indices[4, 4:], scores[4, 4:] = -1, -np.inf
    found = cut_rankings_at_ties(RankedCandidates(indices, scores))
    assert (found >= 0).sum(axis=1).tolist() == [4, n, n, 0, 4]
    assert find_passage_ranks(found, np.array([0, 0, 0, 0, 3])).tolist() == [1, 1, 1, 0, 4]


@given(st.lists(st.text(max_size=80), max_size=8))
def test_any_texts_can_be_probed(texts: list[str]) -> None:
    """Whatever they hold: rows are those of texts, and no passage is lost."""
    found = take_passage_sentences_for_questions(texts, [""] * len(texts), 5, 1)
    assert len(found.texts) == len(texts)
    for some in found.questions.values():
        assert all(0 <= one.row < len(texts) and one.text.strip() for one in some)


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_text_asks_hardly_anything(n: int) -> None:
    """No passage, or one: nothing fails."""
    found = take_passage_sentences_for_questions([HARBOUR] * n, [""] * n, 5, 1)
    assert len(found.questions.get("sentence", ())) == n


DOCUMENT = """# Tides and the 2. edition of the harbour guide for visitors

The ferry leaves an hour after high water on every day of the week.

```jinja
{% for boat in boats %} the boat called {{ boat }} leaves at noon. {% endfor %} And then it returns at night.
```

See https://example.org/a/long/path.html and www.example.org/other/page for more. | a | row | of | six | cells |

- an entry of a list that goes on for quite some words. {{ page.title }} is written by the template engine at night.
"""


def test_people_are_asked_about_prose_alone() -> None:
    """Of a page of documentation: neither the second half of a heading, nor code, addresses, a table or a template."""
    asked = {(take_sentence_out(DOCUMENT, make_seeded_generator(seed, "x")) or ("",))[0] for seed in range(40)}
    assert not any(sign in one for one in asked for sign in ("edition", "{", "boat", "example.org", "|", "entry"))


@pytest.mark.parametrize(
    "body",
    [
        "{% block content %} {{ title }} and more words for all to read here {% endblock %} until the end",
        "https://example.org/one https://example.org/two https://example.org/three https://example.org/four",
        "```sh\nmake test and then make check and then wait for what it says of them all\n```",
        "## A heading of many words that stands alone in a passage with nothing below it",
    ],
)
def test_what_is_no_prose_asks_nothing(body: str) -> None:
    """Nor does a half of it; and it is counted."""
    assert take_sentence_out(body, make_seeded_generator(1, "x")) is None
    found = take_passage_sentences_for_questions([body, HARBOUR], ["", ""], 20, 7)
    assert found.unasked == 1
    assert {question.row for group in found.questions.values() for question in group} == {1}
