"""`embassay watch` as people type it: a fingerprint, nightly checks, a server that changes, and what CI sees."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from embassay.cli.main import app
from embassay.errors import BudgetExceeded, DataError, ModelError, UsageError
from embassay.protocols.watch.history import read_watch_checks
from stub import StubServer

PASSAGES = [
    f"{animal} number {n} eats {food} in the {place}"
    for n, (animal, food, place) in enumerate(
        (animal, food, place)
        for animal in ("fox", "owl", "bear", "newt")
        for food in ("berries", "mice", "fish")
        for place in ("forest", "city", "river bed", "old barn")
    )
]


def _call(*words: object, code: int = 0) -> str:
    return _embassay("watch", *words, code=code)


def _embassay(*words: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, [*map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done.stdout


@pytest.fixture
def corpus(tmp_path: Path) -> list[object]:
    """Words that name own passages, questions and judgements."""
    rows = [{"id": f"d{n}", "text": text} for n, text in enumerate(PASSAGES)]
    asked = [{"id": f"q{n}", "text": f"what does the {animal} eat"} for n, animal in enumerate(("fox", "owl"))]
    judged = [{"query_id": "q0", "doc_id": "d1", "relevance": 1}, {"query_id": "q1", "doc_id": "d14", "relevance": 1}]
    for name, lines in (("corpus", rows), ("queries", asked), ("qrels", judged)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    return [word for name in ("corpus", "queries", "qrels") for word in (f"--{name}", tmp_path / f"{name}.jsonl")]


def test_a_model_that_stays_passes(tmp_path: Path, corpus: list[object]) -> None:
    """Recorded and checked twice: exit code 0, two checks in the history, the same file again for the same answers."""
    file = tmp_path / "w.json"
    _call("record", "-s", "wordllama", *corpus, "--out", file)
    first = file.read_bytes()
    for _ in range(2):
        assert "still answers as recorded" in _call("check", file)
    assert [check.verdict for check in read_watch_checks(tmp_path / "w.checks.jsonl")] == ["same", "same"]
    _call("record", "-s", "wordllama", *corpus, "--out", file, "--replace")
    assert file.read_bytes() == first


def test_a_model_that_changes_fails_with_what_ci_reads(tmp_path: Path, corpus: list[object]) -> None:
    """Exit code 1; JUnit has a failure for the answers and for the lists, Markdown the kind."""
    file = tmp_path / "w.json"
    _call("record", "-s", "wordllama", *corpus, "--out", file)
    said = _call(
        "check", file, "-s", "wordllama?dims=32", "--junit", tmp_path / "j.xml", "--markdown", tmp_path / "m.md",
        code=1,
    )  # fmt: skip
    assert "dimensions" in said
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert "dimensions" in (tmp_path / "m.md").read_text()


def test_a_change_that_lists_do_not_know_of_can_pass(tmp_path: Path, corpus: list[object]) -> None:
    """float16 fails a build by default, and not one that is about lists."""
    file = tmp_path / "w.json"
    _call("record", "-s", "wordllama", *corpus, "--out", file)
    _call("check", file, "-s", "wordllama?quantize=float16", code=1)
    _call("check", file, "-s", "wordllama?quantize=float16", "--fail-on", "lists")


def test_json_is_the_record(tmp_path: Path) -> None:
    """Of a recording, a check, a comparison and a plan."""
    file = tmp_path / "w.json"
    assert json.loads(_call("record", "-s", "wordllama", "--out", file, "--json"))["repeats"] == 5
    assert json.loads(_call("check", file, "--json"))["verdict"] == "same"
    assert json.loads(_call("check", file, "--dry-run", "--json"))["plan"][0]["texts"] == 78
    told = json.loads(_call("compare", "-s", "wordllama", "-s", "wordllama?quantize=float16", "--json"))
    assert told["verdict"] == "close"
    assert "float16" in [change["kind"] for change in told["changes"]]


def test_systems_without_vectors_are_watched_too(tmp_path: Path) -> None:
    """A lexical metric answers with similarities; one with other parameters is another."""
    file = tmp_path / "w.json"
    _call("record", "-s", "jaccard", "--out", file)
    _call("check", file)
    assert "no longer answers" in _call("check", file, "-s", "levenshtein", code=1)
    with pytest.raises(UsageError, match="vectors"):
        _call("check", file, "-s", "wordllama")


def test_a_reranker_is_watched(tmp_path: Path) -> None:
    """It answers with scores of a question's passages."""
    file = tmp_path / "w.json"
    _call("record", "--reranker", "overlap", "--out", file)
    _call("check", file)


