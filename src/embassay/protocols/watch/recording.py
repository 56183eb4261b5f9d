"""`embassay watch record`: ask a system for everything several times, and keep what it answers as a fingerprint."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.watch.answers import KeptWatchAnswers, enter_answer_stage_if_unfinished, open_kept_watch_answers
from embassay.protocols.watch.distances import compute_distances_relative_to_reference, make_mask_of_missing_answers
from embassay.protocols.watch.fingerprint import Base64NumberArray, FingerprintItem, Kind, SystemAnswerFingerprint
from embassay.protocols.watch.history import append_history_event, find_check_history_of_fingerprint
from embassay.protocols.watch.options import FingerprintRequest, OwnTextsAndQuestionsOptions
from embassay.protocols.watch.own import (
    GoldenSetSample,
    OwnPassagesAndQuestions,
    make_own_question_top_lists,
    read_own_texts,
    sample_golden_set_for_judge,
)
from embassay.protocols.watch.respondents import (
    AnswersAndFailuresByItem,
    VectorRespondent,
    WatchRespondent,
    measure_longest_request_bytes,
    open_watched_system_by_spec,
)
from embassay.protocols.watch.texts import VERSION as TEXTS
from embassay.protocols.watch.texts import load_fixed_ranked_passages, load_watch_probe_texts
from embassay.randomness import make_seeded_generator
from embassay.systems.remote import Ledger
from embassay.systems.remote.calls import redact_keys

ANCHORS = ("sentence", "question", "claim", "german", "arabic", "hindi", "chinese", "python", "near-1a", "order-1a",
           "negation-1a", "lower", "no-accents", "dates", "emoji-text", "paragraph")  # fmt: skip
"""The fixed texts that a similarity without vectors compares every other one with."""
PANEL = 10
"""Own passages that a reranker scores, and a judge grades, for each own question."""


@dataclass(frozen=True)
class FingerprintRecording:
    """A fingerprint, when it was made, and what that took: facts that differ between two recordings of equal answers,
    which is why they are not in its file."""

    fingerprint: SystemAnswerFingerprint
    at: str
    seconds: float
    seconds_per_item: float
    usd: float | None

    def facts(self) -> dict[str, Any]:
        """List what the recording's line in the history says."""
        return {
            "fingerprint": self.fingerprint.digest, "at": self.at, "seconds": self.seconds,
            "seconds_per_item": self.seconds_per_item, "usd": self.usd
        }  # fmt: skip


def measure_and_write_fingerprint(
    request: FingerprintRequest, out: Path, *, max_usd: float | None = None, listener: SilentListener | None = None
) -> FingerprintRecording:
    """`record_fingerprint`, saved as `out`, with a line in its history. An interrupted attempt goes on where it was:
    answers are in a folder beside `out` until that is written, and `max_usd` limits all attempts together."""
    with open_kept_watch_answers(out, max_usd) as kept:
        made = record_fingerprint(request, kept=kept, listener=listener)
        made = replace(made, usd=kept.usd)
        kept.mark_fingerprint_made(made.fingerprint.digest)
        made.fingerprint.save(out)
        append_history_event(find_check_history_of_fingerprint(out), made.facts())
    return made


