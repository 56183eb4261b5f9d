"""A chat model behind the cache, and many questions at once."""

from __future__ import annotations

import asyncio
from time import perf_counter

import pytest
from pydantic import BaseModel

from embassay.contracts import ChatMessage, Completion, SamplingSettings, Usage
from embassay.errors import BudgetExceeded, ModelError, TextRefused, Unanswered
from embassay.runs.execution import ModelLossDetector
from embassay.runs.store import CachedChatModel, CallFailure, ChatAnswerCache, ChatQuestion, ask_all_questions


class Grade(BaseModel):
    grade: int


class Model:
    """Answers with the number of the call; fails where the question says so."""

    name = identity = "model"

    def __init__(self):
        self.calls = 0
        self.most = self.now = 0

    async def complete(self, messages, *, sampling=SamplingSettings(), schema=None):  # noqa: B008
        self.calls += 1
        call = self.calls
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.now -= 1
        said = messages[-1].content
        errors = {"refused": TextRefused, "dead": ModelError, "poor": BudgetExceeded, "bug": KeyError}
        if said == "silent":
            raise Unanswered(said, "declined")
        if said.split()[0] in errors:
            raise errors[said.split()[0]](said)
        text = '{"grade": 3}' if schema else f"{said} {call}"
        parsed = schema.model_validate_json(text) if schema else None
        return Completion(text, parsed, Usage(5, 2, 1, 0.25, 0.125), "m", "stop")


@pytest.fixture
def cache(tmp_path):
    opened = ChatAnswerCache.open(tmp_path / "answers.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def chat(cache):
    return CachedChatModel(Model(), cache)


def question(text, **more):
    return ChatQuestion([ChatMessage("user", text)], **more)


def outcomes(chat, questions, **options):
    async def collect():
        return [one async for one in ask_all_questions(chat, questions, **options)]

    return asyncio.run(collect())


def test_an_answer_is_paid_for_once(chat):
    """The second time it comes from the cache, and costs nothing."""
    first = asyncio.run(chat.complete([ChatMessage("user", "a")]))
    second = asyncio.run(chat.complete([ChatMessage("user", "a")]))
    assert first.text == second.text == "a 1"
    assert (second.usage.requests, second.usage.usd, second.usage.input_tokens) == (0, 0.0, 5)
    assert (chat.counts.asked, chat.counts.cached, chat.model.calls) == (1, 1, 1)
    assert chat.is_answer_cached(question("a"))
    assert not chat.is_answer_cached(question("a", attempt=1))


def test_attempts_are_independent_draws(chat):
    """Each has its own answer, and keeps it."""
    draws = [asyncio.run(chat.complete([ChatMessage("user", "a")], attempt=i)).text for i in (0, 1, 2, 1)]
    assert draws == ["a 1", "a 2", "a 3", "a 2"]


def test_objects_are_read_again(chat):
    """A kept answer has its object; where it does not fit any more, it is asked again."""
    ask = question("a", schema=Grade)
    found = [one.parsed for _, one in outcomes(chat, [ask, ask])]
    assert found == [Grade(grade=3)] * 2
    key = next(iter(chat.cache._fetch_all_rows("SELECT key FROM answers")))[0]
    chat.cache.drop(key)
    chat.cache.write(key, "model", Completion('{"grade": "x"}', None, Usage(), "m", "stop"))
    assert outcomes(chat, [ask])[0][1].parsed == Grade(grade=3)
    assert chat.counts.asked == 2


def test_the_same_question_at_once_is_asked_once(chat):
    """The second waits for the first."""
    found = outcomes(chat, [question("a")] * 20)
    assert {one.text for _, one in found} == {"a 1"}
    assert (chat.counts.asked, chat.counts.cached) == (1, 19)


def test_many_questions(chat):
    """Every outcome by its position, no more at once than allowed, progress for each."""
    done = []
    found = outcomes(chat, (question(f"q{i}") for i in range(300)), at_once=20, progress=done.append)
    assert sorted(position for position, _ in found) == list(range(300))
    assert all(one.text.startswith(f"q{position} ") for position, one in found)
    assert chat.model.most <= 20
    assert done == [1] * 300


def test_a_failure_is_an_outcome(chat):
    """With its reason; it is not kept, so the next run tries again."""
    found = dict(outcomes(chat, [question("a"), question("refused b"), question("dead c")]))
    assert found[1] == CallFailure("refused b")
    assert found[2] == CallFailure("dead c")
    assert (chat.counts.asked, chat.counts.failed) == (1, 2)
    outcomes(chat, [question("refused b")])
    assert chat.model.calls == 4


def test_that_there_is_no_answer_is_kept(chat):
    """Where it was asked with a seed, which says what is drawn; without one it may be chance."""
    seeded = question("silent", sampling=SamplingSettings(seed=7))
    for _ in range(2):
        failure = outcomes(chat, [seeded])[0][1]
        assert (failure, failure.error.why) == (CallFailure("silent"), "declined")
        outcomes(chat, [question("silent")])
    assert chat.model.calls == 3
    assert chat.is_answer_cached(seeded)
    assert not chat.is_answer_cached(question("silent"))
    assert (chat.counts.cached, chat.counts.failed) == (1, 3)


def test_how_long_an_answer_took_is_kept(chat):
    """As it was when it was given."""
    seconds = [asyncio.run(chat.complete([ChatMessage("user", "a")])).usage.seconds for _ in range(2)]
    assert seconds == [0.125, 0.125]


def test_failures_at_the_end_are_no_dead_model():
    """Only those that were begun after the last answer count."""
    hope = ModelLossDetector()
    begun = perf_counter()
    hope.answered()
    assert not any(hope.is_model_lost_after_failure(begun) for _ in range(100))
    assert [hope.is_model_lost_after_failure(perf_counter()) for _ in range(8)] == [False] * 7 + [True]


def test_a_model_that_cannot_be_had_ends_it(chat):
    """After a few calls in a row, not after ten thousand; refused questions do not count."""
    assert len(outcomes(chat, (question(f"refused {i}") for i in range(100)), at_once=4)) == 100
    with pytest.raises(ModelError, match="dead"):
        outcomes(chat, (question(f"dead {i}") for i in range(10_000)), at_once=4)
    assert chat.model.calls < 120


@pytest.mark.parametrize(("word", "kind"), [("poor", BudgetExceeded), ("bug", KeyError)])
def test_the_end_comes_after_what_is_in_flight(chat, word, kind):
    """No question is begun after it; every answer that was on its way is given and kept."""
    questions = [question("poor" if i == 50 and word == "poor" else "bug" if i == 50 else f"q{i}") for i in range(200)]
    found = []

    async def collect():
        async for one in ask_all_questions(chat, questions, at_once=10):
            found.append(one)

    with pytest.raises(kind):
        asyncio.run(collect())
    assert chat.counts.asked == len(found) == chat.cache.summarise_cache_contents().entries
    assert 41 <= len(found) <= 70


def test_whoever_stops_asking_cancels(chat):
    """Nothing goes on behind his back."""

    async def stop():
        async for _ in ask_all_questions(chat, (question(f"q{i}") for i in range(100)), at_once=5):
            break
        before = chat.model.calls
        await asyncio.sleep(0.05)
        return before

    assert asyncio.run(stop()) == chat.model.calls
