"""The queries on which the runs lose most, and where they lose it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from embassay.parquet import read_parquet
from embassay.protocols import numbers
from embassay.protocols.rag.scoring.record import Score
from embassay.report.record import Record
from embassay.runs.folder import RunFolder

TASK = "score"
MOST = 12
Values = Mapping[tuple[str, str], float]
"""Query and measure to value, where a run has one."""


@dataclass(frozen=True)
class WorstQuery:
    """A query: the value of each run as text, their mean, and what they lose to ordering and pool in the mean."""

    query: str
    values: tuple[str, ...]
    mean: str
    ordering: str
    pool: str


def worst_queries(record: Record, score: Score) -> tuple[WorstQuery, ...]:
    """The first by their mean over the runs, worst first; those where the headline is undefined are none."""
    measure = next((one for one in score.measures if one.name == score.headline), None)
    if measure is None:
        return ()
    names = (score.headline, f"PROC@{measure.cutoff}")
    runs = [_of_run(record, score, run.name, names) for run in score.runs]
    queries = dict.fromkeys(query for values in runs for query, _ in values)
    means = {query: _mean([values.get((query, names[0])) for values in runs]) for query in queries}
    known = {query: value for query, value in means.items() if value is not None}
    sign = -1.0 if measure.direction == "lower" else 1.0
    ordered = sorted(known, key=lambda query: (sign * known[query], query))[:MOST]
    return tuple(_worst(query, known[query], runs, names) for query in ordered)


def _worst(query: str, mean: float, runs: Sequence[Values], names: tuple[str, str]) -> WorstQuery:
    values = [values.get((query, names[0])) for values in runs]
    ceiling = _mean([values.get((query, names[1])) for values in runs])
    lost = ceiling is not None and names[0].startswith("RA-nWG")
    return WorstQuery(
        query,
        tuple("n/a" if one is None else numbers.score(one) for one in values),
        numbers.score(mean),
        numbers.score((ceiling or 0.0) - mean) if lost else numbers.NONE,
        numbers.score(1.0 - (ceiling or 0.0)) if lost else numbers.NONE,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Over the runs that have a value; None where none has."""
    known = [one for one in values if one is not None]
    return sum(known) / len(known) if known else None


def _of_run(record: Record, score: Score, run: str, measures: tuple[str, ...]) -> Values:
    import polars as pl

    path = RunFolder(record.path).items_path(TASK, score.judgements.name, run)
    if not path.exists():
        return {}
    frame = read_parquet(path).filter(pl.col("measure").is_in(list(measures)) & pl.col("value").is_not_null())
    rows = frame.select("item_id", "measure", "value").iter_rows()
    return {(query, measure): value for query, measure, value in rows if value == value}
