"""Which end of a run's numbers is the best: scores fall from rank to rank, distances rise, and ranks are neither.

Where a run has ranks, or an order that its engine gave, numbers are held against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from embassay.data.judged_runs.layouts import DISTANCES, RANKS
from embassay.errors import DataError

if TYPE_CHECKING:
    import polars as pl

MOSTLY = 19
"""Numbers rise with the rank where so many steps from a rank to the next rise for each that falls."""
LEAST_STEPS = 3
"""Rising steps from which on the order of a file's lines is worth a word."""
RISING = (
    "the scores increase from line to line in every query. If they are distances, the ranking is reversed: "
    "put a minus sign before each score"
)


@dataclass(frozen=True)
class HigherIsBetterRun:
    """A run with the best number highest: `query`, `doc` and `value` in the file's order; whether the numbers are
    scores, not made from ranks; and what is to be said of them."""

    frame: pl.DataFrame
    is_scored: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScoreRisesAndFalls:
    """How often a number rises and falls from an entry to the next of its query; `row` is the first entry that it rises
    to."""

    rises: int
    falls: int
    row: int

    @property
    def are_rising(self) -> bool:
        """Whether they rise, but for a few."""
        return self.rises > MOSTLY * self.falls

    @property
    def are_falling(self) -> bool:
        """Whether they fall, but for a few."""
        return self.falls > MOSTLY * self.rises


def orient_scores_best_highest(
    frame: pl.DataFrame, named: str, fault: Callable[..., DataError], *, by_trec: bool
) -> HigherIsBetterRun:
    """A run's entries (`query`, `doc`, `value`, and `rank` where there is one) with the best number highest.

    `named` is what the numbers are called in the file, `fault` makes the error for a row. Ranks alone are an order.
    DataError where scores rise with the rank, and for distances of which nobody knows the direction. Equal scores are
    told apart by the rank, but not `by_trec`: trec_eval looks at no ranks.
    """
    called = named.strip().lower()
    if called in RANKS:
        note = "ranks but no scores, so documents are ordered by rank"
        return _make_higher_is_better_run(frame, "-", False, note)
    ranked = _count_score_rises_and_falls_by_rank(frame)
    if ranked is not None and (ranked.are_rising and ranked.rises):
        return _make_run_from_distances_or_raise(frame, called, ranked, fault)
    steps = ranked or _count_score_steps_between_lines(frame)
    if called in DISTANCES:
        return _make_higher_better_run_from_distances(frame, steps, fault)
    if ranked is None and steps.are_rising and steps.rises >= LEAST_STEPS:
        return _make_higher_is_better_run(frame, "", True, RISING)
    if ranked is not None and not by_trec:
        frame = _untie_by_rank(frame)
    return _make_higher_is_better_run(frame, "", True)


def _make_run_from_distances_or_raise(
    frame: pl.DataFrame, called: str, steps: ScoreRisesAndFalls, fault: Callable[..., DataError]
) -> HigherIsBetterRun:
    if called in DISTANCES:
        return _make_higher_better_run_from_distances(frame, steps, fault)
    value, rank = (frame[name][steps.row] for name in ("value", "rank"))
    raise fault(
        steps.row, "the scores increase with the rank", expected="the highest score at rank 1",
        found=(f"an increase in {steps.rises:,} of {steps.rises + steps.falls:,} steps, such as to {value:g} "
            f"at rank {rank:g}"),
        mend="If they are distances, put a minus sign before each score; otherwise set all ranks to 0."
    )  # fmt: skip


def _make_higher_better_run_from_distances(
    frame: pl.DataFrame, steps: ScoreRisesAndFalls, fault: Callable[..., DataError]
) -> HigherIsBetterRun:
    """Numbers that are called distances: the smallest is the best where they rise, and where they fall they are
    similarities, as Milvus gives them for inner products."""
    if steps.are_rising and steps.rises:
        return _make_higher_is_better_run(frame, "-", True, "scores are distances: the smallest is the best")
    if steps.are_falling and steps.falls:
        note = "the distance column decreases from rank to rank, so the highest value counts as the best"
        return _make_higher_is_better_run(frame, "", True, note)
    raise fault(
        0, "the column is named as a distance, but the order does not show which value is best",
        expected="scores (the highest is best), or a column of ranks",
        found=f"{steps.rises:,} increases from line to line and {steps.falls:,} decreases",
        mend="Rename the column to score; if the smallest is the best, put a minus sign before each value."
    )  # fmt: skip