def test_a_judge_is_watched(tmp_path: Path) -> None:
    """A judge that grades more kindly is no longer the judge."""
    file = tmp_path / "w.json"
    with StubServer(chat=_grader(3)) as server:
        spec = f"openai:judge?base_url={server.url}/v1&price=0&price_output=0"
        _call("record", "--judge", spec, "--out", file, "--repeats", 4)
        _call("check", file)
        asked = server.requests.total()
        server.chat = _grader(5)
        told = json.loads(_call("check", file, "--json", code=1))
        # Every grade went from 3 to 5: two up, all across the line, and the first of five equal ones stays first.
        assert told["verdict"] == "changed"
        panel = told["panel"]
        assert (panel["error"], panel["noise"], panel["values"]) == (2.0, 0.0, 20)
        assert (panel["shift"]["value"], panel["turned"]["value"], panel["first"]["value"]) == (2.0, 1.0, 0.0)
        # All then were 3, and all are 5 now: chance would agree as much.
        assert panel["kappa"]["value"] == 0
        # Asked again, and not taken from a cache.
        assert server.requests.total() > asked


def test_a_judge_is_watched_with_its_golden_set(tmp_path: Path) -> None:
    """Labels of the set that it graded: none were others when it was recorded, all are once it grades 5 for 3."""
    file = tmp_path / "w.json"
    with StubServer(chat=_grader(3)) as server:
        spec = f"openai:judge?base_url={server.url}/v1&price=0&price_output=0"
        words = ["-d", "sample", "--limit", 3, "--depth", 6, "--ranking", "grades"]
        _embassay("rag", "golden", *words, "-s", "wordllama", "-j", spec, "--out", tmp_path / "golden")
        _call("record", "--judge", spec, "--golden", tmp_path / "golden", "--out", file, "--repeats", 4)
        _call("check", file)
        server.chat = _grader(5)
        told = json.loads(_call("check", file, "--json", code=1))["golden"]
        shares = [told[name]["value"] for name in ("then", "now", "change", "relevant")]
        assert shares == [0.0, 1.0, 1.0, 1.0]
        assert told["questions"] == told["of_questions"] == 3
        assert told["passages"] <= told["of_passages"]
        assert "Grade the golden set again" in " ".join(_call("check", file, code=1).split())


def _grader(grade: int) -> object:
    return lambda turn: json.dumps({"grade": grade})


def test_mistakes_have_a_mend(tmp_path: Path) -> None:
    """No file, another file, a file that is there, one system alone, nothing to record."""
    for words, error in (
        (("check", tmp_path / "none.json"), DataError),
        (("compare", "-s", "wordllama"), UsageError),
        (("record", "--out", tmp_path / "w.json"), UsageError),
        (("record", "-s", "wordllama", "--queries", "q.jsonl"), UsageError),
    ):
        with pytest.raises(error) as raised:
            _call(*words)
        assert raised.value.mend
    (tmp_path / "w.json").write_text("{}")
    with pytest.raises(DataError):
        _call("check", tmp_path / "w.json")
    with pytest.raises(UsageError, match="exists"):
        _call("record", "-s", "wordllama", "--out", tmp_path / "w.json")


KEY = "a-key-of-mine-12345"
SPEC = "openai:text-embedding-3-small?base_url={}/v1&dimensions=64"


@pytest.mark.slow
def test_a_server_that_changes_under_its_feet_is_noticed(
    embassay: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, corpus: list[object]
) -> None:
    """Nights of a cron job against a server of a paid model: all well, then its vectors are rounded, then another
    model's. Each night asks afresh and costs under a cent; the alarm is an exit code, and the report has the timeline.
    """
    env = {"OPENAI_API_KEY": KEY, "EMBASSAY_CACHE": str(tmp_path / "cache")}
    run = embassay
    with StubServer(keys={KEY}) as server:
        run("watch", "record", "-s", SPEC.format(server.url), *corpus, "--out", "runs/paid.json", env=env)
        asked = []
        for _ in range(3):
            before = server.paid.total()
            run("watch", "check", "runs/paid.json", "--max-cost", "0.01", env=env)
            asked.append(server.paid.total() - before)
        assert min(asked) >= 77
        monkeypatch.setattr("stub.openai.vectors", _rounded)
        done = run("watch", "check", "runs/paid.json", env=env, check_code=1)
        assert "float16" in done.stdout
        monkeypatch.setattr("stub.openai.vectors", _other)
        run("watch", "check", "runs/paid.json", env=env, check_code=1)
    checks = read_watch_checks(tmp_path / "runs" / "paid.checks.jsonl")
    assert [check.verdict for check in checks] == ["same", "same", "same", "changed", "changed"]
    assert checks[-1].changes[0].kind == "another model"
    assert all(check.usd is not None and 0 < check.usd < 0.01 for check in checks)
    run("sage", "run", "-s", "jaccard", "-t", "preference", "--tokenizer", "words", "--limit", 8, "--resamples", 50,
        "--out", "runs/one")  # fmt: skip
    run("report", "runs", "--out", "report.html", env=env)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "no longer answers as recorded" in page
    assert checks[3].at in page
    assert KEY not in page + "".join(file.read_text() for file in (tmp_path / "runs").glob("paid*"))


