"""A language model as a paraphraser, behind a real server that spoils what it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from embassay.errors import BudgetExceeded, ModelError
from embassay.protocols.pteb.paraphrasing import open_paraphrase_prompt, open_paraphraser
from embassay.protocols.wordings.records import (
    SEED_STEP,
    ParaphraseSamplingAndRetryOptions,
    TextToParaphrase,
    measure_wording_quality,
)
from embassay.systems.remote import Ledger
from stub import Faults, Problem, StubServer
from stub.chat import Reply
from stub.paraphrasing import paraphrasing, share

pytest.importorskip("openai")

TEXTS = [
    TextToParaphrase(f"Two people are walking near river number {i}, and a man says hello.", "en") for i in range(60)
]


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def opened(stub, tmp_path, *, params="", **options):
    spec = f"openai:m?base_url={stub.url}/v1{params}"
    return open_paraphraser(spec, cache=tmp_path / "answers.sqlite", **options)


def written(paraphraser, asked=TEXTS, *, seed=1337):
    found = dict(paraphraser.write(asked, seed=seed, run=0))
    assert sorted(found) == list(range(len(asked)))
    return [found[i] for i in range(len(asked))]


def seeds_of(stub, text):
    return [body["seed"] for body in stub.bodies if body["messages"][-1]["content"] == text]


def test_what_is_asked(tmp_path):
    """Instructions as the system's message, the raw text as the user's, the paper's sampling and the run's seed."""
    with StubServer(chat=paraphrasing()) as stub:
        rows = written(opened(stub, tmp_path), [TextToParaphrase(" A red\nfox. ", "en")])
        (body,) = stub.bodies
    assert body["messages"] == [
        {"role": "system", "content": open_paraphrase_prompt().text},
        {"role": "user", "content": " A red\nfox. "},
    ]
    assert (body["temperature"], body["top_p"], body["seed"]) == (0.8, 0.9, 1337)
    assert rows[0].usable
    assert (rows[0].attempts, rows[0].seed) == (1, 1337)


@pytest.mark.parametrize(
    ("asked", "added"),
    [
        (TextToParaphrase("x", "en"), False),
        (TextToParaphrase("x", "eng_Latn"), False),
        (TextToParaphrase("x", "en-en"), False),
        (TextToParaphrase("x", "de"), True),
        (TextToParaphrase("x", "und"), True),
        (TextToParaphrase("x", "en", multilingual=True), True),
    ],
)
def test_the_multilingual_addition(tmp_path, asked, added):
    """For texts that are not known to be English, and for all of a dataset that is not English only."""
    with StubServer() as stub:
        question = opened(stub, tmp_path).question(asked, 1337)
    assert question.messages[0].content.endswith("do not translate it.") == added


def test_blank_texts_cost_nothing(tmp_path):
    """They come back as they are, without a call."""
    with StubServer(chat=paraphrasing()) as stub:
        rows = written(opened(stub, tmp_path), [TextToParaphrase("", "en"), TextToParaphrase(" \n", "en")])
        assert not stub.bodies
    assert [(row.wording, row.outcome, row.attempts) for row in rows] == [("", "ok", 0), (" \n", "ok", 0)]


def test_every_run_has_its_seed(tmp_path):
    """first, first + 1 ...; equal texts get equal paraphrases within a run, from one call."""
    with StubServer(chat=paraphrasing()) as stub:
        model = opened(stub, tmp_path)
        assert model.seeds(6, 1337) == (1337, 1338, 1339, 1340, 1341, 1342)
        first, second = (written(model, [TEXTS[0], TEXTS[0]], seed=seed) for seed in model.seeds(2, 1337))
        assert seeds_of(stub, TEXTS[0].text) == [1337, 1338]
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert first[0].wording != second[0].wording


def test_a_seed_per_text(tmp_path):
    """Occurrences that have a place draw by themselves, the same again in the next process."""
    places = [TextToParaphrase(TEXTS[0].text, "en", place) for place in ("first:1", "second:1")]
    with StubServer(chat=paraphrasing()) as stub:
        model = opened(stub, tmp_path)
        a, b = written(model, places)
        seeds = seeds_of(stub, TEXTS[0].text)
        questions = [model.question(one, 1337).sampling.seed for one in places]
    assert a.wording != b.wording
    assert sorted(seeds) == sorted(questions)
    assert all(0 <= seed + 5 * SEED_STEP < 2**31 for seed in seeds)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("", "empty"), ("<think>on and on", "thinking"), ("x" * 2000, "too long"),
        ("I'm sorry, but I can't help with that.", "refused"), (Reply("half", finish="length"), "too long"),
        (Reply("", finish="content_filter"), "refused"),
        ("Dos personas caminan cerca del río y saludan a todos.", "wrong language"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_drawn_anew(tmp_path, reply, outcome):
    """With a new seed each time, five more times at most; then the text has no wording, and says why."""
    with StubServer(chat=lambda turn: reply) as stub:
        (row,) = written(opened(stub, tmp_path), TEXTS[:1])
        assert seeds_of(stub, TEXTS[0].text) == [1337 + SEED_STEP * i for i in range(6)]
    assert (row.outcome, row.attempts, row.wording) == (outcome, 6, "")
    assert row.seed == 1337 + 5 * SEED_STEP
    assert row.rejected.split(";") == [outcome] * 6
    assert row.reason


def test_a_later_answer_is_used(tmp_path):
    """And what was rejected before it stays known."""

    def moody(turn):
        return "" if turn.body["seed"] < 1337 + 2 * SEED_STEP else "Quite another wording."

    with StubServer(chat=moody) as stub:
        (row,) = written(opened(stub, tmp_path), TEXTS[:1])
    assert (row.outcome, row.attempts, row.rejected) == ("ok", 3, "empty;empty")
    assert row.seed == 1337 + 2 * SEED_STEP


def test_an_answer_in_place_of_a_wording_is_counted_where_it_is_looked_at(tmp_path):
    """Every draw of it."""
    generation = ParaphraseSamplingAndRetryOptions(retries=1, meaning=True)
    with StubServer(chat=lambda body: Reply("Paraphrase: what number does my library card have?")) as stub:
        asked = [TextToParaphrase("What is the number of my library card?", "en")]
        (row,) = written(opened(stub, tmp_path, generation=generation), asked)
    assert (row.outcome, row.rejected) == ("answered", "answered;answered")


def test_how_often_and_how_long_is_settable(tmp_path):
    """Fewer retries, and the reference's strict limit of five times the text."""
    strict = ParaphraseSamplingAndRetryOptions(retries=1, strict_length=True)
    with StubServer(chat=lambda turn: "eleven chars") as stub:
        (row,) = written(opened(stub, tmp_path, generation=strict), [TextToParaphrase("Hi", "en")])
        (loose,) = written(opened(stub, tmp_path), [TextToParaphrase("Hi", "en")])
    assert (row.outcome, row.attempts) == ("too long", 2)
    assert loose.outcome == "ok"


