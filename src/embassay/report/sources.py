"""The records that cards of many systems are filled from, each read once as long as its file stays the same."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.report.gathered import Run

if TYPE_CHECKING:
    from embassay.protocols.hume.summary.record import Summary
    from embassay.protocols.rag.scoring.record import Score
    from embassay.protocols.rag.sweep.findings.record import Findings

SCORE, SUMMARY, FINDINGS = "score.json", "summary.json", "sweep.json"


def summary_of(run: Run) -> Summary | None:
    """The record of a HUME run; None for another run, or where it is not written yet."""
    path = run.record.path / SUMMARY
    return _summary(run.record.path, *_state(path)) if run.record.kind == "hume" and path.is_file() else None


def score_of(run: Run) -> Score | None:
    """The record of a scoring; None for another run, or where it is not written yet."""
    path = run.record.path / SCORE
    return _score(path, *_state(path)) if run.record.kind == "score" and path.is_file() else None


def sweep_of(run: Run) -> Findings | None:
    """The record of a sweep; None for another run, or where it is not written yet."""
    path = run.record.path / FINDINGS
    if run.record.kind != "sweep" or not path.is_file():
        return None
    from embassay.protocols.rag.sweep.findings.record import read_findings

    return read_findings(path)


def _state(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_mtime_ns, state.st_size


@lru_cache(maxsize=4)
def _summary(folder: Path, _written: int, _size: int) -> Summary:
    from embassay.protocols.hume.summary.record import read_summary

    return read_summary(folder)


@lru_cache(maxsize=4)
def _score(path: Path, _written: int, _size: int) -> Score:
    from embassay.protocols.rag.scoring.record import read_score

    return read_score(path)
