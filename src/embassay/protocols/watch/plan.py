"""What recording, a check or a comparison would ask for, and what that costs, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from embassay.protocols.watch.check import AGAIN, stages_of
from embassay.protocols.watch.fingerprint import Fingerprint, WatchItem
from embassay.protocols.watch.options import CheckRequest, CompareRequest, RecordRequest
from embassay.protocols.watch.own import read_own
from embassay.protocols.watch.recording import items_for, kind_of, tokens_of
from embassay.protocols.watch.respondents import Respondent, open_respondent
from embassay.systems.remote import NoCalls
from embassay.systems.remote.ledger import estimate_tokens

GRADE_TOKENS = 700
"""About what a judge reads beside a passage, and writes, for one grade."""


@dataclass(frozen=True)
class PlannedStep:
    """What is asked for at a step: texts (or graded passages), tokens by our estimate, dollars (None: not known)."""

    step: str
    texts: int
    tokens: int
    usd: float | None

    def as_dict(self) -> dict[str, Any]:
        """The step as plain values."""
        return asdict(self)


def plan_recording(request: RecordRequest) -> tuple[PlannedStep, ...]:
    """What `record_fingerprint` would ask for; nothing is sent."""
    own = read_own(request.own)
    respondent = _look_at(request.name, request)
    items = items_for(respondent.kind, own, request.own)
    steps = [
        _step("first answers", items, respondent, 1),
        _step("repeats", items, respondent, request.repeats),
    ]
    if own is not None and own.queries and respondent.kind == "vectors":
        tokens = estimate_tokens(own.texts)
        steps.append(PlannedStep("all passages", len(own.texts), tokens, _price(respondent, tokens)))
    return tuple(steps)


def plan_check(fingerprint: Fingerprint, request: CheckRequest) -> Iterator[PlannedStep]:
    """What `check_fingerprint` would ask for: what is sure to be asked first, and what only a difference leads to. At
    the recorded price; nothing is opened."""
    price = fingerprint.usd_per_million
    stages = stages_of(fingerprint, request.until_sure)
    for number, rows in enumerate(stages, 1):
        items = [fingerprint.items[row] for row in rows]
        name = (
            "every check"
            if len(stages) == 1
            else f"stage {number}" + (", if undecided" if number > 1 else "")
        )
        yield _planned(name, _texts_of(items), tokens_of(items), price)
    again = fingerprint.items[:AGAIN]
    yield _planned("if different: twice more", 2 * _texts_of(again), 2 * tokens_of(again), price)
    if fingerprint.lists is not None and request.lists != "never":
        texts = (*fingerprint.lists.pool, *fingerprint.lists.others)
        when = (
            "every check: passages of lists"
            if request.lists == "always"
            else "if different: passages of lists"
        )
        yield _planned(when, len(texts), estimate_tokens(texts), price)


def plan_comparison(request: CompareRequest) -> tuple[PlannedStep, ...]:
    """What `compare_systems` would ask each of the two for; nothing is sent."""
    own = read_own(request.own)
    steps = []
    for name in request.systems:
        respondent = _look_at(name, request)
        items = items_for(respondent.kind, own, request.own)
        steps.append(_step(respondent.name, items, respondent, request.repeats + 1))
    return tuple(steps)


def _look_at(name: str, request: RecordRequest | CompareRequest) -> Respondent:
    """The system, which sends nothing."""
    kind = kind_of(request) if isinstance(request, RecordRequest) else None
    with TemporaryDirectory() as folder:
        return open_respondent(
            kind,
            name,
            ledger=NoCalls(),
            seed=request.own.seed,
            folder=Path(folder),
            tokenizer=request.tokenizer,
        )


def _step(name: str, items: Sequence[WatchItem], respondent: Respondent, times: int) -> PlannedStep:
    texts, tokens = times * _texts_of(items), times * tokens_of(items)
    if respondent.kind == "judge":
        tokens += GRADE_TOKENS * texts
    return PlannedStep(name, texts, tokens, _price(respondent, tokens))


def _texts_of(items: Sequence[WatchItem]) -> int:
    return sum(max(1, len(item.others)) for item in items)


def _planned(name: str, texts: int, tokens: int, price: float | None) -> PlannedStep:
    return PlannedStep(name, texts, tokens, None if price is None else tokens * price / 1e6)


def _price(respondent: Respondent, tokens: int) -> float | None:
    """Dollars for so many tokens; None where the price is not known, 0 on this machine."""
    encoder: Any = getattr(respondent, "encoder", None)
    if encoder is not None:
        price = getattr(encoder, "price", 0.0)
        return None if price is None else tokens * price / 1e6
    model = getattr(getattr(respondent, "judge", None), "model", None)
    price = getattr(model, "price", None)
    if price is not None:
        return float(price.usd(tokens))
    is_here = respondent.kind == "scores" or not hasattr(getattr(respondent, "reranker", None), "usd")
    return 0.0 if is_here and respondent.kind != "judge" else None
