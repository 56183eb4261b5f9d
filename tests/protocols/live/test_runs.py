"""Runs made by asking a retriever: nothing is lost or asked twice, failures are failures, the scores are the file's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import embassay
from embassay.errors import BudgetExceeded, ModelError, UsageError
from embassay.protocols.live.runs import (
    AGAIN,
    LiveRetrieverRunOutcome,
    QuestionsToAsk,
    ask_retrievers_for_runs,
    convert_answer_to_json_row,
)
from embassay.systems.remote import CallLimits
from embassay.systems.retrievers import RetrieverRequestLimits, TimedRetrieverAnswer
from embassay.systems.retrievers.function import FunctionRetriever
from stub import Faults, StubServer
from stub.retrieving import DOCUMENTS, find

ASKED = {f"q{number}": f"{text} {number}" for number, text in enumerate([*DOCUMENTS.values()] * 5)}


def ask(
    out: Path | None, function: Any, questions: dict[str, str] = ASKED, depth: int = 3, **manners: Any
) -> LiveRetrieverRunOutcome:
    retriever = FunctionRetriever(function, depth, "here:find", RetrieverRequestLimits(1, **{"attempts": 1, **manners}))
    with ask_retrievers_for_runs([retriever], QuestionsToAsk(questions, depth), out) as runs:
        return runs[0]


def rows(run: LiveRetrieverRunOutcome) -> dict[str, list[str]]:
    read = [json.loads(line) for line in run.path.read_text().splitlines()]
    return {row["query_id"]: row["documents"] for row in read}


def test_every_question_is_asked_once_and_ten_twice(tmp_path: Path) -> None:
    """The second time shows whether it answers alike; a finished run asks nothing any more."""
    calls: Counter[str] = Counter()

    def search(question: str, k: int) -> list[str]:
        calls[question] += 1
        return find(question, k)

    run = ask(tmp_path, search)
    assert rows(run) == {query: find(text, 3) for query, text in ASKED.items()}
    assert sorted(calls.values()) == [1] * (len(ASKED) - AGAIN) + [2] * AGAIN
    assert (run.again, run.changed, run.failed) == (AGAIN, 0, {})
    again = ask(tmp_path, search)
    assert sum(calls.values()) == len(ASKED) + AGAIN
    assert (again.seconds, again.again, again.changed) == (run.seconds, run.again, run.changed)


def test_one_that_answers_otherwise_each_time_is_told(tmp_path: Path) -> None:
    """With how many of those asked twice."""
    calls = iter(range(1000))
    run = ask(tmp_path, lambda question: [f"d{next(calls)}"])
    assert (run.again, run.changed) == (AGAIN, AGAIN)
    assert any("repeated calls gave" in note for note in run.notes())


def test_failures_are_failures_and_are_asked_again(tmp_path: Path) -> None:
    """Never an empty list; with their reason."""
    down = {"q3", "q7"}

    def search(question: str) -> list[str]:
        if down & {query for query, text in ASKED.items() if text == question}:
            raise RuntimeError("shard lost")
        return find(question, 3)

    run = ask(tmp_path, search)
    assert run.failed.keys() == down
    assert all("shard lost" in reason for reason in run.failed.values())
    assert not down & rows(run).keys()
    down.clear()
    assert ask(tmp_path, search).failed == {}


def test_one_that_answers_nothing_is_not_asked_the_rest(tmp_path: Path) -> None:
    """It says what is wrong after a few."""
    calls = []

    def search(question: str) -> list[str]:
        calls.append(question)
        raise RuntimeError("no index")

    with pytest.raises(ModelError, match="answered none of 5 questions: it raised RuntimeError: no index"):
        ask(tmp_path, search)
    assert len(calls) < len(ASKED)


def test_half_a_line_of_a_killed_run_is_cut_off(tmp_path: Path) -> None:
    """Its question is asked again."""
    run = ask(tmp_path, find)
    whole = run.path.read_bytes()
    run.path.write_bytes(whole[:-20])
    assert rows(ask(tmp_path, find)) == rows(run)


def test_answers_of_another_depth_or_retriever_are_refused(tmp_path: Path) -> None:
    """Mixed they would be nobody's."""
    ask(tmp_path, find)
    with pytest.raises(UsageError, match="another retriever or for another depth"):
        ask(tmp_path, find, depth=2)


