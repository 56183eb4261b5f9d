"""The tables of a scoring: every measure of every run, how alike runs are, and what the constants of RA-nWG change."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols import numbers
from embassay.protocols.rag.scoring.record import MeasureFacts, Score, SensitivityCell
from embassay.report.matrix import Entry, Line, Matrix, entry, step_of
from embassay.report.rag.terminal import unit_of
from embassay.report.record import Record

TASK = "score"
STEADY = 0.01
"""A change of a run's value under this is drawn lightest."""


def every_measure(record: Record, score: Score) -> Matrix:
    """A row per measure, a column per run; bold: who may be first, where not all may."""
    runs = [one.name for one in score.runs]
    return Matrix(
        "measures", "Every measure", "Measure", tuple(runs),
        tuple(_measure(record, score, one, runs) for one in score.measures), digits=3,
    )  # fmt: skip


def label_of(measure: MeasureFacts) -> str:
    """The measure as the user spelled it, and that lower is better where it is."""
    return f"{measure.name} (lower is better)" if measure.direction == "lower" else measure.name


def _measure(record: Record, score: Score, measure: MeasureFacts, runs: Sequence[str]) -> Line:
    bold, unit = first_of(score, measure.name), unit_of(measure.name)
    found = ((run, record.find(TASK, run, measure.name, dataset=score.judgements.name)) for run in runs)
    return Line(label_of(measure), tuple(entry(row, unit, bold=run in bold) for run, row in found))


def first_of(score: Score, measure: str) -> frozenset[str]:
    """The runs that may be first by a measure; none where all may."""
    comparison = score.comparison(measure)
    if comparison is None:
        return frozenset()
    ranks = zip(comparison.runs, comparison.rank_low, strict=False)
    found = frozenset(run for run, low in ranks if low == 1)
    return found if len(found) < len(score.runs) else frozenset()


def likeness(score: Score) -> Matrix | None:
    """A row per pair of runs: overlap and tau of their first K; None for one run."""
    cutoffs = list(dict.fromkeys(one.cutoff for one in score.likeness))
    found = {(one.a, one.b, one.cutoff): one for one in score.likeness}
    columns = [title for k in cutoffs for title in (f"Overlap@{k}", f"τ-b of the common@{k}")]
    lines = []
    for a, b in dict.fromkeys((one.a, one.b) for one in score.likeness):
        cells: list[Entry] = []
        for k in cutoffs:
            one = found.get((a, b, k))
            if one is None:
                cells += [Entry("n/a", why="not computed")] * 2
                continue
            cells += [
                _figure(one.overlap, one.overlap_low, one.overlap_high),
                _figure(one.tau, one.tau_low, one.tau_high, why="fewer than two common documents"),
            ]
        lines.append(Line(f"{a}, {b}", tuple(cells)))
    return (
        Matrix("alike", "How alike two runs are", "Runs", tuple(columns), tuple(lines), is_heat=True)
        if lines
        else None
    )


def _figure(value: float | None, low: float | None, high: float | None, why: str = "") -> Entry:
    if value is None:
        return Entry("n/a", why=why)
    ends = (low, high) if low is not None and high is not None else ()
    exact = ",".join(f"{one:.6g}" for one in (value, *ends))
    return Entry(
        numbers.score(value),
        numbers.interval(*ends) if ends else "no interval",
        exact,
        step_of(max(0.0, value)),
    )


def grids(score: Score) -> tuple[Matrix, ...]:
    """The 24 settings of RA-nWG's constants, a table per cutoff: tau-b of the runs' order against that of the default,
    and the largest change of a run's value."""
    cutoffs = list(dict.fromkeys(one.cutoff for one in score.sensitivity))
    return tuple(_grid(k, [one for one in score.sensitivity if one.cutoff == k]) for k in cutoffs)


def _grid(cutoff: int, cells: Sequence[SensitivityCell]) -> Matrix:
    caps = list(dict.fromkeys((one.cap4, one.cap3) for one in cells))
    found = {(one.alpha, one.cap4, one.cap3): one for one in cells}
    lines = (
        Line(f"α = {alpha:g}", tuple(_cell(found.get((alpha, *cap))) for cap in caps))
        for alpha in dict.fromkeys(one.alpha for one in cells)
    )
    titles = tuple(f"caps {cap4:g}, {cap3:g}" for cap4, cap3 in caps)
    return Matrix(
        f"grid-{cutoff}", f"RA-nWG@{cutoff}", "Rarity", titles, tuple(lines), is_heat=True, is_sorted=True
    )


def _cell(one: SensitivityCell | None) -> Entry:
    if one is None or one.largest_change is None:
        return Entry("n/a", why="not defined at this setting")
    tau = "" if one.tau is None else f"τ {numbers.score(one.tau, 2)}"
    moved = "default" if one.default else f"moves {numbers.score(one.largest_change)}"
    step = 1 if one.largest_change < STEADY else min(5, 1 + step_of(one.largest_change / (10 * STEADY)))
    exact = f"{one.largest_change if one.tau is None else one.tau:.6g}"
    return Entry(tau or moved, moved if tau else "", exact, step, bold=one.default)
