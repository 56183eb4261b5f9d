"""What a user trusts the client with for a night: calls through every fault, a kill, no key shown."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from embassay.contracts import ChatMessage
from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.runs.store import CachedChatModel, ChatAnswerCache, ChatQuestion, ask_all_questions
from embassay.systems import SYSTEMS
from embassay.systems.chat import open_chat
from embassay.systems.remote import Ledger
from stub import Faults, StubServer
from stub.vectors import vector

pytest.importorskip("openai")

KEY = "sk-very-secret-0123456789"
RUN = ("--debug", "sage", "run", "-t", "preference", "--tokenizer", "words")
FAULTS = Faults.all(0.09, slow_seconds=2.5)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.slow
# Where the machine is slow a connection is given up while it is being made, and its socket is left to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("n", [1_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_embeddings_through_every_fault(tmp_path, n):
    """Every vector is right and stored once; what was paid for twice is among the retries counted."""
    texts = [f"text number {i}" for i in range(n)]
    ledger, cache = Ledger(), EmbeddingCache.open(tmp_path / "embeddings.sqlite")
    with StubServer(latency=0.02, faults=FAULTS, keys={KEY}) as stub:
        spec = f"openai:stub-model?base_url={stub.url}/v1&dimensions=64&timeout=2&price=1"
        encoder = SYSTEMS.build(spec, name="x", ledger=ledger)
        encoder.chunk_size = 1
        cached = CachedEncoder(encoder, cache)
        assert np.array_equal(cached.encode(texts), np.array([vector(text) for text in texts]))
        assert np.array_equal(cached.encode(texts[::-1]), np.array([vector(text) for text in texts[::-1]]))
        totals = ledger.map_models_to_call_totals()[encoder.model]
        assert (cached.counts.encoded, cached.counts.cached) == (n, n)
        assert cache.summarise_cache_contents().entries == n
        assert totals.requests == n + totals.retries
        assert totals.failed == 0
        assert 0 <= sum(stub.paid.values()) - n <= totals.retries
        assert all(stub.injected[fault] > n / 200 for fault in stub.injected if fault)
    cache.close()


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_answers_through_every_fault(tmp_path, n):
    """Questions, each asked in two draws: as many answers, each right, each kept once."""
    questions = [ChatQuestion([ChatMessage("user", f"question {i % n}")], attempt=i // n) for i in range(2 * n)]
    ledger, cache = Ledger(), ChatAnswerCache.open(tmp_path / "answers.sqlite")
    with StubServer(latency=0.02, faults=FAULTS) as stub:
        model = open_chat(f"openai:m?base_url={stub.url}/v1&timeout=2&price=0", ledger=ledger)
        chat = CachedChatModel(model, cache)

        async def ask():
            return [one async for one in ask_all_questions(chat, questions)]

        found = dict(asyncio.run(ask()))
        totals = ledger.map_models_to_call_totals()["openai:m"]
        assert [found[i].text for i in range(2 * n)] == [f"question {i % n}" for i in range(2 * n)]
        assert cache.summarise_cache_contents().entries == chat.counts.asked == 2 * n
        assert totals.requests == 2 * n + totals.retries
        assert 0 <= sum(stub.paid.values()) - 2 * n <= totals.retries
    cache.close()


ASK = """
import asyncio, sys
from embassay.contracts import ChatMessage
from embassay.runs.store import ChatAnswerCache
from embassay.runs.store import CachedChatModel, ChatQuestion, ask_all_questions
from embassay.systems.chat import open_chat

async def ask():
    chat = CachedChatModel(open_chat(sys.argv[1]), ChatAnswerCache.open(sys.argv[2]))
    questions = (ChatQuestion([ChatMessage("user", f"q{i}")]) for i in range(1000))
    async for position, answer in ask_all_questions(chat, questions):
        print(position, flush=True)

asyncio.run(ask())
"""


@pytest.mark.slow
def test_a_kill_loses_no_answer(tmp_path):
    """kill -9 in the middle: what had arrived is kept, and the second run asks for the rest only."""
    path = tmp_path / "answers.sqlite"
    with StubServer(latency=0.05) as stub:
        command = [sys.executable, "-c", ASK, f"openai:m?base_url={stub.url}/v1", str(path)]
        first = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        told = [int(first.stdout.readline()) for _ in range(200)]
        first.kill()
        told += [int(line) for line in first.stdout.read().split("\n")[:-1]]
        first.wait()
        first.stdout.close()
        cache = ChatAnswerCache.open(path)
        kept = cache.summarise_cache_contents().entries
        assert len(told) <= kept < 1000
        asyncio.run(asyncio.sleep(0.2))  # until the server has dealt with what the dead client sent
        stub.forget()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        assert sum(stub.paid.values()) == stub.statuses[200] == 1000 - kept
        assert cache.summarise_cache_contents().entries == 1000
        cache.close()


@pytest.mark.slow
def test_no_key_in_any_file_or_word(tmp_path, warm):
    """A run that ends well and one whose key the server refuses, repeating it: neither says it anywhere."""
    for keys, code in (({KEY}, 0), ({"another"}, 3)):
        with StubServer(keys=keys) as stub:
            system = f"openai:stub-model?base_url={stub.url}/v1&price=0.1"
            done = subprocess.run(
                [*warm.command, *RUN, "-s", system, "--out", str(tmp_path / f"run{code}")],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "EMBASSAY_CACHE": str(tmp_path / "cache"), "OPENAI_API_KEY": KEY},
            )
            assert KEY not in done.stdout + done.stderr
            assert (done.returncode == 0) == (code == 0), done.stderr
            assert stub.seen_keys == {KEY}
    files = [path for path in Path(tmp_path).rglob("*") if path.is_file()]
    assert len(files) > 8
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