def test_the_money_ends_it(tmp_path: Path) -> None:
    """What was answered stays."""
    with StubServer() as stub:
        said = {"url": f"{stub.url}/search", "answer": "data.results", "price": 0.1, "concurrency": 1}
        (tmp_path / "find.json").write_text(json.dumps(said))
        with (
            pytest.raises(BudgetExceeded),
            ask_retrievers_for_runs([str(tmp_path / "find.json")], QuestionsToAsk(ASKED, 3), tmp_path, max_usd=0.55),
        ):
            raise AssertionError("not reached")
    assert len((tmp_path / "retrieved" / "find.jsonl").read_text().splitlines()) == 5


def test_an_answer_that_is_an_object_keeps_what_it_says_but_not_its_question() -> None:
    """The question stands there under its own id."""
    row = convert_answer_to_json_row(
        "q1", "How?", TimedRetrieverAnswer({"query": "how", "id": 7, "hits": {"hits": []}}, 0.5)
    )
    assert row == {"query_id": "q1", "question": "How?", "seconds": 0.5, "hits": {"hits": []}}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Questions, judgements and the documents."""
    relevant = {query: list(DOCUMENTS)[number % 4] for number, query in enumerate(ASKED)}
    table = "".join(f"{query}\t{doc}\t5\n" for query, doc in relevant.items())
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + table)
    for name, texts in (("queries", ASKED), ("corpus", DOCUMENTS)):
        lines = [json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items()]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    return tmp_path


def test_the_scores_are_those_of_the_exported_file(files: Path) -> None:
    """Of ids, of texts and of pairs alike, by a function given as a run."""
    places = {name: str(files / f"{name}.jsonl") for name in ("queries", "corpus")}
    exported = files / "exported.jsonl"
    exported.write_text("".join(json.dumps({"query_id": q, "documents": find(t, 4)}) + "\n" for q, t in ASKED.items()))
    measures = ["nDCG@3", "RR", "R@1"]
    given = {
        "file": str(exported),
        "ids": lambda question: find(question, 4),
        "texts": lambda question: [DOCUMENTS[name] for name in find(question, 4)],
        "pairs": lambda question: [(name, 1 / rank) for rank, name in enumerate(find(question, 4), 1)],
    }
    found = embassay.rag.score(files / "qrels.tsv", given, measures=measures, resamples=50, **places)
    values = {name: part["value"].to_list() for (name,), part in found.values.group_by("run")}
    assert values["ids"] == values["texts"] == values["pairs"] == values["file"]
    notes = [note.text for note in found.record.notes if note.kind == "live"]
    assert sum("median" in note for note in notes) == 3
    assert sum("20 of 20 lists contain fewer than 30" in note for note in notes) == 3


def test_failed_questions_do_not_count(files: Path) -> None:
    """Not as retrieved nothing; above a twentieth there is no score, with the reason."""

    def failing_on(lost: set[str]) -> Any:
        def search(question: str) -> list[str]:
            if question in {ASKED[query] for query in lost}:
                raise RuntimeError("shard lost")
            return find(question, 4)

        return search

    queries = str(files / "queries.jsonl")
    one = embassay.rag.score(
        files / "qrels.tsv", {"mine": failing_on({"q3"})}, measures=["RR"], resamples=50, queries=queries
    )
    row = one.values.row(0, named=True)
    assert (row["n"], row["total"], row["value"]) == (len(ASKED) - 1, len(ASKED), 1.0)
    assert not any("lacks" in note.text for note in one.record.notes)
    two = embassay.rag.score(
        files / "qrels.tsv", {"mine": failing_on({"q3", "q4"})}, measures=["RR"], resamples=50, queries=queries
    )
    row = two.values.row(0, named=True)
    assert row["value"] is None
    assert "failed on 2 of 20" in row["reason"]


COMMAND = [sys.executable, "-m", "embassay", "rag", "score", "--qrels", "qrels.tsv", "--queries", "queries.jsonl"]


@pytest.mark.slow
def test_killed_and_gone_on_with_nothing_is_asked_twice_and_nothing_lost(tmp_path: Path) -> None:
    """500 questions to a server with faults, kill -9 on the way: but for what was in flight each is answered once."""
    asked = {f"q{number}": f"{list(DOCUMENTS.values())[number % 4]} {number}" for number in range(500)}
    table = "".join(f"{query}\t{list(DOCUMENTS)[n % 4]}\t5\n" for n, query in enumerate(asked))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + table)
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps({"id": query, "text": text}) + "\n" for query, text in asked.items())
    )
    faults = Faults(refused=0.03, broken=0.03, reset=0.02)
    with StubServer(latency=0.01, faults=faults) as stub:
        (tmp_path / "search.json").write_text(
            json.dumps({"url": f"{stub.url}/search", "answer": "data.results", "attempts": 9, "concurrency": 4})
        )
        command = [*COMMAND, "--retriever", "search.json", "-m", "RR", "--out", "out", "--resamples", "50"]
        answers = tmp_path / "out" / "retrieved" / "search.jsonl"
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
            while not answers.exists() or answers.read_bytes().count(b"\n") < 150:
                time.sleep(0.01)
                assert process.poll() is None
            os.kill(process.pid, signal.SIGKILL)
        kept = answers.read_bytes().count(b"\n")
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        paid = Counter(stub.paid)
    read = [json.loads(line) for line in answers.read_text().splitlines()]
    assert 150 <= kept < 500
    assert Counter(row["query_id"] for row in read) == Counter(asked.keys())
    assert all([hit["id"] for hit in row["documents"]] == find(asked[row["query_id"]], 10) for row in read)
    twice = sum(count - 1 for count in paid.values())
    assert twice <= AGAIN + 4


def test_limits_are_those_of_other_servers() -> None:
    """The manners of a retriever pass on as they are."""
    limits = RetrieverRequestLimits(7, rpm=30, timeout=2, attempts=5).limits
    assert limits == CallLimits(rpm=30, concurrency=7, timeout=2, attempts=5)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"error": {"type": "not_ready", "reason": "no shard"}}, "no shard"),
        ({"error": "index not ready"}, "index not ready"),
        ({"detail": "Not authenticated"}, "Not authenticated"),
        ({"status": "error", "message": "quota exceeded"}, "quota exceeded"),
        ([None, "bus"], "no list of documents"),
        ([["bus"], ["helmet"]], "nested lists"),
        ({"bus", "helmet"}, "a set, which has no order"),
        (None, "None"),
    ],
)
def test_what_is_no_answer_is_a_failure_and_is_not_kept(tmp_path: Path, answer: Any, reason: str) -> None:
    """Such as an error that is sent with status 200: its question failed, and is asked again."""
    broken = set(list(ASKED.values())[:1])

    def search(question: str) -> Any:
        return answer if question in broken else find(question, 3)

    run = ask(tmp_path, search)
    assert list(run.failed) == ["q0"]
    assert reason in run.failed["q0"]
    assert "q0" not in rows(run)
    broken.clear()
    assert ask(tmp_path, search).failed == {}


def test_an_error_that_a_server_sends_as_an_answer_is_a_failure(tmp_path: Path) -> None:
    """Whatever its status is."""
    with StubServer() as stub:
        template = tmp_path / "find.json"
        template.write_text(json.dumps({"url": f"{stub.url}/refusing", "attempts": 1}))
        asked = ask_retrievers_for_runs([str(template)], QuestionsToAsk({"a": "x", "b": "y"}, 3), tmp_path / "out")
        with pytest.raises(ModelError, match="answered none of 2 questions"):
            asked.__enter__()
    assert not (tmp_path / "out" / "retrieved" / "find.jsonl").read_bytes()


def test_empty_lists_and_lists_that_come_one_by_one_are_answers(tmp_path: Path) -> None:
    """Nothing found is an answer; an async generator is read to its end."""

    async def search(question: str) -> Any:
        for name in [] if question == ASKED["q1"] else find(question, 2):
            yield name

    run = ask(tmp_path, search)
    assert run.failed == {}
    assert rows(run)["q1"] == []
    assert rows(run)["q0"] == find(ASKED["q0"], 2)


def test_odd_lists_are_scored_as_they_are_and_told(files: Path) -> None:
    """Worked by hand: repeats are worth nothing, unknown ids keep their rank, the order counts where scores rise."""
    given = {
        "repeats": lambda question: [find(question, 1)[0]] * 2 + find(question, 4)[1:],
        "unknown": lambda question: ["nowhere", *find(question, 2)],
        "rising": lambda question: [(name, float(rank)) for rank, name in enumerate(find(question, 4))],
        "fewer": lambda question: find(question, 1),
    }
    places = {name: str(files / f"{name}.jsonl") for name in ("queries", "corpus")}
    scored = embassay.rag.score(files / "qrels.tsv", given, measures=["RR", "P@2"], resamples=10, **places)
    values = {(row["run"], row["measure"]): row["value"] for row in scored.values.to_dicts()}
    assert {name: values[name, "RR"] for name in given} == {"repeats": 1.0, "unknown": 0.5, "rising": 1.0, "fewer": 1.0}
    assert values["repeats", "P@2"] == values["fewer", "P@2"] == 0.5
    notes = " ".join(note.text for note in scored.record.notes)
    for said in ("repeat an earlier result", "not in the corpus", "increases with the rank", "fewer: 20 of 20 lists"):
        assert said in notes
