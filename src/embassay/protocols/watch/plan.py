"""What recording, a check or a comparison would ask for, and what that costs, before anything is asked."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from embassay.protocols.watch.check import AGAIN, plan_item_rows_of_check_stages
from embassay.protocols.watch.fingerprint import FingerprintItem, SystemAnswerFingerprint
from embassay.protocols.watch.history import read_history_events
from embassay.protocols.watch.options import FingerprintCheckRequest, FingerprintRequest, SystemCompareRequest
from embassay.protocols.watch.own import read_own_texts, sample_golden_set_for_judge
from embassay.protocols.watch.recording import find_requested_fingerprint_kind, list_items_to_ask
from embassay.protocols.watch.respondents import (
    RequestLoad,
    WatchRespondent,
    count_item_texts,
    estimate_item_tokens,
    open_watched_system_by_spec,
)
from embassay.randomness import make_seeded_generator
from embassay.runs.forecast import find_remote_encoder
from embassay.systems.remote import NoCallsLedger

TIMED = 24
"""Items that an encoder on this machine is timed with."""


@dataclass(frozen=True)
class PlannedStepCost:
    """What is asked for at a step: texts (or graded passages), tokens by our estimate, dollars and seconds (None: not
    known)."""

    step: str
    texts: int
    tokens: int
    usd: float | None
    seconds: float | None = None

    @classmethod
    def of(cls, step: str, load: RequestLoad) -> PlannedStepCost:
        """Make the step that takes so much."""
        return cls(step, load.texts, load.tokens, load.usd, load.seconds)

    def as_dict(self) -> dict[str, Any]:
        """The step as plain values."""
        return asdict(self)


def plan_fingerprint_recording(request: FingerprintRequest) -> tuple[PlannedStepCost, ...]:
    """Plan what `record_fingerprint` would ask for; nothing is sent."""
    own, golden = read_own_texts(request.own), sample_golden_set_for_judge(request)
    respondent = _open_system_without_calls(request.name, request)
    items = list_items_to_ask(respondent.kind, own, request.own, golden)
    pace = _measure_local_seconds_per_token(respondent, items)
    once = pace.add_seconds_to_request_load(respondent.load(items))
    steps = [
        PlannedStepCost.of("first answers", once),
        PlannedStepCost.of("repeats", once.multiply_load(request.repeats)),
    ]
    if own is not None and own.queries and respondent.kind == "vectors":
        passages = [FingerprintItem(key, "passage", text) for key, text in zip(own.ids, own.texts, strict=True)]
        steps.append(PlannedStepCost.of("all passages", pace.add_seconds_to_request_load(respondent.load(passages))))
    return tuple(steps)


def read_recorded_seconds_per_item(history: Path, fingerprint: SystemAnswerFingerprint) -> float | None:
    """Seconds for an item, as they were when the fingerprint was recorded; None where the history does not say."""
    paces = [
        event.get("seconds_per_item")
        for event in read_history_events(history)
        if event.get("fingerprint") == fingerprint.digest
    ]
    return float(paces[-1]) if paces and paces[-1] else None


def plan_check(
    fingerprint: SystemAnswerFingerprint, request: FingerprintCheckRequest, pace: float | None = None
) -> Iterator[PlannedStepCost]:
    """What `check_fingerprint` would ask for: what is sure to be asked first, and what only a difference leads to. At
    the recorded price, and with a `pace` (seconds for an item) the time; nothing is opened."""
    stages = plan_item_rows_of_check_stages(fingerprint, request.until_sure)
    for number, rows in enumerate(stages, 1):
        name = f"stage {number}" + (", if undecided" if number > 1 else "")
        items = [fingerprint.items[row] for row in rows]
        yield PlannedStepCost.of(
            "every check" if len(stages) == 1 else name, _estimate_request_load(fingerprint, items, pace)
        )
    again = _estimate_request_load(fingerprint, fingerprint.items[:AGAIN], pace)
    yield PlannedStepCost.of("if different: two more times", again.multiply_load(2))
    if fingerprint.lists is None or request.lists == "never":
        return
    texts = (*fingerprint.lists.pool, *fingerprint.lists.others)
    passages = [FingerprintItem(str(number), "passage", text) for number, text in enumerate(texts)]
    when = "every check" if request.lists == "always" else "if different"
    yield PlannedStepCost.of(f"{when}: passages of lists", _estimate_request_load(fingerprint, passages, pace))


def _estimate_request_load(
    fingerprint: SystemAnswerFingerprint, items: Sequence[FingerprintItem], pace: float | None
) -> RequestLoad:
    """Estimate the load of asking for items by the recorded price and pace."""
    tokens, price = estimate_item_tokens(fingerprint.kind, items), fingerprint.usd_per_million
    return RequestLoad(
        count_item_texts(items), tokens, None if price is None else tokens * price / 1e6,
        None if pace is None else pace * len(items)
    )  # fmt: skip


def plan_system_comparison_requests(request: SystemCompareRequest) -> tuple[PlannedStepCost, ...]:
    """Plan what `compare_systems` would ask each of the two for; nothing is sent."""
    own = read_own_texts(request.own)
    steps = []
    for name in request.systems:
        respondent = _open_system_without_calls(name, request)
        items = list_items_to_ask(respondent.kind, own, request.own)
        load = _measure_local_seconds_per_token(respondent, items).add_seconds_to_request_load(respondent.load(items))
        steps.append(PlannedStepCost.of(respondent.name, load.multiply_load(request.repeats + 1)))
    return tuple(steps)


@dataclass(frozen=True)
class LocalSecondsPerToken:
    """Seconds for a token of what runs on this machine; None of what does not, whose time is known otherwise."""

    seconds: float | None

    def add_seconds_to_request_load(self, load: RequestLoad) -> RequestLoad:
        """The load with its time."""
        return load if self.seconds is None else replace(load, seconds=self.seconds * load.tokens)


def _measure_local_seconds_per_token(
    respondent: WatchRespondent, items: Sequence[FingerprintItem]
) -> LocalSecondsPerToken:
    """Measure the pace at which it answers a few of the items now, which costs nothing here."""
    if respondent.kind not in ("vectors", "scores") or find_remote_encoder(respondent) is not None:
        return LocalSecondsPerToken(None)
    sample = items[:: -(-len(items) // TIMED)]
    rng = make_seeded_generator(0, "watch", "pace")
    respondent.ask(sample, rng)  # The first answer opens what is opened late.
    begun = time.perf_counter()
    respondent.ask(sample, rng)
    return LocalSecondsPerToken((time.perf_counter() - begun) / max(1, estimate_item_tokens(respondent.kind, sample)))


def _open_system_without_calls(name: str, request: FingerprintRequest | SystemCompareRequest) -> WatchRespondent:
    """The system, which sends nothing."""
    kind = find_requested_fingerprint_kind(request) if isinstance(request, FingerprintRequest) else None
    with TemporaryDirectory() as folder:
        return open_watched_system_by_spec(
            kind, name, ledger=NoCallsLedger(), seed=request.own.seed, folder=Path(folder), tokenizer=request.tokenizer
        )
