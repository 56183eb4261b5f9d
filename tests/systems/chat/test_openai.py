"""OpenAI's chat models, against a server that speaks like OpenAI."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest
from pydantic import BaseModel

from embassay.contracts import ChatMessage, SamplingSettings
from embassay.errors import ModelError, TextRefused, Unanswered, UsageError
from embassay.systems.chat import CHAT_MODELS, open_chat
from embassay.systems.remote import Ledger
from stub import Faults, Problem, StubServer
from stub.chat import Reply, scripted

pytest.importorskip("openai")

ASK = [ChatMessage("system", "Be brief."), ChatMessage("user", "Say it otherwise: a red fox")]
KEY = "sk-very-secret-0123456789"


class Animal(BaseModel):
    name: str
    legs: int


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def opened(stub, ledger=None, **params):
    given = "&".join(f"{key}={value}" for key, value in {"base_url": f"{stub.url}/v1", **params}.items())
    chat = open_chat(f"openai:m?{given}", ledger=ledger)
    chat._calls.limits = replace(chat._calls.limits, backoff=0.01)
    return chat


def complete(chat, **options):
    return asyncio.run(chat.complete(ASK, **options))


def test_an_answer_and_what_it_took():
    """Text, model and reason as the server gives them; tokens and dollars by its count."""
    ledger = Ledger(max_usd=1)
    with StubServer(chat=lambda turn: "a crimson fox") as stub:
        answer = complete(
            opened(stub, ledger, price=1000, price_output=10_000), sampling=SamplingSettings(max_tokens=50)
        )
    assert (answer.text, answer.parsed, answer.model, answer.finish) == ("a crimson fox", None, "m", "stop")
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.requests) == (8, 3, 1)
    assert answer.usage.usd == pytest.approx(0.038)
    assert ledger.map_models_to_call_totals()["openai:m"].usd == pytest.approx(0.038)


def test_sampling_reaches_the_server():
    """Under OpenAI's names; what is not given is not sent."""
    with StubServer() as stub:
        sampling = SamplingSettings(temperature=0.5, top_p=0.9, seed=7, max_tokens=40)
        complete(opened(stub, effort="low"), sampling=sampling)
        complete(opened(stub))
        first, second = stub.bodies
    assert first["messages"] == [{"role": one.role, "content": one.content} for one in ASK]
    sent = {key: first[key] for key in ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort")}
    assert sent == {"temperature": 0.5, "top_p": 0.9, "seed": 7, "max_tokens": 40, "reasoning_effort": "low"}
    assert set(second) == {"messages", "model"}


def test_name_and_identity():
    """Where it is and what it is asked to do; never the key."""
    chat = open_chat("openai:gpt-5?effort=low")
    assert (chat.name, chat.identity) == ("openai:gpt-5?effort=low", "openai:gpt-5:api.openai.com/v1:effort=low")
    assert {"openai", "ollama"} <= {entry.name for entry in CHAT_MODELS}


@pytest.mark.parametrize(
    "reply", [Reply("<think>a fox...</think>a crimson fox"), Reply("a crimson fox", thinking="a fox ...")]
)
def test_thinking_is_taken_off(reply):
    """Whether it is in the text or in a field of its own."""
    with StubServer(chat=lambda turn: reply) as stub:
        assert complete(opened(stub)).text == "a crimson fox"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("a crim", finish="length"), "truncated at its maximum length"),
        (Reply("", finish="content_filter"), "content filter"),
        (Reply("<think>on and on", finish="length"), "truncated at its maximum length"),
    ],
)
def test_what_is_no_answer(reply, reason):
    """Is a failure with its reason, not tried again."""
    with StubServer(chat=lambda turn: reply) as stub, pytest.raises(TextRefused, match=reason):
        complete(opened(stub))
    assert stub.statuses[200] == 1


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "empty"),
        ("<think>on and on", "thinking"),
        (Reply("a crim", finish="length"), "cut"),
        (Reply("", finish="content_filter"), "withheld"),
    ],
)
def test_a_seeded_draw_without_an_answer(reply, why):
    """Would be the same again, so it is asked for once; why there is none can be told apart."""
    with StubServer(chat=lambda turn: reply) as stub:
        with pytest.raises(Unanswered) as caught:
            complete(opened(stub), sampling=SamplingSettings(seed=7))
        assert stub.statuses[200] == 1
    assert caught.value.why == why


def test_sampling_that_a_model_does_not_take():
    """Is left out from then on, and told once; what else is wrong stays an error."""
    sent = []

    def check(request):
        sent.append({*request.json} & {"temperature", "top_p", "seed"})
        for name in ("temperature", "seed"):
            if name in request.json:
                raise Problem(400, f"Unsupported parameter: '{name}' is not supported with this model.")

    sampling = SamplingSettings(temperature=0.8, top_p=0.9, seed=7)
    with StubServer(check=check) as stub:
        chat = opened(stub)
        with pytest.warns(RuntimeWarning, match=r"openai:m does not accept (temperature|seed)") as warned:
            complete(chat, sampling=sampling)
        complete(chat, sampling=sampling)
    assert len(warned) == 2
    assert sent == [{"temperature", "top_p", "seed"}, {"top_p", "seed"}, {"top_p"}, {"top_p"}]
    assert chat.left_out == ("temperature", "seed")


