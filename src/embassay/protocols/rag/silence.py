"""From which score to answer, so that questions without an answer get none: of runs, with questions of both sorts.

`measure_silence_signals_of_run` compares the questions whose evidence is among the first K with those of
`no_answer.jsonl`, by the best score, its margin to the second, and a reranker's best score; cross-validation says
which of them tells most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.data.judged_runs import RunOrQrelsEntries
from embassay.data.rows import make_missing_column_error, read_row_id, read_text_cell
from embassay.data.tables import open_table_file
from embassay.data.views import RenamedColumnsView
from embassay.errors import DataError
from embassay.protocols.calibration.options import ANSWERED, LOSS, SILENT, SILENT_BELOW
from embassay.randomness import make_seeded_generator
from embassay.records import Score
from embassay.runs.folder import write_json
from embassay.stats.silence import (
    SilenceAims,
    SilenceThreshold,
    compute_log_loss_of_silence_signals,
    count_least_unanswerable,
    find_silence_threshold,
    measure_top_score_and_margin,
)

RERANKER = "reranker"
OTHER = "no answer"
"""The kind of questions of a file that names none."""
FORMAT, VERSION = "embassay-silence", 1

Values = NDArray[np.float64]
Kinds = Mapping[str, Sequence[str]]
"""Kind of unanswerable questions -> their ids."""


@dataclass(frozen=True)
class SignalSilence:
    """What a `signal` of a run can do about a `kind` of questions, and the held-out `loss` that ranks signals."""

    signal: str
    kind: str
    loss: float
    silence: SilenceThreshold


@dataclass(frozen=True)
class RunSilence:
    """By kind of question the signals of a run, that which tells most first; `reason` says why there are none, and
    `notes` what is to be known of them."""

    run: str
    signals: tuple[SignalSilence, ...]
    reason: str = ""
    notes: tuple[str, ...] = ()

    def scores(self) -> Iterator[Score]:
        """Result rows of thresholds and bounded shares; `subset` is the kind, `variant` the signal."""
        if self.reason:
            yield Score(SILENT_BELOW, None, 0, reason=self.reason)
        for entry in self.signals:
            yield from _iterate_scores_of_silence_threshold(entry)

    def save(self, path: Path, dataset: str) -> None:
        """Save the silence as JSON, for the program that is to keep silent."""
        record = {"format": FORMAT, "version": VERSION, "run": self.run, "dataset": dataset}
        signals = [asdict(entry) for entry in self.signals]
        write_json(path, {**record, "reason": self.reason, "signals": signals})


def _iterate_scores_of_silence_threshold(entry: SignalSilence) -> Iterator[Score]:
    silence, aims = entry.silence, entry.silence.aims
    n = 0 if silence.silent is None else silence.silent.n
    where: dict[str, Any] = {"variant": entry.signal, "subset": entry.kind}
    yield Score(LOSS, entry.loss, n, **where, method="mean over five held-out parts")
    promise = (
        f"silent on at least {100 * aims.silent:g}% of unanswerable questions with {aims.confidence:.0%} confidence, "
        "exact binomial"
    )
    value = None if silence.verdict == "none works" else silence.above
    reason = explain_missing_threshold(silence, entry.kind) if value is None else ""
    yield Score(SILENT_BELOW, value, n, **where, method=promise, reason=reason)
    if silence.silent is None or silence.answered is None:
        return
    bounds, answered = silence.silent, silence.answered
    method = "one-sided exact bounds, in the sample used to choose the threshold"
    yield Score(SILENT, bounds.share, bounds.n, bounds.low, bounds.high, **where, method=method)
    method = "one-sided exact bounds"
    yield Score(ANSWERED, answered.share, answered.n, answered.low, answered.high, **where, method=method)


def explain_missing_threshold(silence: SilenceThreshold, kind: str) -> str:
    """Explain why there is no threshold; empty where there is one."""
    aims = silence.aims
    if silence.verdict == "works":
        return ""
    if silence.verdict == "none works":
        return (
            f"no threshold works: any that is silent on {aims.silent:.0%} of the {kind} questions answers fewer than "
            f"{aims.answered:.0%} of the questions with evidence"
        )
    if silence.above is None:
        return f"{silence.least:,} {kind} questions are needed, but there are fewer"
    more = "" if silence.times is None else f"; about {silence.times} times as many are needed"
    return f"too few questions to show that {aims.answered:.0%} of those with evidence are answered{more}"


def read_unanswerable_ids_by_kind(path: str) -> dict[str, list[str]]:
    """Kind -> ids of the questions without an answer, from a table with `id` and, if it tells them apart, `kind`.
    DataError for a table without `id`, an id that stands there twice, and no question."""
    source = RenamedColumnsView(open_table_file(Path(path).expanduser()))
    if "id" not in source.columns():
        raise make_missing_column_error(source, "id")
    columns = source.columns()
    kinds: dict[str, list[str]] = {}
    seen: set[str] = set()
    for row in source.rows(("id", "kind") if "kind" in columns else ("id",)):
        key = read_row_id(row, "id")
        if key in seen:
            raise DataError(
                f"question {key!r} appears twice", path=path, line=row.line, mend="Keep one row per question."
            )
        seen.add(key)
        kind = read_text_cell(row, "kind") if "kind" in columns else ""
        kinds.setdefault(kind or OTHER, []).append(key)
    if not kinds:
        raise DataError("the file has no questions", path=path, mend="Use questions that have no answer.")
    return kinds


def check_unanswerable_unjudged(kinds: Kinds, answered: Sequence[str], path: str) -> None:
    """Check that no question without an answer has evidence by the judgements; else DataError."""
    known = set(answered)
    both = next((key for ids in kinds.values() for key in ids if key in known), None)
    if both is not None:
        raise DataError(
            f"question {both!r} has evidence according to the judgements", path=path, expected="questions without "
                "an answer",
            mend="Remove it, or correct the judgement."
        )  # fmt: skip


def read_score_signals(entries: RunOrQrelsEntries, reranked: RunOrQrelsEntries | None) -> dict[str, dict[str, float]]:
    """Read by signal and question: the best score, the margin to the second, and the reranker's best."""
    import polars as pl

    frame = entries.frame.select(pl.col("query").cast(pl.String), pl.col("value").cast(pl.Float64))
    tops = frame.group_by("query").agg(pl.col("value").top_k(2).sort(descending=True))
    signals: dict[str, dict[str, float]] = {}
    for query, values in tops.iter_rows():
        for name, value in measure_top_score_and_margin(values).items():
            signals.setdefault(name, {})[query] = value
    if reranked is not None:
        frame = reranked.frame.select(pl.col("query").cast(pl.String), pl.col("value").cast(pl.Float64))
        signals[RERANKER] = dict(frame.group_by("query").agg(pl.col("value").max()).iter_rows())
    return signals


