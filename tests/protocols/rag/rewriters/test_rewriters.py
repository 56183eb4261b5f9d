"""Rewriters by name, and a language model as one: strict reading, failures with their reason, nothing paid twice."""

from __future__ import annotations

import asyncio

import pytest

from embassay.errors import ModelError, Unanswered, UsageError
from embassay.protocols.rag.judges import Question
from embassay.protocols.rag.rewriters import (
    REWRITERS,
    ChatRewriter,
    RewriteOptions,
    build_rewriter_record,
    open_rewriter,
    parse_rewriting,
)
from embassay.runs.store import CachedChatModel
from embassay.systems.chat.answers import UnfitAnswerError
from stub import StubServer
from stub.said import Model

ASKED = Question("q1", "Hi! What causes jet noise? Thanks")
GOOD = '{"rewrite": "causes of jet noise"}'


def rewritten(rewriter, question=ASKED):
    return asyncio.run(rewriter.rewrite(question))


def test_by_name():
    """Those that ask nobody; a wrong name is refused with the near ones."""
    assert {"identity", "rules", "llm"} <= {entry.name for entry in REWRITERS}
    assert rewritten(open_rewriter("identity")) == ASKED.text
    assert rewritten(open_rewriter("rules")) == "What causes jet noise?"
    assert open_rewriter("rules").identity.startswith("rules/1/")
    assert build_rewriter_record(open_rewriter("identity")) == {"name": "identity", "identity": "identity"}
    with pytest.raises(UsageError, match="Did you mean rules"):
        open_rewriter("rule")
    with pytest.raises(UsageError, match="Write llm:ollama"):
        open_rewriter("llm")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "empty"),
        ("causes of jet noise", "no JSON object"),
        ('Sure! {"rewrite": "x"}', "no JSON object"),
        ('{"rewrite": "cut', "no JSON object"),
        ('{"query": "x"}', "not an object"),
        ('["x"]', "not an object"),
        ('{"rewrite": "x", "why": "y"}', "not an object"),
        ('{"rewrite": ""}', "no text"),
        ('{"rewrite": " \\n "}', "no text"),
        ('{"rewrite": null}', "no text"),
        ('{"rewrite": ["x"]}', "no text"),
        ('{"rewrite": "' + "Jet noise is caused by " * 30 + '"}', "longer than the question"),
        ("[" * 100_000, "no JSON object"),
    ],
)
def test_what_is_no_answer(answer, why):
    """Nothing is guessed: an answer is one object with one short text."""
    with pytest.raises(UnfitAnswerError, match=why):
        parse_rewriting(answer, ASKED.text)


def test_a_code_fence_does_no_harm():
    """And white space is made one line."""
    assert parse_rewriting('```json\n{"rewrite": " jet\\n noise "}\n```', "x") == "jet noise"


def test_what_cannot_be_read_is_asked_for_again(cache):
    """With another seed each time, and never the question in its place when no answer comes."""
    model = Model("no", Unanswered("nothing", "withheld"), GOOD)
    rewriter = ChatRewriter(CachedChatModel(model, cache))
    assert rewritten(rewriter) == "causes of jet noise"
    assert len({sampling.seed for _, sampling, _ in model.asked}) == 3
    silent = ChatRewriter(CachedChatModel(Model("no"), cache), RewriteOptions(attempts=2), seed=7)
    with pytest.raises(Unanswered, match="no readable rewrite in 2 attempts, the last: no JSON object: no"):
        rewritten(silent)


def test_another_failure_is_passed_on(cache):
    """A server that cannot be had is no matter of the question."""
    with pytest.raises(ModelError, match="gone"):
        rewritten(ChatRewriter(CachedChatModel(Model(ModelError("gone")), cache)))


def test_nothing_is_paid_for_twice(cache):
    """The same question again comes from the cache; a question cannot end its own block."""
    model = Model(GOOD)
    rewriter = ChatRewriter(CachedChatModel(model, cache))
    assert rewritten(rewriter) == rewritten(rewriter) == "causes of jet noise"
    assert len(model.asked) == 1
    shown = model.asked[0][0][1].content
    assert shown.startswith("[question ")
    assert shown.split("\n")[0].removeprefix("[question") == shown.split("\n")[-1].removeprefix("[end of question")


def test_the_manifest_says_what_rewrote(cache):
    """Model, sampling, and the prompt by version and digest, which are part of the identity."""
    rewriter = ChatRewriter(CachedChatModel(Model(GOOD), cache))
    told = build_rewriter_record(rewriter)
    assert told["prompt"].startswith("rewrite@1:")
    assert told["prompt"] in rewriter.identity
    assert (told["model"], told["temperature"], told["attempts"]) == ("model", 0.0, 6)


def test_impossible_settings():
    """They are refused with the mend."""
    with pytest.raises(UsageError, match="temperature from 0 to 2"):
        RewriteOptions(temperature=3)


@pytest.mark.parametrize("vendor", ["openai", "ollama"])
def test_over_http(cache, vendor):
    """`llm:` and the spec of any chat model, whose own parameters go to the model."""
    pytest.importorskip("openai")
    with StubServer(chat=lambda turn: GOOD) as stub:
        place = f"{stub.url}/v1" if vendor == "openai" else stub.url
        spec = f"llm:{vendor}:writer?base_url={place}&temperature=0.5"
        rewriter = open_rewriter(spec, cache=cache)
        assert rewritten(rewriter) == "causes of jet noise"
    assert rewriter.name == f"llm:{vendor}:writer?base_url={place}&temperature=0.5"
    body = stub.bodies[-1]
    assert body.get("temperature", body.get("options", {}).get("temperature")) == 0.5