@pytest.mark.parametrize("body", [[], {}, {"choices": []}, {"choices": [{"message": None}]}, "text", {"choices": 1}])
def test_what_is_no_completion(body):
    """Is tried again, and then told."""
    with StubServer() as stub:
        stub._routes.insert(0, ("POST", re.compile(r"/v1/chat/completions"), lambda request: body))
        with pytest.raises(ModelError, match="an answer without a message"):
            complete(opened(stub))


def test_an_empty_answer_is_tried_again():
    """It may be chance."""
    with StubServer(chat=scripted("", "<think>x</think>", "a crimson fox")) as stub:
        answer = complete(opened(stub))
    assert (answer.text, answer.usage.requests) == ("a crimson fox", 3)


def test_a_schema():
    """The server is held to it, and the object is checked."""
    with StubServer(chat=lambda turn: 'Sure: ```{"name": "fox", "legs": 4}```') as stub:
        answer = complete(opened(stub), schema=Animal)
        asked = stub.bodies[0]["response_format"]
    assert answer.parsed == Animal(name="fox", legs=4)
    assert answer.text == '{"name": "fox", "legs": 4}'
    assert asked["type"] == "json_schema"
    assert asked["json_schema"]["strict"] is True


def test_one_repair():
    """The model is shown what was wrong, once; both requests are counted."""
    with StubServer(chat=scripted('{"name": "fox"}', '{"name": "fox", "legs": 4}')) as stub:
        answer = complete(opened(stub), schema=Animal)
        again = stub.bodies[1]["messages"]
    assert answer.parsed.legs == 4
    assert answer.usage.requests == 2
    assert again[-2]["content"] == '{"name": "fox"}'
    assert "legs: Field required" in again[-1]["content"]


def test_no_second_repair():
    """What does not fit then is a failure, with what is wrong."""
    with StubServer(chat=lambda turn: "no") as stub, pytest.raises(TextRefused, match="does not match the schema"):
        complete(opened(stub), schema=Animal)
    assert stub.statuses[200] == 2


def test_a_server_that_takes_no_schema():
    """Is told in words, and not asked for the other ways again."""
    ways = []

    def old(request):
        ways.append(request.json.get("response_format", {}).get("type"))
        if ways[-1] is not None:
            raise Problem(400, "response_format is not supported")

    with StubServer(check=old, chat=lambda turn: '{"name": "fox", "legs": 4}') as stub:
        chat = opened(stub)
        complete(chat, schema=Animal)
        complete(chat, schema=Animal)
        told = stub.bodies[-1]["messages"][0]["content"]
    assert ways == ["json_schema", "json_object", "json_object", None, None]
    assert '"legs"' in told


def test_a_server_that_fails_over_a_json_schema():
    """llama.cpp's, which answers it with status 500 and a validation error, gets the schema as it takes it."""
    formats = []

    def llama(request):
        formats.append(request.json["response_format"])
        if formats[-1]["type"] == "json_schema":
            raise Problem(500, "1 validation error: body -> response_format -> type: unexpected value")

    with StubServer(check=llama, chat=lambda turn: '{"name": "fox", "legs": 4}') as stub:
        chat = opened(stub)
        for _ in range(2):
            complete(chat, schema=Animal)
    assert [asked["type"] for asked in formats] == ["json_schema", "json_object", "json_object"]
    assert set(formats[1]["schema"]["properties"]) == {"name", "legs"}


def test_a_server_with_the_other_name_for_the_longest_answer():
    """Is found out once; a server that wants neither is not asked for ever."""

    def strict(request):
        if "max_tokens" in request.json:
            raise Problem(400, "'max_tokens' is not supported. Use 'max_completion_tokens' instead.")

    with StubServer(check=strict) as stub:
        chat = opened(stub)
        for _ in range(2):
            complete(chat, sampling=SamplingSettings(max_tokens=9))
        assert [body["max_completion_tokens"] for body in stub.bodies] == [9, 9]
        assert stub.statuses[400] == 1

    def stubborn(request):
        raise Problem(400, "neither max_tokens nor max_completion_tokens")

    with StubServer(check=stubborn) as stub, pytest.raises(TextRefused, match="neither"):
        complete(opened(stub), sampling=SamplingSettings(max_tokens=9))


def test_faults_pass(hasty):
    """Every kind, over and over: all answers are right."""
    with StubServer(faults=Faults.all(0.4, slow_seconds=0.0)) as stub:
        chat = opened(stub)

        async def ask(i):
            return await chat.complete([ChatMessage("user", f"question {i}")])

        async def all_of_them():
            return await asyncio.gather(*map(ask, range(100)))

        answers = asyncio.run(all_of_them())
    assert [answer.text for answer in answers] == [f"question {i}" for i in range(100)]


def test_a_wrong_key_or_price():
    """Are said, and the key is not shown."""
    with StubServer(keys={"another"}) as stub, pytest.raises(ModelError, match="status 401") as caught:
        complete(opened(stub))
    assert KEY not in str(caught.value)
    with pytest.raises(UsageError, match="Only one of the two prices"):
        open_chat("openai:unheard?price=3")
    with StubServer() as stub, pytest.raises(UsageError, match="price=NUMBER"):
        complete(opened(stub, Ledger(max_usd=1)))
