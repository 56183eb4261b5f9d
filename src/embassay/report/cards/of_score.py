"""What a scoring of retrieval runs says of the run that has a system's name."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.protocols import numbers
from embassay.report.cards.findings import Finding, figure, finding
from embassay.report.gathered import Run
from embassay.report.rag.matrices import TASK
from embassay.report.sources import score_of


def good(run: Run, system: str) -> Iterator[Finding]:
    """That it is first, or may be, by the headline measure."""
    placed = _placed(run, system)
    if placed is None:
        return
    (low, high), of, said = placed
    if high == 1:
        yield finding(run, f"beats every other retrieval run by {said}", weight=3, place="score-runs")
    elif low == 1:
        clause = f"may be first of {numbers.counted(of, 'retrieval run')} by {said}"
        yield finding(run, clause, weight=2, place="score-runs")


def bad(run: Run, system: str) -> Iterator[Finding]:
    """That every other run beats it."""
    placed = _placed(run, system)
    if placed is not None and placed[0] == (placed[1], placed[1]):
        yield finding(
            run, f"is beaten by every other retrieval run by {placed[2]}", weight=3, place="score-runs"
        )


def _placed(run: Run, system: str) -> tuple[tuple[int, int], int, str] | None:
    """Its rank range, of how many runs, and the value; None where it is not ranked among two or more."""
    score = score_of(run)
    if score is None:
        return None
    scope = run.record.scope(TASK)
    ranges = scope.ranges.get(system)
    row = run.record.find(TASK, system, score.headline, dataset=score.judgements.name)
    if ranges is None or row is None or row.value is None or len(scope.systems) < 2:
        return None
    return ranges, len(scope.systems), f"{score.headline} {figure(row)}, as the run of that name"