def record_fingerprint(
    request: FingerprintRequest,
    *,
    ledger: Ledger | None = None,
    kept: KeptWatchAnswers | None = None,
    listener: SilentListener | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> FingerprintRecording:
    """Ask what `request` names, once and then `repeats` times more. Answers come from no cache, but for those that were
    `kept` of an interrupted recording, whose ledger then counts.

    UsageError, DataError and ModelError as the system and the files raise them; BudgetExceeded at the ledger's limit.
    """
    ledger = kept.ledger if kept is not None else ledger or Ledger()
    own, golden = read_own_texts(request.own), sample_golden_set_for_judge(request)
    items = list_items_to_ask(find_requested_fingerprint_kind(request) or "vectors", own, request.own, golden)
    with tempfile.TemporaryDirectory() as folder:
        respondent = open_watched_system_by_spec(
            find_requested_fingerprint_kind(request),
            request.name,
            ledger=ledger,
            seed=request.own.seed,
            folder=Path(folder) if kept is None else kept.folder,
            tokenizer=request.tokenizer,
            longest=measure_longest_request_bytes(items),
        )
        respondent.kept, respondent.listener = kept, listener or SilentListener()
        made = record_respondent_fingerprint(respondent, request, own, golden, sleep=sleep)
        return replace(made, usd=find_billed_dollars(ledger))


def record_respondent_fingerprint(
    respondent: WatchRespondent, request: FingerprintRequest, own: OwnPassagesAndQuestions | None = None,
    golden: GoldenSetSample | None = None, *, sleep: Callable[[float], None] = time.sleep
) -> FingerprintRecording:  # fmt: skip
    """`record_fingerprint` of something that is open already, with own texts and a golden set that are read."""
    items = list_items_to_ask(respondent.kind, own, request.own, golden)
    passages = len(own.texts) if own is not None and own.queries and respondent.kind == "vectors" else 0
    asked = respondent.count(items) * (request.repeats + 1)
    respondent.listener.stage(f"asking {request.name}", asked + passages, respondent.unit)
    begun = time.perf_counter()
    first, again = ask_and_measure_repeat_distances(
        respondent, items, request.repeats, request.own.seed, request.pause, sleep
    )
    seconds = max(0.0, time.perf_counter() - begun - request.pause * request.repeats)
    # What was kept took no time now.
    new = len(items) * (request.repeats + 1) - (0 if respondent.kept is None else respondent.kept.found)
    fingerprint = _make_fingerprint(request, respondent, items, first, again, own)
    if golden is not None:
        fingerprint = replace(fingerprint, golden=golden.labels(items, fingerprint.width))
    return FingerprintRecording(fingerprint, format_current_time(), seconds, seconds / new if new > 0 else 0.0, 0.0)


def find_requested_fingerprint_kind(request: FingerprintRequest) -> Kind | None:
    """Find the kind that is named; None for a system, which says itself."""
    return "judge" if request.judge else "reranker" if request.reranker else None


def format_current_time() -> str:
    """Now, in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def find_billed_dollars(ledger: Ledger) -> float | None:
    """US dollars that were billed; None where a price is not known."""
    prices = [totals.usd for totals in ledger.map_models_to_call_totals().values()]
    known = [usd for usd in prices if usd is not None]
    return sum(known) if len(known) == len(prices) else None


def list_items_to_ask(
    kind: Kind,
    own: OwnPassagesAndQuestions | None,
    asked: OwnTextsAndQuestionsOptions,
    golden: GoldenSetSample | None = None,
) -> tuple[FingerprintItem, ...]:
    """All that a system of this kind is asked in every check."""
    if kind == "vectors":
        fixed = tuple(
            FingerprintItem(text.id, text.group, text.text, role, text.lang, text.pair)
            for text in load_watch_probe_texts()
            for role in text.roles
            if role is not None
        )
        return fixed + (() if own is None else own.items(asked.samples, asked.seed))
    if kind == "scores":
        by_id = {text.id: text for text in load_watch_probe_texts()}
        anchors = tuple(by_id[name].text for name in ANCHORS)
        fixed = tuple(
            FingerprintItem(text.id, text.group, text.text, "document", text.lang, text.pair, others=anchors)
            for text in load_watch_probe_texts()
        )
    else:
        fixed = tuple(
            FingerprintItem(f"panel-{number}", "panel", panel.question, "query", others=panel.passages)
            for number, panel in enumerate(load_fixed_ranked_passages(), 1)
        )
    more = () if golden is None else golden.items()
    return fixed + (() if own is None else _make_panels_of_own_questions(own)) + more


def _make_panels_of_own_questions(own: OwnPassagesAndQuestions) -> tuple[FingerprintItem, ...]:
    """Make a panel of each own question: its labelled passages, filled up with ones that share words."""
    text_of = dict(zip(own.ids, own.texts, strict=True))
    panels = []
    for key, query in zip(own.query_ids, own.queries, strict=True):
        first = [doc for doc in own.gains.get(key, {}) if doc in text_of]
        words = set(query.lower().split())
        shared = sorted(own.ids, key=lambda doc: -len(words & set(text_of[doc].lower().split())))
        chosen = list(dict.fromkeys([*first, *shared]))[:PANEL]
        others = tuple(text_of[doc] for doc in chosen)
        panels.append(FingerprintItem(key, "question", query, "query", own=True, others=others))
    return tuple(panels)


def ask_and_measure_repeat_distances(
    respondent: WatchRespondent,
    items: Sequence[FingerprintItem],
    repeats: int,
    seed: int,
    pause: float = 0.0,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[AnswersAndFailuresByItem, NDArray[np.float64]]:
    """The first answers, and distances of further ones from them, (n, repeats). An item that failed once is lost."""
    with enter_answer_stage_if_unfinished(respondent, "first"):
        first = respondent.ask(items, make_seeded_generator(seed, "watch", "first"))
    columns = []
    for number in range(repeats):
        with enter_answer_stage_if_unfinished(respondent, f"repeat {number}") as is_new:
            if pause and is_new:
                sleep(pause)
            more = respondent.ask(items, make_seeded_generator(seed, "watch", "repeat", str(number)))
        columns.append(compute_distances_relative_to_reference(more.values, first.values))
        first.failed.update(more.failed)
    distances = np.stack(columns, axis=1)
    # An answer that came once and not again cannot be told from noise.
    lost = make_mask_of_missing_answers(distances)
    first.values[lost] = np.nan
    distances[lost] = np.nan
    return first, distances


def _make_fingerprint(
    request: FingerprintRequest,
    respondent: WatchRespondent,
    items: Sequence[FingerprintItem],
    first: AnswersAndFailuresByItem,
    again: NDArray[np.float64],
    own: OwnPassagesAndQuestions | None,
) -> SystemAnswerFingerprint:
    lists = None
    rows = [row for row, item in enumerate(items) if item.own and item.group == "question"]
    rows = [row for row in rows if not make_mask_of_missing_answers(first.values[[row]])[0]]
    if isinstance(respondent, VectorRespondent) and own is not None and rows:
        kept = [own.query_ids.index(items[row].id) for row in rows]
        lists = make_own_question_top_lists(
            own.restrict_to_question_rows(kept), respondent, first.values[rows], rows, request.own.seed
        )
    # By the token whatever it is charged by, so that a check is priced without opening the system.
    load = respondent.load(items)
    price = None if load.usd is None else 1e6 * load.usd / max(1, load.tokens)
    return SystemAnswerFingerprint(
        respondent.kind, redact_keys(respondent.name), redact_keys(respondent.identity), TEXTS, request.own.seed,
        first.values.shape[1], getattr(getattr(respondent, "encoder", None), "max_tokens", None), price, load.tokens,
        request.tokenizer, tuple(items),
        Base64NumberArray.of(first.values), Base64NumberArray.of(again),
        {items[int(row)].id: why for row, why in first.failed.items()},
        None if own is None else own.facts(), lists
    )  # fmt: skip
