"""A scoring as the rows, comparisons and tables that every run folder has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.protocols.rag.scoring.score import Comparison, Score
from embassay.records import Result

PROTOCOL, TASK = "rag", "score"


def result_rows(score: Score) -> list[Result]:
    """Every value as a Result, measures by the names the user gave."""
    return [
        Result(
            PROTOCOL, TASK, score.judgements.name, "", "", "", one.run, one.measure, one.value, one.n,
            one.low, one.high, one.method, score.settings.seed, one.reason,
        )
        for one in score.values
    ]  # fmt: skip


def comparisons(score: Score) -> dict[str, Any]:
    """As comparisons.json: a scope per measure, and that of the headline as `score`."""
    scopes = {one.measure: _scope(one) for one in score.comparisons}
    headline = score.comparison(score.headline)
    return {
        "alpha": score.settings.alpha,
        "correction": score.settings.correction,
        "method": score.settings.test,
        "scopes": ({TASK: _scope(headline)} if headline else {}) | scopes,
    }


def tables(score: Score) -> Iterator[ColumnTable]:
    """`rag_score`, `rag_reading`, and where they have rows `rag_pairs`, `rag_overlap` and `rag_sensitivity`."""
    yield _values(score)
    if any(one.pairs for one in score.comparisons):
        yield _pairs(score)
    if score.likeness:
        yield _overlap(score)
    if score.sensitivity:
        yield _sensitivity(score)
    yield _reading(score)


def _scope(one: Comparison) -> dict[str, Any]:
    ranks = zip(one.runs, one.rank_low, strict=False)
    return {
        "systems": list(one.runs),
        "rank_low": list(one.rank_low),
        "rank_high": list(one.rank_high),
        "best": [run for run, low in ranks if low == 1],
        "pairs": [
            {
                "a": pair.a, "b": pair.b, "difference": pair.difference, "ci_low": pair.low,
                "ci_high": pair.high, "p": pair.p, "p_adjusted": pair.p_adjusted,
            }
            for pair in one.pairs
        ],
        "reason": one.reason,
    }  # fmt: skip


def _values(score: Score) -> ColumnTable:
    columns = (
        Column("Run", "text"), Column("Measure", "text"), Column("Value", decimals=3),
        Column("95% low", decimals=3), Column("95% high", decimals=3), Column("Queries", decimals=0),
        Column("Judged queries", decimals=0), Column("Reason", "text"),
    )  # fmt: skip
    rows = [
        (one.run, one.measure, one.value, one.low, one.high, one.n, one.total, one.reason)
        for one in score.values
    ]
    note = f"Percentile bootstrap over queries, {score.settings.resamples} resamples, seed {score.settings.seed}."
    return ColumnTable("rag_score", f"Runs on {score.judgements.name}", columns, tuple(rows), note)


def _pairs(score: Score) -> ColumnTable:
    columns = (
        Column("Measure", "text"), Column("A", "text"), Column("B", "text"), Column("A - B", "signed", 3),
        Column("95% low", "signed", 3), Column("95% high", "signed", 3), Column("p", "p"),
        Column("p, Holm", "p"), Column("Queries", decimals=0), Column("Better", "text"),
    )  # fmt: skip
    rows = [
        (
            one.measure,
            pair.a,
            pair.b,
            pair.difference,
            pair.low,
            pair.high,
            pair.p,
            pair.p_adjusted,
            pair.n,
            pair.better,
        )
        for one in score.comparisons
        for pair in one.pairs
    ]
    return ColumnTable("rag_pairs", "Runs compared", columns, tuple(rows), f"p: {score.settings.test}.")


def _overlap(score: Score) -> ColumnTable:
    columns = (
        Column("K", decimals=0), Column("A", "text"), Column("B", "text"), Column("Overlap", decimals=3),
        Column("95% low", decimals=3), Column("95% high", decimals=3), Column("tau-b", "signed", 3),
        Column("tau 95% low", "signed", 3), Column("tau 95% high", "signed", 3), Column("tau queries", decimals=0),
    )  # fmt: skip
    rows = [
        (
            one.cutoff, one.a, one.b, one.overlap, one.overlap_low, one.overlap_high,
            one.tau, one.tau_low, one.tau_high, one.tau_n,
        )
        for one in score.likeness
    ]  # fmt: skip
    note = "tau-b: of the documents that both have among their first K."
    return ColumnTable("rag_overlap", "How alike the first K documents are", columns, tuple(rows), note)


def _sensitivity(score: Score) -> ColumnTable:
    names = [run.name for run in score.runs]
    columns = (
        Column("K", decimals=0), Column("alpha"), Column("cap4"), Column("cap3"),
        *(Column(name, decimals=3) for name in names), Column("Order", "text"),
        Column("tau-b", "signed", 3), Column("Largest change", decimals=3),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = [
        (
            one.cutoff, one.alpha, one.cap4, one.cap3, *(one.values[name] for name in names),
            " > ".join(one.order), one.tau, one.largest_change,
        )
        for one in score.sensitivity
    ]  # fmt: skip
    note = "RA-nWG; order, tau-b and change against the default cell (alpha 1, cap4 1, cap3 0.25)."
    return ColumnTable(
        "rag_sensitivity", "How much RA-nWG hangs on its constants", columns, tuple(rows), note
    )


def _reading(score: Score) -> ColumnTable:
    columns = (Column("About", "text"), Column("Finding", "text"), Column("In words", "text"))
    rows = [(f"{one.run}@{one.cutoff}", one.finding, one.text) for one in score.readings]
    rows += [(one.knob, one.status, one.text) for one in score.guidance]
    return ColumnTable("rag_reading", "Pool or ordering, and the next knob", columns, tuple(rows))
