"""What counts as a rating, and how ratings are asked for."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.contracts import Completion, SamplingSettings, Usage
from embassay.errors import ModelError, TextRefused, UsageError
from embassay.protocols.pteb.options import JudgeRatingOptions, JudgingRunOptions
from embassay.protocols.pteb.ratings import (
    SEED_STEP,
    JudgeRating,
    JudgeRatingInstructions,
    NoRatingError,
    format_text_pair,
    parse_rating,
    rate_text_pairs,
)
from embassay.runs.store import CachedChatModel, ChatAnswerCache

GOOD = {
    '{"score": 3.5}': 3.5, ' {"score":0}\n': 0.0, "5": 5.0, " 4.25 ": 4.25, "```json\n{\"score\": 2}\n```": 2.0,
    "```\n2\n```": 2.0, '{"score": 5.0}': 5.0,
}  # fmt: skip
BAD = (
    "4/5", "Score: 4", "4 out of 5", "I think 4", "", "four", "-1", "5.1", "4,5", "1e0", "4.", ".5", "NaN", "[4]",
    '{"score": "4"}', '{"score": true}', '{"score": null}', '{"score": 6}', '{"score": -0.1}', '{"score": NaN}',
    '{"score": 4, "why": "alike"}', '{"rating": 4}', '{"score": 4} because', 'They match. {"score": 4}',
    '{"score": 1e999}', "٤",
)  # fmt: skip


@pytest.mark.parametrize(("text", "value"), GOOD.items())
def test_a_rating(text, value):
    """The JSON that was asked for, or a bare number; a code fence around either does no harm."""
    assert parse_rating(text) == value


@pytest.mark.parametrize("text", BAD)
def test_no_rating(text):
    """What is not the rating alone is not read out of, and nothing beyond 0 to 5 is cut to it."""
    with pytest.raises(NoRatingError, match=r"not a rating|out of range"):
        parse_rating(text)


@given(st.floats(0, 5))
def test_every_value_of_the_scale_is_read_exactly(value):
    """As JSON to the last bit."""
    assert parse_rating(f'{{"score": {value!r}}}') == value


@given(st.text())
def test_no_answer_breaks_the_reader(text):
    """It is a rating on the scale, or there is none."""
    with suppress(NoRatingError):
        assert 0 <= parse_rating(text) <= 5


@pytest.mark.parametrize(
    "options",
    [
        {"judge_temperature": -0.1}, {"judge_temperature": 2.1}, {"judge_top_p": 0.0},
        {"attempts": 0}, {"answers": "any"},
        {"gold_bins": "1,x"}, {"gold_bins": "2,1"}, {"gold_bins": "4,5"}, {"gold_bins": "0,1"}, {"gold_bins": ""},
        {"word_bins": "10,10"}, {"word_bins": "1.5"}, {"word_bins": "inf"}, {"smallest_bin": 0},
    ],
)  # fmt: skip
def test_options_that_mean_nothing(options):
    """Are refused before anything is asked."""
    with pytest.raises(UsageError):
        JudgingRunOptions(**options)


class Judge:
    """Answers what `says` makes of (pair, seed); keeps what it was asked."""

    name = identity = "judge"

    def __init__(self, says):
        self.says, self.asked = says, []

    async def complete(self, messages, *, sampling=SamplingSettings(), schema=None):  # noqa: B008
        self.asked.append((messages, sampling, schema))
        await asyncio.sleep(0)
        said = self.says(messages[1].content, sampling.seed)
        if isinstance(said, Exception):
            raise said
        return Completion(said, None, Usage(9, 1, 1, 0.0), "judge", "stop")


@pytest.fixture
def cache(tmp_path):
    opened = ChatAnswerCache.open(tmp_path / "answers.sqlite")
    yield opened
    opened.close()


def rated(judge, cache, pairs, hear=lambda _: None, **options):
    return rate_text_pairs(
        CachedChatModel(judge, cache),
        pairs,
        JudgeRatingInstructions("Rate.", JudgeRatingOptions(**options), 1337),
        hear,
    )


def test_the_judge_is_blind(cache):
    """It sees the instructions and the two texts, and is drawn from as the options say."""
    judge = Judge(lambda *_: "4")
    assert rated(judge, cache, [("a", "b")]) == [JudgeRating(4.0, 1)]
    [(messages, sampling, schema)] = judge.asked
    assert [(one.role, one.content) for one in messages] == [("system", "Rate."), ("user", format_text_pair("a", "b"))]
    assert (sampling, schema) == (SamplingSettings(0.8, 0.9, 1337), None)


def test_equal_pairs_are_asked_once(cache):
    """And never again by a later run; progress counts them all."""
    judge, heard = Judge(lambda *_: '{"score": 1.5}'), []
    pairs = [("a", "b"), ("b", "a"), ("a", "b")]
    assert rated(judge, cache, pairs, heard.append) == [JudgeRating(1.5, 1)] * 3
    assert len(judge.asked) == 2
    assert sum(heard) == 3
    assert rated(judge, cache, pairs) == [JudgeRating(1.5, 1)] * 3
    assert len(judge.asked) == 2


def test_what_is_no_rating_is_asked_again_with_another_seed(cache):
    """Only that pair, only until there is a rating; the attempts are counted."""
    judge = Judge(lambda text, seed: "Score: 4" if "bad" in text and seed < 1337 + 2 * SEED_STEP else "3")
    assert rated(judge, cache, [("bad", "b"), ("c", "d")]) == [JudgeRating(3.0, 3), JudgeRating(3.0, 1)]
    assert [sampling.seed - 1337 for messages, sampling, _ in judge.asked if "bad" in messages[1].content] == [
        0, SEED_STEP, 2 * SEED_STEP,
    ]  # fmt: skip


def test_a_rating_that_never_comes_has_its_reason(cache):
    """After as many attempts as allowed, or when the model declines; the others are rated."""
    says = {"worse": "4/5", "more": "7", "never": TextRefused("judge: the model declined."), "gone": ModelError("down")}

    def answer(text, _):
        return next((said for word, said in says.items() if word in text), "2")

    judge = Judge(answer)
    found = rated(judge, cache, [("worse", ""), ("more", ""), ("never", ""), ("gone", ""), ("fine", "")], attempts=2)
    assert [(one.value, one.attempts) for one in found] == [(None, 2)] * 4 + [(2.0, 1)]
    assert [one.reason for one in found] == [
        "an answer that is not a rating", "a rating out of range", "judge: the model declined.", "down", "",
    ]  # fmt: skip


def test_a_server_can_be_told_the_schema(cache):
    """For models that would not keep to it by themselves."""
    judge = Judge(lambda *_: '{"score": 2}')
    judge_asked = rated(judge, cache, [("a", "b")], answers="schema")
    assert judge_asked == [JudgeRating(2.0, 1)]
    assert judge.asked[0][2].model_json_schema()["required"] == ["score"]