def _rounded(texts: list[str], dim: int = 64, spoilt: str = "") -> np.ndarray:
    from stub.vectors import vectors

    return vectors(texts, dim, spoilt).astype(np.float16).astype(np.float32)


def _other(texts: list[str], dim: int = 64, spoilt: str = "") -> np.ndarray:
    from stub.vectors import vectors

    return vectors([f"another {text}" for text in texts], dim, spoilt)


@pytest.mark.slow
def test_a_recording_that_is_stopped_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: list[object]
) -> None:
    """At the limit of cost, and with a higher one: the same bytes as in one go, nothing paid for twice, the price that
    of both attempts, and no folder is left."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with StubServer() as server:
        spec = SPEC.format(server.url)
        whole = json.loads(_call("record", "-s", spec, *corpus, "--out", tmp_path / "whole.json", "--json"))
        paid = server.paid.total()
        server.forget()
        file = tmp_path / "w.json"
        with pytest.raises(BudgetExceeded):
            _call("record", "-s", spec, *corpus, "--out", file, "--max-cost", whole["usd"] / 2)
        assert 0 < server.paid.total() < paid
        assert not file.exists()
        with pytest.raises(BudgetExceeded):
            _call("record", "-s", spec, *corpus, "--out", file, "--max-cost", whole["usd"] / 2)
        told = json.loads(_call("record", "-s", spec, *corpus, "--out", file, "--json"))
        assert server.paid.total() == paid
    assert file.read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert told["usd"] == pytest.approx(whole["usd"])
    assert not list(tmp_path.glob("*.partial*"))


@pytest.mark.slow
def test_a_judge_that_is_stopped_goes_on(tmp_path: Path) -> None:
    """Each grade is asked for once, whatever stopped the first attempt; so are a reranker's scores."""
    file = tmp_path / "w.json"
    with StubServer(chat=_grader(3)) as server:
        spec = f"openai:judge?base_url={server.url}/v1&price=1&price_output=1"
        with pytest.raises(BudgetExceeded):
            _call("record", "--judge", spec, "--out", file, "--max-cost", 0.01)
        asked = server.requests.total()
        assert 0 < asked < 120
        _call("record", "--judge", spec, "--out", file)
        assert server.requests.total() == 120
        server.forget()
        spec = f"jina:jina-reranker-v2-base-multilingual?base_url={server.url}/jina/v1&price=1"
        with pytest.raises(BudgetExceeded):
            _call("record", "--reranker", spec, "--out", tmp_path / "r.json", "--max-cost", 0.003)
        assert server.requests.total() > 0
        _call("record", "--reranker", spec, "--out", tmp_path / "r.json")
        assert server.requests.total() == 24


@pytest.mark.slow
def test_a_recording_that_is_killed_goes_on(
    warm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: list[object]
) -> None:
    """kill -9 in the middle: only what was in flight is asked for again."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "w.json"
    with StubServer(latency=0.02, limit=100) as server:
        words = ["watch", "record", "-s", SPEC.format(server.url), *map(str, corpus), "--out", str(file)]
        process = subprocess.Popen([*warm.command, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while server.paid.total() < 150:
            time.sleep(0.002)
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert (tmp_path / "w.partial").is_dir()
        _call(*words[1:])
        paid, most = server.paid.total(), server.most
        whole = _whole(server, corpus, tmp_path)
        assert whole <= paid <= whole + 4 * most
        assert file.read_bytes() == (tmp_path / "whole.json").read_bytes()


def _whole(server: StubServer, corpus: list[object], tmp_path: Path) -> int:
    """What a recording takes that nobody stops."""
    before = server.paid.total()
    _call("record", "-s", SPEC.format(server.url), *corpus, "--out", tmp_path / "whole.json")
    return server.paid.total() - before


@pytest.mark.slow
def test_a_dead_server_and_a_spent_budget_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ModelError and BudgetExceeded, and no check in the history: nothing was found out."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    file = tmp_path / "w.json"
    with StubServer() as server:
        _call("record", "-s", SPEC.format(server.url), "--out", file)
        with pytest.raises(BudgetExceeded):
            _call("check", file, "--max-cost", "0.0000001")
    with pytest.raises(ModelError):
        _call("check", file)
    assert read_watch_checks(tmp_path / "w.checks.jsonl") == ()
