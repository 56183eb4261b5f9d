"""Servers that do not say how many tokens they counted, or say more than there can be: "not said" is not zero."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import pytest

from embassay.contracts import ChatMessage, SamplingSettings, Usage
from embassay.errors import BudgetExceeded
from embassay.runs.spending import RunSpendingJournal, summarise_spending
from embassay.systems import SYSTEMS
from embassay.systems.chat import open_chat
from embassay.systems.remote import Ledger, run_in_remote_loop_and_wait
from embassay.systems.remote.ledger import BookedTokenCount
from embassay.systems.rerankers import RERANKERS

TEXT = "a brown fox jumps over the old fence"
USD_A_TOKEN = 0.001


class Served(http.server.BaseHTTPRequestHandler):
    """Answers every request of one text in the form of each vendor; `usage` is what is said of tokens."""

    usage: dict[str, Any]
    asked: list[bytes]

    def do_POST(self) -> None:
        self.asked.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(self._answer()).encode())

    def _answer(self) -> dict[str, Any]:
        if self.path.endswith("chat/completions"):
            choices = [{"message": {"content": "a fox"}, "finish_reason": "stop"}]
            return {"choices": choices, **self.usage}
        row = {"index": 0, "embedding": [0.6, 0.8], "relevance_score": 0.5}
        vectors = {"float": [[0.6, 0.8]]} if "v2" in self.path else [[0.6, 0.8]]
        return {"data": [row], "results": [row], "embeddings": vectors, **self.usage}

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def serving(usage: dict[str, Any]) -> Iterator[tuple[str, list[bytes]]]:
    asked: list[bytes] = []
    handler = type("Said", (Served,), {"usage": usage, "asked": asked})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
        server.shutdown()


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "VOYAGE_API_KEY", "JINA_API_KEY", "CO_API_KEY"):
        monkeypatch.setenv(name, "not-a-key")


def encode(model: str, url: str, ledger: Ledger) -> None:
    spec = f"{model}:x?base_url={url}&price={USD_A_TOKEN * 1e6}&dimensions=2&concurrency=1"
    SYSTEMS.build(spec, name="x", ledger=ledger).encode([TEXT])


def rerank(model: str, url: str, ledger: Ledger) -> None:
    spec = f"{model}:x?base_url={url}&price={USD_A_TOKEN * 1e6}"
    RERANKERS.build(spec, name="x", ledger=ledger).score("fox", [TEXT])


def complete(model: str, url: str, ledger: Ledger) -> None:
    price = USD_A_TOKEN * 1e6
    chat = open_chat(f"{model}:x?base_url={url}&price={price}&price_output={price}", ledger=ledger)
    run_in_remote_loop_and_wait(
        lambda: chat.complete([ChatMessage("user", TEXT)], sampling=SamplingSettings(max_tokens=50))
    )


WAYS = [
    pytest.param(encode, "openai", id="openai"),
    pytest.param(encode, "voyage", id="voyage"),
    pytest.param(encode, "cohere", id="cohere"),
    pytest.param(rerank, "jina", id="jina-reranker"),
    pytest.param(rerank, "voyage", id="voyage-reranker"),
    pytest.param(complete, "openai", id="chat"),
]
SILENT = [{}, {"usage": None}, {"usage": {}}, {"usage": {"prompt_tokens": 0, "completion_tokens": 0}}]


@pytest.mark.parametrize(("ask", "model"), WAYS)
@pytest.mark.parametrize("usage", SILENT, ids=["none", "null", "empty", "zero"])
def test_what_is_not_said_is_estimated(ask, model, usage, tmp_path):
    """A token for each three bytes is booked, what else was held aside is possibly billed, and the sum says so."""
    spending = RunSpendingJournal(tmp_path / "spending.jsonl", "s")
    ledger = Ledger(journal=spending)
    with serving(usage) as (url, _):
        ask(model, url, ledger)
    (totals,) = ledger.map_models_to_call_totals().values()
    least = len(TEXT) / 3 * USD_A_TOKEN
    assert least <= totals.usd <= 2 * least
    assert totals.possible_usd > 2 * totals.usd
    (spent,) = spending.sum_spending_by_account().values()
    assert (spent.estimated, spent.usd, spent.possible_usd) == (1, totals.usd, totals.possible_usd)
    from embassay.protocols.kernel.outcome import summarise_run_spending as of_run

    told = summarise_spending(of_run(spending, None))
    assert "about" in told
    assert "1 requests, so they are estimated" in told
    assert RunSpendingJournal(tmp_path / "spending.jsonl", "t").usd_counted_by_limit == pytest.approx(ledger.spent_usd)


@pytest.mark.parametrize(("ask", "model"), WAYS)
@pytest.mark.parametrize("says", [None, 10**6], ids=["nothing", "too much"])
@pytest.mark.filterwarnings("ignore:A server reported")
def test_the_limit_holds_whatever_is_said(ask, model, says):
    """What is held aside is the most that is believed: requests stop before the limit."""
    fields = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), says)
    ledger = Ledger(max_usd=2.0)
    meta = {"billed_units": {"input_tokens": says}}
    with serving({"usage": fields, "meta": meta}) as (url, asked), suppress(BudgetExceeded):
        for _ in range(60):
            ask(model, url, ledger)
    assert 1 <= len(asked) < 60
    assert 1.0 < ledger.spent_usd <= 2.0 + 1e-9


def test_long_answers_are_learned():
    """What nothing limits may have 1,024 tokens; of a model that wrote more, twice as many are held aside next time."""
    ledger = Ledger()
    price = USD_A_TOKEN * 1e6
    with serving({"usage": {"prompt_tokens": 9, "completion_tokens": 3_000}}) as (url, _):
        chat = open_chat(f"openai:x?base_url={url}&price={price}&price_output={price}", ledger=ledger)
        for written in (1_024, 3_000):
            before = ledger.spent_usd
            with nullcontext() if written == 3_000 else pytest.warns(RuntimeWarning, match="reserved"):
                run_in_remote_loop_and_wait(lambda: chat.complete([ChatMessage("user", TEXT)]))
            assert ledger.spent_usd - before == pytest.approx((9 + written) * USD_A_TOKEN)


def test_what_is_said_is_booked():
    """And nothing is possibly billed beside it."""
    ledger = Ledger()
    with serving({"usage": {"prompt_tokens": 9, "completion_tokens": 2}}) as (url, _):
        complete("openai", url, ledger)
    (totals,) = ledger.map_models_to_call_totals().values()
    assert (totals.usd, totals.possible_usd) == (pytest.approx(11 * USD_A_TOKEN), 0.0)


@pytest.mark.parametrize("said", [-1, 3.5, "9", True])
def test_no_number_of_tokens(said):
    """Is warned of, and counts as not said."""
    with pytest.warns(RuntimeWarning, match="which is impossible; 7 are counted"):
        assert BookedTokenCount.of(said, most=100, likely=7) == BookedTokenCount(7, 100)


def test_sums_of_usage():
    """Every field of both; a price that is not known makes an unknown sum."""
    first = Usage(1, 2, 1, 0.5, 1.0, 0.25, 1)
    assert first + Usage(3, 4, 1, 0.25, 2.0, 0.5, 0) == Usage(4, 6, 2, 0.75, 3.0, 0.75, 1)
    assert (first + Usage()).usd is None
