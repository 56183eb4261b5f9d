"""Systems behind a server: a limit of cost, resuming, accounts and plans, against a real HTTP server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import embassay as eb
from embassay.errors import BudgetExceeded, UsageError
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.sage import Request
from embassay.protocols.sage.protocol import SageProtocol
from embassay.runs.folder import RunFolder
from embassay.systems.remote import NoCallsLedger
from stub import Faults, Problem, StubServer

pytest.importorskip("openai")

SMALL = {
    "tokenizer": "words", "limit": 12, "tasks": ("preference", "robustness", "retrieval"),
    "options": eb.sage.SageOptions(resamples=50),
}  # fmt: skip


@pytest.fixture
def stub():
    with StubServer() as server:
        yield server


def system(stub, more=""):
    return f"openai:stub?base_url={stub.url}/v1&dimensions=64{more}"


def asked(stub):
    return stub.requests["/v1/embeddings"]


def results(path):
    return [(row.task, row.variant, row.measure, row.value) for row in RunFolder(path).read_results()]


def test_the_limit_stops_and_a_higher_one_goes_on(stub, tmp_path, monkeypatch):
    """What is finished is kept, what is spent is under the limit, nothing is paid twice, the results are the same."""
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "whole-cache"))
    one = system(stub, "&price=1")
    whole = eb.sage.run([one], out=tmp_path / "whole", **SMALL)
    total, requests = whole.manifest["spent"]["usd"], asked(stub)
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))
    stub.forget()
    opening._open_embedding_cache.cache_clear()
    with pytest.raises(BudgetExceeded, match="cost limit"):
        eb.sage.run([one], out=tmp_path / "run", max_usd=0.6 * total, **SMALL)
    manifest = RunFolder(tmp_path / "run").read_manifest()
    assert manifest["status"] == "partial"
    assert 0 < manifest["spent"]["usd"] <= 0.6 * total
    assert sum(cell["status"] == "done" for cell in manifest["cells"]) >= 6
    run = eb.sage.run([one], out=tmp_path / "run", max_usd=2 * total, **SMALL)
    assert run.manifest["status"] == "finished"
    assert results(run.path) == results(whole.path)
    spent = run.manifest["spent"]["systems"][manifest["systems"][0]["name"]]
    assert (spent["requests"], asked(stub)) == (requests, requests)
    assert spent["usd"] == pytest.approx(total)
    assert len(run.manifest["sessions"]) == 2
    assert sum(
        one["usd"] for session in run.manifest["sessions"] for one in session["spent"].values()
    ) == pytest.approx(total)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["refused", "broken", "overloaded", "reset"])
def test_a_request_that_failed_is_not_booked_as_paid(stub, tmp_path, monkeypatch, fault):
    """Billed is what was answered, to the cent of a run without faults; what a server may have read and not answered
    may be billed, what it refused is not, and nothing is held aside at the end."""
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "clean-cache"))
    clean = eb.sage.run([system(stub, "&price=1")], out=tmp_path / "clean", **SMALL).manifest["spent"]
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))
    opening._open_embedding_cache.cache_clear()
    with StubServer(faults=Faults(**{fault: 0.3})) as failing:
        spent = eb.sage.run([system(failing, "&price=1")], out=tmp_path / "run", **SMALL).manifest["spent"]
        assert failing.injected[fault]
    assert spent["usd"] == pytest.approx(clean["usd"], abs=1e-9)
    assert (spent["possible_usd"] > 0) == (fault == "reset")
    assert spent["reserved_usd"] == 0


def test_a_limit_needs_a_price(stub, tmp_path):
    """Before anything is sent or written."""
    with pytest.raises(UsageError, match=r"price of 'openai:stub.*price=NUMBER"):
        eb.sage.run([system(stub)], out=tmp_path / "run", max_usd=1.0, **SMALL)
    assert not (tmp_path / "run").exists()
    assert asked(stub) == 0


def test_a_plan_says_what_is_asked_for_and_asks_for_nothing(stub, tmp_path):
    """Requests and texts are those of the run; what the cache holds needs none; the run keeps its plan."""
    one = system(stub, "&price=2")
    request = Request((one,), **{**SMALL, "datasets": ("sample",)})
    plan = SageProtocol().forecast_run_cost(request, NoCallsLedger()).sum_forecasts_by_system()[0]
    assert asked(stub) == 0
    run = eb.sage.run([one], out=tmp_path / "run", **SMALL)
    spent = run.manifest["spent"]["systems"][plan.system]
    assert plan.requests == spent["requests"] == asked(stub)
    assert plan.texts - plan.cached == spent["texts"]
    assert plan.usd == pytest.approx(plan.tokens * 2e-6)
    # The stub counts words, the plan the tokens of the run's tokenizer: about as many.
    assert plan.tokens == pytest.approx(spent["input_tokens"], rel=0.3)
    assert run.manifest["forecast"]["systems"][0]["requests"] == plan.requests
    again = SageProtocol().forecast_run_cost(request, NoCallsLedger()).sum_forecasts_by_system()[0]
    assert (again.requests, again.usd, again.texts) == (0, 0.0, plan.texts)


@pytest.mark.slow
def test_paid_cells_keep_their_accounts_beside_workers(stub, tmp_path):
    """With worker processes, what costs money is still done by the process that counts it."""
    run = eb.sage.run([system(stub, "&price=1"), "jaccard"], out=tmp_path / "run", workers=2, **SMALL)
    assert run.manifest["status"] == "finished"
    assert sum(one["requests"] for one in run.manifest["spent"]["systems"].values()) == asked(stub)


def test_a_refused_text_is_left_out_and_counted(stub, tmp_path):
    """The server takes all texts but one: its item is skipped with the server's reason, in manifest and items."""
    served = stub._handled

    def choosy(request):
        if any("spaniel" in text.lower() for text in request.json["input"]):
            raise Problem(400, "This text is too long.")
        return served(request)

    stub._handled = choosy
    path = tmp_path / "notes.jsonl"
    texts = [f"The note number {i} says that they can see the sea. It is calm." for i in range(40)]
    texts[7] = "A spaniel is in the garden. It can see the sea."
    rows = [{"text": text, "summary": f"Note {i}."} for i, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = eb.sage.run([system(stub)], datasets=[path], out=tmp_path / "run", tokenizer="words", tasks=["robustness"])
    cell = run.manifest["cells"][0]
    (skipped,) = (one for one in cell["skipped"] if "left unchanged" not in one["reason"])
    assert skipped["count"] == 1
    assert skipped["reason"].startswith("documents that could not be encoded: openai:stub: ")
    assert "This text is too long" in skipped["reason"]
    assert cell["counts"]["documents"] == 39
    assert cell["counts"]["texts_failed"] >= 1


@pytest.mark.slow
def test_a_kill_forgets_no_money_and_loses_no_vector(tmp_path):
    """kill -9 in the middle: what was in flight counts as charged, all else once, and only it is asked for again."""
    with StubServer(latency=0.1) as stub:
        command = [
            sys.executable, "-m", "embassay", "sage", "run", "-s", system(stub, "&price=1"), "--tokenizer", "words",
            "-t", "sensitivity", "-t", "retrieval", "--resamples", "50", "--out", str(tmp_path / "run"),
        ]  # fmt: skip
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, **quiet, env=dict(os.environ))
        while asked(stub) < 15:
            time.sleep(0.05)
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        before = asked(stub)
        assert subprocess.run(command, **quiet, timeout=300, check=False).returncode == 0
    manifest = RunFolder(tmp_path / "run").read_manifest()
    (spent,) = manifest["spent"]["systems"].values()
    (plan, *_) = manifest["forecast"]["systems"]
    assert 1 <= spent["unsettled"] <= 8
    # Unsettled requests may or may not have reached the server before the kill.
    assert asked(stub) <= spent["requests"] <= asked(stub) + spent["unsettled"]
    # Lost are the answers that were on their way, and those that had come and were not kept yet: at most 8 of each.
    assert plan["requests"] <= asked(stub) <= plan["requests"] + spent["unsettled"] + 8
    assert before < plan["requests"]