def test_a_refused_text_is_not_asked_again(tmp_path):
    """A server that will never take it says so once; the others go on."""
    with StubServer(chat=paraphrasing(failing=0.1)) as stub:
        rows = written(opened(stub, tmp_path))
        refused = [row.text for row in rows if row.outcome == "refused"]
        assert stub.statuses[400] == len(refused)
    assert refused == [one.text for one in TEXTS if share(one.text) < 0.1]
    assert all("cannot be processed" in row.reason for row in rows if row.outcome == "refused")


def test_a_model_that_cannot_be_had(tmp_path):
    """Ends the run after a few calls."""
    with StubServer(keys={"other"}) as stub:
        with pytest.raises(ModelError, match="401"):
            written(opened(stub, tmp_path), [TextToParaphrase(f"text {i}", "en") for i in range(3000)])
        assert stub.statuses[401] < 600


@pytest.mark.slow
def test_what_fails_for_good_comes_last_and_ends_nothing(tmp_path):
    """A server that breaks over 40 texts, which are tried again and so end after all others; the run goes on, with
    their reason."""

    def check(request):
        if request.json and request.json["messages"][-1]["content"].startswith("break"):
            raise Problem(500, "broke")

    texts = [*(TextToParaphrase(f"break this {i}", "en") for i in range(40)), *TEXTS]
    with StubServer(chat=paraphrasing(), check=check) as stub:
        rows = written(opened(stub, tmp_path), texts)
    assert [row.outcome for row in rows] == ["failed"] * 40 + ["ok"] * 60
    assert "broke" in rows[0].reason


def test_a_server_in_trouble(tmp_path):
    """Passing failures are tried again with the same seed, and are no attempts."""
    with StubServer(chat=paraphrasing(), faults=Faults(refused=0.1, broken=0.1, truncated=0.1)) as stub:
        rows = written(opened(stub, tmp_path))
    assert {(row.outcome, row.attempts, row.seed) for row in rows} == {("ok", 1, 1337)}


def test_the_money_ends(tmp_path):
    """What was answered is kept; with more money, only the rest is asked."""
    found, price = [], "&price=1000&price_output=10000"
    with StubServer(chat=paraphrasing()) as stub:
        poor = opened(stub, tmp_path, params=price, ledger=Ledger(max_usd=13.0))
        with pytest.raises(BudgetExceeded):
            found.extend(poor.write(TEXTS, seed=1337, run=0))
        assert 0 < len(found) < len(TEXTS)
        written(opened(stub, tmp_path, params=price, ledger=Ledger(max_usd=1000.0)))
        assert stub.requests["/v1/chat/completions"] == len(TEXTS)


