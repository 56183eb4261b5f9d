"""What may stand for a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data import open_dataset
from embassay.protocols.pteb.paraphrasing import compute_answer_length_limit, make_paraphrase_verdict_of_answer

TEXT = "The committee approved the budget after a long debate."


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("After a long debate, the committee passed the budget.", "ok"),
        (f"  {TEXT}\n", "copied"),
        ("", "empty"),
        (" \n", "empty"),
        ("<think>Which words?</think>", "empty"),
        ("<think>Which words", "thinking"),
        ("so be it.</think> After a debate, it passed.", "thinking"),
        ("Okay, the user wants me to reword the sentence.", "thinking"),
        ("Long " * 60, "too long"),
        ("I'm sorry, but I can’t help with that.", "refused"),
        ("As an AI language model, I have no budget.", "refused"),
        ("Lo siento, pero no puedo ayudar con eso.", "refused"),
        ("El comité aprobó el presupuesto tras un largo debate.", "wrong language"),
        ("経過した長い議論の後、委員会は予算を承認した。", "wrong language"),
    ],
)
def test_outcomes(answer, outcome):
    """Every outcome; only what is usable has a wording, and only what is not has a reason."""
    found = make_paraphrase_verdict_of_answer(TEXT, answer, lang="en")
    assert found.outcome == outcome
    assert bool(found.wording) == found.usable == (outcome in ("ok", "copied"))
    assert bool(found.reason) == (not found.usable)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("I cannot fulfill this request.", "refused"), ("I can't assist with that request.", "refused"),
        ("I apologize, but I cannot provide a paraphrase of that content.", "refused"),
        ("I'm unable to paraphrase this text.", "refused"), ("Sorry, I can't help with that.", "refused"),
        ("As a language model, I don't have opinions.", "refused"), ("I must respectfully decline.", "refused"),
        ("Unfortunately, I cannot process this request.", "refused"), ("I won't paraphrase that.", "refused"),
        ("Please provide the text you would like me to paraphrase.", "refused"),
        ("Je suis désolé, mais je ne peux pas répondre.", "refused"), ("对不起，我无法回答这个问题。", "refused"),
        ("Es tut mir leid, aber dabei kann ich nicht helfen.", "refused"),
        ("Okay, let's see. The user wants a paraphrase.", "thinking"), ("Thinking Process: 1. Words", "thinking"),
        ("Okay, so I need to paraphrase this sentence.", "thinking"), ("We need to rephrase: it", "thinking"),
        ("First, I need to understand the sentence.", "thinking"), ("<|channel|>analysis", "thinking"),
    ],
)  # fmt: skip
def test_how_models_decline_and_think_aloud(answer, outcome):
    """In the words that they use."""
    assert make_paraphrase_verdict_of_answer(TEXT, answer, lang="und").outcome == outcome


def test_blocks_of_thinking_are_taken_out():
    """Over several lines and wherever they stand; what is left is judged."""
    answer = "<think>one\ntwo</think>\n After debating\n<THINKING>x</THINKING>it passed the budget."
    assert make_paraphrase_verdict_of_answer(TEXT, answer).wording == "After debating\nit passed the budget."


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Put <think> before the answer.", "Before the answer, put <think>."),
        ("As an AI I cannot comply, it said.", "It said that as an AI it was unable to; I can't comply."),
        ("I'm sorry, but I can't come.", "Sorry, but I can't make it. I'm sorry, but I cannot."),
        ("I can't use my card", "I am unable to use my card"),
        ("I won't help him.", "I will not help him with the move"),
        ("Can you help with that?", "Could you help me out with that?"),
        ("So, the user asks twice.", "The user asks two times, then."),
        ("My job is AI engineering.", "I am an AI engineer."),
        ("I am unable to help him move.", "I can't assist him in moving."),
        ("First you should read it.", "First, let us read it: the user may wait."),
    ],
)
def test_what_the_text_says_itself_is_no_fault(text, answer):
    """Marks count only where the text has none, and ordinary sentences have none."""
    assert make_paraphrase_verdict_of_answer(text, answer, lang="en").outcome == "ok"


@pytest.mark.parametrize(("text", "strict", "allowed"), [("Hi", False, 40), ("Hi", True, 10), ("x" * 20, False, 100)])
def test_the_longest_answer(text, strict, allowed):
    """Five times the text, and 40 characters always unless strict; the border itself is allowed."""
    assert compute_answer_length_limit(text, strict=strict) == allowed
    assert make_paraphrase_verdict_of_answer(text, "y" * allowed, strict_length=strict).usable
    assert make_paraphrase_verdict_of_answer(text, "y" * (allowed + 1), strict_length=strict).outcome == "too long"


@given(st.text(), st.text(st.characters(codec="utf-8")))
def test_any_answer_is_judged(text, answer):
    """What is usable is never blank, too long or with white space around it, and can be written to a file."""
    found = make_paraphrase_verdict_of_answer(text, answer)
    if found.usable:
        assert found.wording
        assert found.wording == found.wording.strip()
        assert found.outcome == "copied" or len(found.wording) <= compute_answer_length_limit(text)
        found.wording.encode()
    else:
        assert not found.wording


def test_half_a_character():
    """A server may send one; the wording can be kept all the same."""
    assert make_paraphrase_verdict_of_answer(TEXT, "The budget \ud83d passed after a long debate.").wording == (
        "The budget ? passed after a long debate."
    )


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_the_text_itself_is_copied(text):
    """Whatever it looks like, unless it is nothing but thinking."""
    if text.strip() and "<" not in text:
        assert make_paraphrase_verdict_of_answer(text, text).outcome == "copied"


def test_hand_written_paraphrases_pass():
    """All of the sample data, short and long, in its languages; the language is not even stated."""
    sample = open_dataset("sample").load("paraphrases").data
    rejected = [
        (text, wording, found.reason)
        for text, wordings in sample.map_text_to_wordings().items()
        for wording in wordings
        if not (found := make_paraphrase_verdict_of_answer(text, wording)).usable
    ]
    assert not rejected