def _make_higher_is_better_run(frame: pl.DataFrame, sign: str, is_scored: bool, *notes: str) -> HigherIsBetterRun:
    import polars as pl

    value = -pl.col("value") if sign else pl.col("value")
    return HigherIsBetterRun(frame.select("query", "doc", value.alias("value")), is_scored, notes)


def _count_score_rises_and_falls_by_rank(frame: pl.DataFrame) -> ScoreRisesAndFalls | None:
    """The steps from rank to rank; None where there are no ranks, or they are all one."""
    import polars as pl

    if "rank" not in frame.columns:
        return None
    rows = frame.with_row_index("row").filter(pl.col("rank").is_not_null() & pl.col("rank").is_finite())
    rows = rows.sort("query", "rank", maintain_order=True)
    onward = (pl.col("query") == pl.col("query").shift()) & (pl.col("rank") > pl.col("rank").shift())
    rows = rows.select("row", "value", onward=onward.fill_null(value=False))
    return _count_score_steps(rows) if rows["onward"].any() else None


def _count_score_steps_between_lines(frame: pl.DataFrame) -> ScoreRisesAndFalls:
    """The steps from line to line of each query."""
    import polars as pl

    rows = frame.with_row_index("row").sort("query", maintain_order=True)
    onward = pl.col("query") == pl.col("query").shift()
    return _count_score_steps(rows.select("row", "value", onward=onward.fill_null(value=False)))


def _count_score_steps(rows: pl.DataFrame) -> ScoreRisesAndFalls:
    import polars as pl

    change = pl.col("value") - pl.col("value").shift()
    risen = rows.filter(pl.col("onward") & (change > 0))
    fallen = rows.select((pl.col("onward") & (change < 0)).sum()).item()
    first = int(risen["row"].min()) if len(risen) else 0  # type: ignore[arg-type]
    return ScoreRisesAndFalls(len(risen), int(fallen or 0), first)


def _untie_by_rank(frame: pl.DataFrame) -> pl.DataFrame:
    """Untie the equal scores of a query by their ranks."""
    import polars as pl

    single = pl.col("value").cast(pl.Float32, strict=False)
    tied = pl.struct("query", single.alias("single")).is_duplicated()
    if "rank" not in frame.columns or not frame.select(tied).to_series().any():
        return frame
    rows = frame.with_row_index("row").with_columns(several=tied.any().over("query"))
    order = rows.filter("several").sort(
        ["query", "value", "rank", "row"], descending=[False, True, False, False], nulls_last=True
    )
    values = [
        value for group in order.partition_by("query") for value in separate_tied_scores(group["value"].to_list())
    ]
    told = pl.DataFrame({"row": order["row"], "apart": pl.Series(values, dtype=pl.Float64)})
    joined = rows.join(told, on="row", how="left", maintain_order="left")
    return joined.with_columns(value=pl.coalesce("apart", "value")).select(frame.columns)


def list_note_on_rising_scores(columns: Iterable[Sequence[float]]) -> tuple[str, ...]:
    """A word on scores that rise from one to the next in all columns, each of a query."""
    steps = [after - before for column in columns for before, after in pairwise(column)]
    counted = ScoreRisesAndFalls(sum(step > 0 for step in steps), sum(step < 0 for step in steps), 0)
    return (RISING,) if counted.are_rising and counted.rises >= LEAST_STEPS else ()


def separate_tied_scores(scores: Sequence[float]) -> list[float]:
    """Scores that fall in single precision, which rankings are made in: each as it is where it is below the one before,
    else the next number below that.

    >>> separate_tied_scores([2.0, 1.0, 1.0])
    [2.0, 1.0, 0.9999999403953552]
    """
    apart: list[float] = []
    last = np.float32(np.inf)
    for score in scores:
        if np.float32(score) < last:
            last = np.float32(score)
            apart.append(score)
        else:
            last = np.nextafter(last, np.float32(-np.inf))
            apart.append(float(last))
    return apart
