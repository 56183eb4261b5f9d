"""What a check costs, before it is asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from embassay.protocols.watch.check import check_respondent
from embassay.protocols.watch.options import CheckRequest, OwnData
from embassay.protocols.watch.own import OwnTexts
from embassay.protocols.watch.plan import plan_check
from embassay.protocols.watch.recording import items_for, tokens_of
from embassay.systems.models import list_known_models
from watched_systems import WORDS, made, recorded


def _long_texts() -> OwnTexts:
    """Fifty questions of ten words, and thirty passages of two hundred."""
    passages = [" ".join((WORDS * 9)[n : n + 200]) for n in range(30)]
    queries = [" ".join((WORDS * 9)[n : n + 10]) for n in range(50)]
    ids = ([f"d{n}" for n in range(30)], [f"q{n}" for n in range(50)])
    return OwnTexts("long", ids[0], passages, ids[1], queries, {}, 30, 50)


def test_a_nightly_check_of_any_listed_model_is_under_a_cent() -> None:
    """At the shipped price of the dearest model that embeds, with 50 questions and 30 passages of 200 words."""
    tokens = tokens_of(items_for("vectors", _long_texts(), OwnData()))
    prices = [
        model.usd_per_million_input
        for model in list_known_models()
        if model.dims is not None and model.usd_per_million_input is not None
    ]
    assert len(prices) > 5
    assert tokens * max(prices) / 1e6 < 0.01


def test_a_plan_is_what_is_asked(own_texts: OwnTexts) -> None:
    """Texts and price of each step; the lists only where they may be asked for."""
    fingerprint = replace(recorded(own_texts), usd_per_million=2.0)
    every, again, lists = plan_check(fingerprint, CheckRequest())
    assert every.texts == len(fingerprint.items)
    assert every.usd == pytest.approx(every.tokens * 2e-6)
    assert again.texts == 80
    assert fingerprint.lists is not None
    assert lists.texts == len(fingerprint.lists.pool) + len(fingerprint.lists.others)
    assert len([*plan_check(fingerprint, CheckRequest(lists="never"))]) == 2
    system = made()
    check_respondent(fingerprint, system, CheckRequest(lists="never"))
    assert sum(system.encoder.calls) == every.texts


def test_stages_are_priced_one_by_one(own_texts: OwnTexts) -> None:
    """Until sure: 12, then up to 40, then the rest."""
    fingerprint = replace(recorded(own_texts), usd_per_million=None)
    steps = [*plan_check(fingerprint, CheckRequest(until_sure=True, lists="never"))]
    assert [step.texts for step in steps[:3]] == [12, 28, len(fingerprint.items) - 40]
    assert all(step.usd is None for step in steps)
