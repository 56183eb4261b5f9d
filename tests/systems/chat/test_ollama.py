"""Ollama's chat models against a server that takes its fields and no others."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from pydantic import BaseModel

from embassay.contracts import ChatMessage, SamplingSettings
from embassay.errors import ModelError, TextRefused, UsageError
from embassay.systems.chat import open_chat
from embassay.systems.chat.ollama import read_ollama_reply
from embassay.systems.remote import Ledger, MalformedServerAnswer
from stub import Faults, StubServer
from stub.chat import Reply, scripted

pytest.importorskip("httpx2")

ASK = [ChatMessage("system", "Be brief."), ChatMessage("user", "Say it otherwise: a red fox")]


class Animal(BaseModel):
    name: str
    legs: int


def opened(stub, ledger=None, model="gemma3:27b", **params):
    given = {"base_url": stub.url, **params}
    text = f"ollama:{model}?" + "&".join(f"{key}={value}" for key, value in given.items())
    chat = open_chat(text, ledger=ledger)
    chat._calls.limits = replace(chat._calls.limits, backoff=0.01)
    return chat


def complete(chat, messages=ASK, **options):
    return asyncio.run(chat.complete(messages, **options))


def test_an_answer_and_what_it_took():
    """Text, model and reason as the server gives them; tokens counted, nothing charged."""
    ledger = Ledger()
    with StubServer(chat=lambda turn: "a crimson fox") as stub:
        answer = complete(opened(stub, ledger))
    assert (answer.text, answer.model, answer.finish) == ("a crimson fox", "gemma3:27b", "stop")
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.usd) == (8, 3, 0.0)
    assert ledger.map_models_to_call_totals()["ollama:gemma3:27b"].usd == 0


def test_options_reach_the_server():
    """Under Ollama's names; what is not given is not sent, so that the model's own settings hold."""
    sampling = SamplingSettings(temperature=0.5, top_p=0.9, seed=7, max_tokens=40)
    with StubServer() as stub:
        complete(opened(stub, num_ctx=4096, think="false", keep_alive="10m"), sampling=sampling)
        complete(opened(stub))
        full, bare = stub.bodies
    assert full["options"] == {"temperature": 0.5, "top_p": 0.9, "seed": 7, "num_predict": 40, "num_ctx": 4096}
    assert (full["think"], full["keep_alive"], full["stream"]) == (False, "10m", False)
    assert bare["options"] == {}
    assert not {"think", "keep_alive", "format"} & set(bare)


@pytest.mark.parametrize("think", ["true", "low"])
def test_thinking_is_no_part_of_the_answer(think):
    """Whether the server keeps it apart or not."""
    replies = [Reply("fox", thinking="Hm."), Reply("<think>Hm.</think>fox")]
    with StubServer(chat=scripted(*replies)) as stub:
        chat = opened(stub, think=think)
        assert [complete(chat).text for _ in replies] == ["fox", "fox"]


def test_a_schema_goes_into_format():
    """And the answer comes as the checked object."""
    with StubServer(chat=lambda turn: '{"name": "fox", "legs": 4}') as stub:
        answer = complete(opened(stub), schema=Animal)
        assert stub.bodies[0]["format"]["properties"]["legs"] == {"title": "Legs", "type": "integer"}
    assert answer.parsed == Animal(name="fox", legs=4)


def test_an_answer_that_does_not_fit_is_asked_for_once_more():
    """The second is taken, or the call fails with what is wrong."""
    with StubServer(chat=scripted('{"name": "fox"}', '{"name": "fox", "legs": 4}')) as stub:
        answer = complete(opened(stub), schema=Animal)
        assert answer.parsed.legs == 4
        assert answer.usage.requests == 2
    with StubServer(chat=lambda turn: "no") as stub, pytest.raises(TextRefused, match="does not match"):
        complete(opened(stub), schema=Animal)


def test_faults_pass(hasty):
    """Errors, resets, half answers: asked again."""
    faults = Faults(broken=0.15, reset=0.15, truncated=0.15, refused=0.15)
    with StubServer(chat=lambda turn: "fox", faults=faults) as stub:
        chat = opened(stub)
        assert {complete(chat).text for _ in range(12)} == {"fox"}
        assert sum(stub.injected.values()) > 2


def test_a_cut_answer_is_a_failure():
    """With its reason; never half an answer."""
    cut = Reply("a red", finish="length")
    with StubServer(chat=lambda turn: cut) as stub, pytest.raises(TextRefused, match="truncated at its maximum length"):
        complete(opened(stub))


def test_a_model_that_is_not_there_names_the_mend():
    """In Ollama's own words, and not as the failure of one text."""
    with StubServer() as stub, pytest.raises(ModelError, match="try pulling it first") as caught:
        complete(opened(stub, model="missing"))
    assert not isinstance(caught.value, TextRefused)