def measure_silence_signals_of_run(
    run: str,
    signals: Mapping[str, Mapping[str, float]],
    kinds: Kinds,
    answerable: Sequence[str],
    aims: SilenceAims,
    seed: int,
) -> RunSilence:
    """What each signal of a run (signal -> question -> value) can do about questions without an answer, by the `kinds`,
    compared with the `answerable` ones, whose evidence it retrieved. A question without a value has nothing retrieved.
    """
    if not answerable:
        return RunSilence(run, (), "no question has evidence among the first passages")
    entries = []
    for kind, ids in kinds.items():
        sides = {
            name: (_take_values_by_id(of, answerable), _take_values_by_id(of, ids)) for name, of in signals.items()
        }
        ranked = compute_log_loss_of_silence_signals(sides, make_seeded_generator(seed, "silence", run, kind))
        for name, loss in ranked.items():
            good, bad = sides[name]
            entries.append(SignalSilence(name, kind, loss, find_silence_threshold(bad, good, aims, len(signals))))
    return RunSilence(run, tuple(entries), notes=tuple(_list_silence_threshold_notes(signals, kinds, aims)))


def _take_values_by_id(of: Mapping[str, float], ids: Sequence[str]) -> Values:
    return np.array([of.get(key, -math.inf) for key in ids], dtype=np.float64)


def _list_silence_threshold_notes(
    signals: Mapping[str, Mapping[str, float]], kinds: Kinds, aims: SilenceAims
) -> Iterator[str]:
    least = count_least_unanswerable(aims, len(signals))
    for kind, ids in kinds.items():
        missing = sum(key not in signals["score"] for key in ids)
        if missing:
            yield f"{missing:,} of {len(ids):,} {kind} questions have no list, so they count as left unanswered"
        if len(ids) < least:
            yield f"{len(ids):,} {kind} questions are too few; a threshold needs at least {least:,}"


def check_unanswerable_were_asked(signals: Mapping[str, Mapping[str, float]], kinds: Kinds, path: str) -> None:
    """Check that each run has a list for some question without an answer; DataError if never asked."""
    if not any(key in signals["score"] for ids in kinds.values() for key in ids):
        raise DataError(
            "the run has no list for any question without an answer", path=path,
            mend="Run the retriever on these questions too, and put the lists in the same file."
        )  # fmt: skip
