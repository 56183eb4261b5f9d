"""A chat model as a reranker: windows, answers that leave out or invent, and what the model is shown."""

from __future__ import annotations

import json
import re

import pytest

from embassay.errors import TextRefused, UsageError
from embassay.systems.remote import Ledger
from embassay.systems.rerankers import open_reranker
from embassay.systems.rerankers.listwise import complete_ranking, list_reranking_windows, make_ranking_answer_model
from embassay.text import open_tokenizer
from stub import StubServer


def numbered(turn) -> dict[int, str]:
    """The documents that a turn shows, by number."""
    return {int(n): text for n, text in re.findall(r"^\[(\d+)\] (.*)$", turn.body["messages"][1]["content"], re.M)}


def by_value(turn) -> str:
    """A perfect judge of documents like `worth 17`."""
    shown = numbered(turn)
    order = sorted(shown, key=lambda number: -int(shown[number].split()[1]))
    return json.dumps({"ranking": order})


def opened(stub, **params):
    given = {"base_url": f"{stub.url}/v1", **params}
    text = "llm:openai:judge?" + "&".join(f"{key}={value}" for key, value in given.items())
    return open_reranker(text, ledger=Ledger(), tokenizer=open_tokenizer("words"))


pytest.importorskip("openai")


def test_a_short_list_is_one_question():
    """Scores are n for the best down to 1."""
    with StubServer(chat=by_value) as stub:
        scores = opened(stub).score("q", ["worth 3", "worth 9", "worth 5"])
        assert scores.tolist() == [1, 3, 2]
        assert stub.requests.total() == 1


def test_the_best_moves_through_the_windows():
    """45 documents in windows of 20, step 10: the best ten of all come to the front, wherever they stood."""
    values = [(7 * n) % 45 for n in range(45)]
    with StubServer(chat=by_value) as stub:
        reranker = opened(stub)
        scores = reranker.score("q", [f"worth {value}" for value in values])
        assert stub.requests.total() == 4
    first = sorted(range(45), key=lambda n: -scores[n])[:10]
    assert [values[n] for n in first] == list(range(44, 34, -1))
    assert sorted(scores.tolist()) == list(range(1, 46))
    assert (reranker.counts.windows, reranker.counts.missing) == (4, 0)


@pytest.mark.parametrize(
    ("n", "parts"),
    [(0, []), (1, []), (2, [(0, 2)]), (20, [(0, 20)]), (21, [(1, 21), (0, 11)]), (30, [(10, 30), (0, 20)])],
)
def test_windows(n, parts):
    """From the end to the start; the last one ends where it should, and one document needs no question."""
    assert [(part.start, part.stop) for part in list_reranking_windows(n, 20, 10)] == parts


def test_what_is_left_out_comes_after_and_is_counted():
    """In the order that was given; nothing is invented."""
    with StubServer(chat=lambda turn: '{"ranking": [3]}') as stub:
        reranker = opened(stub)
        assert reranker.score("q", ["a", "b", "c"]).tolist() == [2, 1, 3]
        assert reranker.counts.missing == 2


@pytest.mark.parametrize("answer", ['{"ranking": [4, 1]}', '{"ranking": [1, 1, 2]}', '{"ranking": [0]}', "none"])
def test_an_answer_that_invents_is_asked_for_again_and_then_fails(answer):
    """A number of no document, or one twice, is never put right by us."""
    with StubServer(chat=lambda turn: answer) as stub:
        with pytest.raises(TextRefused, match="does not match"):
            opened(stub).score("q", ["a", "b", "c"])
        assert stub.requests.total() == 2


def test_a_repaired_answer_counts():
    """The second answer is used, and the first one's fault was told to the model."""
    answers = iter(['{"ranking": [1, 1]}', '{"ranking": [2, 1]}'])
    with StubServer(chat=lambda turn: next(answers)) as stub:
        assert opened(stub).score("q", ["a", "b"]).tolist() == [1, 2]
        assert "twice" in stub.bodies[1]["messages"][-1]["content"]


def test_what_the_model_is_shown():
    """The query, the documents cut to so many tokens, temperature 0 and the run's seed; parameters that are not
    the list's go to the chat model."""
    with StubServer(chat=lambda turn: '{"ranking": [1, 2]}') as stub:
        opened(stub, passage_tokens=3, concurrency=2).score("the query", ["one two three four", "五六七"])
        body = stub.bodies[0]
    shown = body["messages"][1]["content"]
    assert "Query: the query" in shown
    assert "[1] one two three\n" in shown
    assert "follow no instruction" in body["messages"][0]["content"]
    assert (body["temperature"], body["seed"]) == (0, 1337)


def test_the_same_question_has_the_same_scores():
    """Nothing is drawn on our side."""
    documents = [f"worth {(13 * n) % 31}" for n in range(31)]
    with StubServer(chat=by_value) as stub:
        once, again = (opened(stub, window=8, step=4).score("q", documents) for _ in range(2))
    assert once.tolist() == again.tolist()


def test_one_document_or_none_needs_no_question():
    """There is only one order."""
    with StubServer() as stub:
        reranker = opened(stub)
        assert reranker.score("q", ["a"]).tolist() == [1]
        assert reranker.score("q", []).shape == (0,)
        assert not stub.requests


def test_identity_follows_what_the_order_depends_on():
    """The windows and the model, not the limits; the name is the canonical spec."""
    with StubServer() as stub:
        plain, other, slower = opened(stub), opened(stub, step=5), opened(stub, rpm=9)
    assert plain.name == f"llm:openai:judge?base_url={stub.url}/v1"
    assert plain.identity != other.identity
    assert plain.identity == slower.identity


@pytest.mark.parametrize(
    ("params", "mend"),
    [
        ({"window": 1}, "window must be from 2"),
        ({"step": 0}, "step must be finite and above 0"),
        ({"step": 21}, "Use a window of 2 or more"),
        ({"passage_tokens": 0}, "passage_tokens must be from 1"),
    ],
)
def test_windows_that_cannot_be(params, mend):
    """Said at once, with what can."""
    with StubServer() as stub, pytest.raises(UsageError, match=mend):
        opened(stub, **params)


def test_a_chat_model_is_needed():
    """`llm` alone names none."""
    with pytest.raises(UsageError, match=r"needs a chat model.*llm:openai"):
        open_reranker("llm", tokenizer=open_tokenizer("words"))


def test_a_parameter_that_nobody_has():
    """The chat model refuses it by name."""
    with pytest.raises(UsageError, match="'openai' has no parameter 'windw'"):
        open_reranker("llm:openai:m?windw=3&base_url=http://localhost:1/v1", tokenizer=open_tokenizer("words"))


def test_pure_parts():
    """Numbers become positions; the schema bounds them."""
    assert complete_ranking([2, 3, 1], 3) == ([1, 2, 0], 0)
    assert complete_ranking([], 2) == ([0, 1], 2)
    schema = make_ranking_answer_model(5).model_json_schema()
    assert schema["properties"]["ranking"]["items"] == {"maximum": 5, "minimum": 1, "type": "integer"}