def test_a_model_that_cannot_think_says_so():
    """An error answer of Ollama's, with its words."""
    with StubServer() as stub, pytest.raises(ModelError, match="does not support thinking"):
        complete(opened(stub, model="plain", think="true"))


def test_identity_follows_the_context_and_not_the_limits():
    """What answers depend on; a name with its tag is one model."""
    with StubServer() as stub:
        plain, wider, slower = opened(stub), opened(stub, num_ctx=8192), opened(stub, rpm=3)
    assert plain.identity != wider.identity
    assert plain.identity == slower.identity
    assert "gemma3:27b" in plain.identity
    assert plain.name.startswith("ollama:gemma3:27b?")


def test_answers_may_take_long():
    """A local model is slow: ten minutes unless said otherwise."""
    with StubServer() as stub:
        assert opened(stub)._calls.limits.timeout == 600
        assert opened(stub, timeout=5)._calls.limits.timeout == 5


@pytest.mark.parametrize("answer", [{}, [], None, {"message": {"content": None}, "done": True}])
def test_an_answer_of_another_shape(answer):
    """Asked again like one that broke on the way."""
    with pytest.raises(MalformedServerAnswer):
        read_ollama_reply(answer)


def test_an_answer_that_is_not_done():
    """A stream's first piece is no answer."""
    with pytest.raises(MalformedServerAnswer, match="incomplete"):
        read_ollama_reply({"message": {"content": "a"}, "done": False})


def test_an_unknown_parameter():
    """Those that there are, the server's among them."""
    with pytest.raises(UsageError, match=r"Its parameters: .*base_url, .*num_ctx, think, keep_alive"):
        open_chat("ollama:m?mirostat=1")


def test_a_context_that_suits():
    """A power of two with room for the tokens, 4,096 at least; a copy, and what the spec says stays."""
    with StubServer() as stub:
        plain = opened(stub)
        fitted = [plain.make_chat_model_with_context_size(tokens=tokens) for tokens in (1, 4096, 4097, 30_000)]
        assert [one.num_ctx for one in fitted] == [4096, 4096, 8192, 32_768]
        assert plain.num_ctx is None
        assert {one.identity for one in fitted} == {f"{plain.identity}:num_ctx=suited"}
        complete(plain.make_chat_model_with_context_size(tokens=5000, think=False))
        complete(opened(stub, num_ctx=512, think="true").make_chat_model_with_context_size(tokens=5000, think=False))
        first, second = stub.bodies
    assert (first["options"]["num_ctx"], first["think"]) == (8192, False)
    assert (second["options"]["num_ctx"], second["think"]) == (512, True)


def test_a_text_that_fills_the_context():
    """Was cut without a word, so there is no answer to it."""
    long = [ChatMessage("user", "word " * 600)]
    with StubServer(chat=lambda turn: "short") as stub:
        with pytest.raises(TextRefused, match="were truncated"):
            complete(opened(stub, num_ctx=512), long)
        assert complete(opened(stub, num_ctx=4096), long).text == "short"
        assert stub.statuses[200] == 2


def test_how_long_the_server_worked():
    """For the messages and for the answer, without its queue and without loading the model."""
    durations = {"load_duration": 2_500_000_000, "prompt_eval_duration": 200_000_000, "eval_duration": 1_000_000_000}
    answer = {"message": {"content": "x"}, "done": True, "total_duration": 9_000_000_000, **durations}
    assert read_ollama_reply(answer).worked == 1.2
