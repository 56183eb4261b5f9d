"""Who takes part in a golden run, as its manifest names them: encoder, judge, and a rewriter that is a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embassay.protocols.planning import PlannedSystem
from embassay.protocols.rag.golden.work import Work
from embassay.protocols.session import unknown_price
from embassay.runs.forecast import served
from embassay.systems.remote.price import Price


def planned_systems(work: Work) -> tuple[PlannedSystem, ...]:
    """The systems of a run, opened. UsageError for a spec that is none, and for a model whose price is not known where
    the cost is limited; ModelError for one that cannot be had."""
    encoder = work.encoder
    with work.charged("S1", encoder.name):
        facts = encoder.about
    remote = served(encoder.system)
    if remote is not None:
        facts["usd_per_million_tokens"] = remote.price
    found = [PlannedSystem(work.request.encoder, encoder.name, encoder.identity, "embedding", facts, remote)]
    found.append(_model(work, work.request.judge, work.judge, "judges: grades and orders passages"))
    if hasattr(work.rewriter, "model"):
        found.append(_model(work, work.request.rewriter, work.rewriter, "rewrites questions for the search"))
    return tuple(found)


def _model(work: Work, spec: str, model: Any, role: str) -> PlannedSystem:
    asked = getattr(model, "model", None)
    price = getattr(asked, "price", None)
    if asked is not None and price is None and work.ledger.max_usd is not None:
        raise unknown_price(model.name)
    told: Mapping[str, Any] = getattr(model, "about", dict)()
    facts: dict[str, Any] = {"summary": role, "about": dict(told)}
    if isinstance(price, Price):
        facts["usd_per_million_input"] = price.usd_per_million_input
        facts["usd_per_million_output"] = price.usd_per_million_output
    return PlannedSystem(spec, model.name, model.identity, "llm", facts)
