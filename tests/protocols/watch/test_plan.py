"""What a check costs, before it is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from embassay.protocols.watch.check import check_fingerprint_of_open_respondent
from embassay.protocols.watch.history import append_history_event
from embassay.protocols.watch.options import FingerprintCheckRequest, FingerprintRequest, OwnTextsAndQuestionsOptions
from embassay.protocols.watch.own import OwnPassagesAndQuestions
from embassay.protocols.watch.plan import plan_check, plan_fingerprint_recording, read_recorded_seconds_per_item
from embassay.protocols.watch.recording import list_items_to_ask
from embassay.protocols.watch.respondents import estimate_item_tokens
from embassay.systems.models import list_known_models
from embassay.systems.remote.ledger import estimate_server_tokens
from watched_systems import WORDS, made, recorded


def _long_texts() -> OwnPassagesAndQuestions:
    """Fifty questions of ten words, and thirty passages of two hundred."""
    passages = [" ".join((WORDS * 9)[n : n + 200]) for n in range(30)]
    queries = [" ".join((WORDS * 9)[n : n + 10]) for n in range(50)]
    ids = ([f"d{n}" for n in range(30)], [f"q{n}" for n in range(50)])
    return OwnPassagesAndQuestions("long", ids[0], passages, ids[1], queries, {}, 30, 50)


def test_a_nightly_check_of_any_listed_model_is_under_a_cent() -> None:
    """At the shipped price of the dearest model that embeds, with 50 questions and 30 passages of 200 words."""
    tokens = estimate_item_tokens("vectors", list_items_to_ask("vectors", _long_texts(), OwnTextsAndQuestionsOptions()))
    prices = [
        model.usd_per_million_input
        for model in list_known_models()
        if model.dims is not None and model.usd_per_million_input is not None
    ]
    assert len(prices) > 5
    assert tokens * max(prices) / 1e6 < 0.01


def test_a_plan_is_what_is_asked(own_texts: OwnPassagesAndQuestions) -> None:
    """Texts and price of each step; the lists only where they may be asked for."""
    fingerprint = replace(recorded(own_texts), usd_per_million=2.0)
    every, again, lists = plan_check(fingerprint, FingerprintCheckRequest())
    assert every.texts == len(fingerprint.items)
    assert every.usd == pytest.approx(every.tokens * 2e-6)
    assert again.texts == 80
    assert fingerprint.lists is not None
    assert lists.texts == len(fingerprint.lists.pool) + len(fingerprint.lists.others)
    assert len([*plan_check(fingerprint, FingerprintCheckRequest(lists="never"))]) == 2
    system = made()
    check_fingerprint_of_open_respondent(fingerprint, system, FingerprintCheckRequest(lists="never"))
    assert sum(system.encoder.calls) == every.texts


def test_stages_are_priced_one_by_one(own_texts: OwnPassagesAndQuestions) -> None:
    """Until sure: 12, then up to 40, then the rest."""
    fingerprint = replace(recorded(own_texts), usd_per_million=None)
    steps = [*plan_check(fingerprint, FingerprintCheckRequest(until_sure=True, lists="never"))]
    assert [step.texts for step in steps[:3]] == [12, 28, len(fingerprint.items) - 40]
    assert all(step.usd is None for step in steps)


def test_rerankers_and_judges_are_priced_as_they_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the search, by the token of each pair, by what a chat model reads and writes; nothing on this machine. A check
    of the recorded one costs what its first answers did."""
    for name in ("COHERE_API_KEY", "JINA_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "none")
    panels = list_items_to_ask("reranker", None, OwnTextsAndQuestionsOptions())
    passages = sum(len(item.others) for item in panels)
    once, repeats = plan_fingerprint_recording(FingerprintRequest(reranker="cohere:rerank-v3.5?price=2", repeats=3))
    assert once.usd == pytest.approx(len(panels) * 2 / 1000)
    assert (repeats.usd, repeats.texts) == (pytest.approx(3 * once.usd), 3 * passages)
    pairs = sum(
        len(item.others) * estimate_server_tokens([item.text]) + estimate_server_tokens(item.others) for item in panels
    )
    (once, _) = plan_fingerprint_recording(FingerprintRequest(reranker="jina:m?price=1000"))
    assert once.usd == pytest.approx(pairs / 1000)
    (once, _) = plan_fingerprint_recording(FingerprintRequest(judge="openai:m?price=1&price_output=100"))
    assert once.usd == pytest.approx((pairs + 700 * passages + 100 * 12 * passages) / 1e6)
    (once, _) = plan_fingerprint_recording(FingerprintRequest(reranker="overlap"))
    assert once.usd == 0
    (once, _) = plan_fingerprint_recording(FingerprintRequest(reranker="jina:unheard-of"))
    assert once.usd is None


def test_a_check_takes_the_time_of_the_recording(tmp_path: Path, own_texts: OwnPassagesAndQuestions) -> None:
    """By the last line of the history that is of this fingerprint."""
    fingerprint, history = recorded(own_texts), tmp_path / "w.checks.jsonl"
    assert read_recorded_seconds_per_item(history, fingerprint) is None
    append_history_event(history, {"fingerprint": fingerprint.digest, "seconds_per_item": 0.5})
    append_history_event(history, {"fingerprint": "another", "seconds_per_item": 9.0})
    every, *_ = plan_check(fingerprint, FingerprintCheckRequest(), read_recorded_seconds_per_item(history, fingerprint))
    assert every.seconds == 0.5 * len(fingerprint.items)
