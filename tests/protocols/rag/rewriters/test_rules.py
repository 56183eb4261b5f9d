"""Rewriting by rules: noise goes, the question stays word for word, and clean questions are left alone."""

from __future__ import annotations

import gzip
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.rag.rewriters import (
    load_question_phrase_patterns,
    parse_phrase_patterns_by_part,
    rewrite_by_rules,
)

NOISE = Path(__file__).parent / "noise"
QUESTIONS = {
    "english": (
        "what is the melting point of the alloy used in the hull?",
        "can bees recognise human faces?",
        "which vitamins are lost when vegetables are boiled?",
        "who translated the 1855 edition of Leaves of Grass?",
        "which papers by Adeline Voss do not discuss cold smoke?",
    ),
    "french": (
        "quelle est la température de fusion de l'alliage de la coque ?",
        "les abeilles reconnaissent-elles les visages humains ?",
        "quelles vitamines perd-on en faisant bouillir les légumes ?",
        "qui a traduit l'édition de 1855 de Feuilles d'herbe ?",
        "quels articles d'Adeline Voss ne parlent pas de fumée froide ?",
    ),
}


def noise(name: str) -> list[str]:
    lines = (NOISE / f"{name}.txt").read_text("utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines if not line.startswith("#")]


def noisy(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Every question in every noise of its language, and the question."""
    return [
        (around.replace("{}", question), question)
        for name in names
        for number, around in enumerate(noise(name))
        for question in QUESTIONS["french" if name == "french" or (number >= 10 and name == "held_out") else "english"]
    ]


def core(text: str) -> str:
    return text.lower().rstrip(" ?.")


def test_known_noise_goes() -> None:
    """Of the noise the rules were made with, all goes from nearly every question, and no word of any question."""
    pairs = noisy(("english", "french"))
    rewritten = [(rewrite_by_rules(text), question) for text, question in pairs]
    assert [one for one in rewritten if core(one[1]) not in core(one[0])] == []
    assert sum(core(one) == core(question) for one, question in rewritten) > 0.93 * len(pairs)


def test_noise_that_was_held_out() -> None:
    """Of other noise most words go, and again no word of any question."""
    pairs = noisy(("held_out",))
    rewritten = [(rewrite_by_rules(text), text, question) for text, question in pairs]
    assert [one for one in rewritten if core(one[2]) not in core(one[0])] == []
    left = sum(len(one.split()) - len(question.split()) for one, _, question in rewritten)
    assert left < 0.5 * sum(len(text.split()) - len(question.split()) for _, text, question in rewritten)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I have a Dell XPS 13 running Ubuntu 22.04. Why does the wifi drop?", None),
        ("My dog ate chocolate. What should I do?", None),
        ("I'm allergic to nuts. Which desserts can I eat at a party?", None),
        ("I feel tired all day. Which vitamin deficiency might cause that?", None),
        ("Which phone has a good camera? I don't want one from Apple.", None),
        ("Which phone has a good camera? I need a long battery life.", None),
        ("Thanks to what does bread grow taller?", None),
        ("Well water contamination causes", None),
        ("Wonder Woman release date", None),
        ("Hello Kitty creator", None),
        ("Bonjour Tristesse de Sagan", None),
        ("So far, how many people walked on the moon?", None),
        ("Can you give insulin to cats?", None),
        ("Peut-on donner de l'aspirine à un chat ?", None),
        ("Who has the right of way?", None),
        ("HIV trans-activator protein (TAT) effectively transports molecules", None),
        ("levels above 25(OH)D in blood", None),
        ("what is .NET and what is -5 degrees", None),
        ("Comment dit-on « merci beaucoup » en japonais ?", None),
        ('Hi! What does "sorry to bother you" mean? Thanks!', 'What does "sorry to bother you" mean?'),
        ("Hi, is 'thanks in advance' rude?", "is 'thanks in advance' rude?"),
        ("Hey, what does https://example.org/:D/a serve?", "what does https://example.org/:D/a serve?"),
        ("Hi! Why must it not be turned, please?", "Why must it not be turned?"),
        ("Bonjour, pourquoi ne faut-il pas le retourner ? Merci.", "pourquoi ne faut-il pas le retourner ?"),
        ("Could you tell me whether goats swim?", "goats swim?"),
        ("Pourriez-vous me dire s'il pleut à Brest ?", "il pleut à Brest ?"),
        ("Given 3 dogs, could you tell me how often to walk them?", "Given 3 dogs, how often to walk them?"),
        ("I'm with my boss in Lyon, so what is typical food here?", None),
        ("hello", None),
        ("Thanks!", None),
        ("😀", None),
        ("cafe\u0301 au lait ?", "café au lait ?"),
        ("two\n lines ", "two lines"),
        ("", None),
    ],
)
def test_examples(text: str, expected: str | None) -> None:
    """What narrows a question, and what only looks like noise, is kept (None: as it is)."""
    assert rewrite_by_rules(text) == (text if expected is None else expected)


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_any_text(text: str) -> None:
    """Never empty unless the text is blank, composed, on one line, and the same when done twice."""
    once = rewrite_by_rules(text)
    assert bool(once.strip()) == bool(text.strip())
    assert once == unicodedata.normalize("NFC", once) == " ".join(once.split())


@given(st.sampled_from(noisy(("english", "french", "held_out"))))
def test_done_twice_is_done_once(pair: tuple[str, str]) -> None:
    """The rules leave nothing that they would cut."""
    once = rewrite_by_rules(pair[0])
    assert rewrite_by_rules(once) == once


@pytest.mark.usefixtures("no_hang")
def test_long_texts_take_no_longer_than_they_should() -> None:
    """Texts that almost match, as long as texts are rewritten, are no trap; longer ones are left alone."""
    for unit in ("so ", "sorry to ", "could you please ", "thanks, ", "a, ", "(", "i was ", "« ", '"', "x. ", "😀"):
        rewrite_by_rules(unit * (3_900 // len(unit)) + "x?")
    assert rewrite_by_rules("so " * 2_000).startswith("so so")


def test_the_files_of_phrases() -> None:
    """Every phrase compiles by itself, and a language is told by its common words."""
    for language in ("english", "french"):
        load_question_phrase_patterns(language)
    assert parse_phrase_patterns_by_part("# no\nA = x\n[p]  what\n{A}{2}\n") == {"p": ["x{2}"]}


@pytest.mark.shared
@pytest.mark.parametrize("collection", ["cranfield", "med", "scifact"])
def test_clean_questions_are_left_alone(root: Path, collection: str) -> None:
    """Not one of the 1,364 questions and claims of three collections is changed."""
    path = root / ".." / "shared" / "data" / "retrieval" / collection / "queries.jsonl.gz"
    if not path.exists():
        pytest.skip("the development datasets are absent")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = [" ".join(json.loads(line)["text"].split()) for line in file]
    assert [text for text in texts if rewrite_by_rules(text) != text] == []


def test_the_sample_is_left_alone(root: Path) -> None:
    """Nor one of the sample's questions, in their own words and in others."""
    path = root / "src" / "embassay" / "data" / "sample" / "questions.jsonl"
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    texts = [text for row in rows for text in (row["text"], *row["paraphrases"])]
    assert [text for text in texts if rewrite_by_rules(text) != text] == []