def test_answers_are_asked_for_once(tmp_path):
    """The second time all comes from the cache, seconds, refused answers and what was empty included."""
    spoilt = [*TEXTS, TextToParaphrase("say nothing", "en")]

    def behaviour(turn):
        return "" if turn.last == "say nothing" else paraphrasing(copying=0.1, long=0.1)(turn)

    with StubServer(chat=behaviour, latency=0.01) as stub:
        model = opened(stub, tmp_path)
        assert not model.is_text_free_of_cost(TEXTS[0], 1337)
        first = written(model, spoilt)
        assert all(model.is_text_free_of_cost(one, 1337) for one in spoilt)
        stub.forget()
        assert written(opened(stub, tmp_path), spoilt) == first
        assert not stub.bodies
    assert all(row.seconds >= 0.01 * row.attempts for row in first[:-1])
    assert Counter(row.outcome for row in first).keys() == {"ok", "copied", "too long", "empty"}


@pytest.mark.slow
def test_what_spoils_is_counted_text_by_text(tmp_path):
    """A model that fails 3%, copies 2% and writes ten times as much 1%."""
    texts = [TextToParaphrase(f"Two people saw dog number {i} behind the old house.", "en") for i in range(1000)]
    with StubServer(chat=paraphrasing(failing=0.03, copying=0.02, long=0.01)) as stub:
        rows = written(opened(stub, tmp_path), texts)
    expected = {
        one.text: "refused" if at < 0.03 else "copied" if at < 0.05 else "too long" if at < 0.06 else "ok"
        for one in texts
        if (at := share(one.text)) is not None
    }
    assert {row.text: row.outcome for row in rows} == expected
    found = measure_wording_quality(rows)
    assert found.outcomes == Counter(expected.values())
    assert found.failed == found.outcomes["refused"] + found.outcomes["too long"]
    assert found.retries == 5 * found.outcomes["too long"]
    assert found.rejected == {
        "too long": 6 * found.outcomes["too long"], "refused": found.outcomes["refused"],
    }  # fmt: skip


def test_what_is_told_of_it(tmp_path):
    """The model as its server names it, and the sampling; identities differ by all that matters."""
    with StubServer(chat=paraphrasing()) as stub:
        model = opened(stub, tmp_path)
        written(model, TEXTS[:1])
        others = [
            opened(stub, tmp_path, prompt=open_paraphrase_prompt("variant1")),
            opened(stub, tmp_path, generation=ParaphraseSamplingAndRetryOptions(temperature=0.7)),
        ]
    assert model.about()["model"] == "m"
    assert model.about()["sampling"]["temperature"] == 0.8
    assert len({model.identity, *(other.identity for other in others)}) == 3
    assert "none" not in model.identity  # the key


def test_a_model_that_draws_as_it_pleases(tmp_path):
    """Is asked without what it does not take, with a warning, and the set says so."""

    def check(request):
        if request.json and "temperature" in request.json:
            raise Problem(400, "Unsupported value: 'temperature' does not support 0.8 with this model.")
        if request.json and "top_p" in request.json:
            raise Problem(400, "Unsupported parameter: 'top_p' is not supported with this model.")

    with StubServer(chat=paraphrasing(), check=check) as stub:
        model = opened(stub, tmp_path)
        with pytest.warns(RuntimeWarning, match="does not accept"):
            rows = written(model)
        assert stub.requests["/v1/chat/completions"] < len(TEXTS) + 140
    assert {row.outcome for row in rows} == {"ok"}
    assert model.about()["left_out"] == ["temperature", "top_p"]


def test_progress_is_told(tmp_path):
    """The number of texts that are done."""
    heard: list[int] = []
    with StubServer(chat=paraphrasing()) as stub:
        list(opened(stub, tmp_path).write(TEXTS, seed=1337, run=0, hear=heard.append))
    assert heard == list(range(1, len(TEXTS) + 1))


CHILD = """
import sys
from pathlib import Path
from embassay.protocols.pteb.paraphrasing import open_paraphraser
from embassay.protocols.wordings.records import TextToParaphrase
texts = [TextToParaphrase(f"Text number {i} is about a dog and a house.", "en") for i in range(400)]
model = open_paraphraser(sys.argv[1], cache=Path(sys.argv[2]))
print(sum(one.usable for _, one in model.write(texts, seed=1337, run=0)))
"""


@pytest.mark.slow
def test_killed_and_resumed(tmp_path):
    """Nothing that was answered is asked again: at most what was in flight when the process was killed."""

    def child(stub):
        command = [sys.executable, "-c", CHILD, f"openai:m?base_url={stub.url}/v1&concurrency=16"]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4] / "src")}
        return subprocess.Popen(
            [*command, str(tmp_path / "a.sqlite")], stdout=subprocess.PIPE, text=True, env=environment
        )

    with StubServer(chat=paraphrasing(), latency=0.02) as stub:
        first = child(stub)
        while sum(stub.paid.values()) < 100:
            time.sleep(0.01)
        os.kill(first.pid, signal.SIGKILL)
        first.communicate()
        assert 100 <= len(stub.paid) < 400
        said, _ = child(stub).communicate()
        assert said.strip() == "400"
        assert len(stub.paid) == 400
        assert sum(stub.paid.values()) - 400 <= 16
