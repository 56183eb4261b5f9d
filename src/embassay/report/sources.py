"""The records that cards of many systems are filled from, each read once as long as its file stays the same."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from embassay.protocols.hume.summary import record as hume
from embassay.protocols.rag.scoring.record import Score, read_score
from embassay.protocols.rag.sweep.findings import record as sweep
from embassay.report.gathered import Run

SCORE = "score.json"


def summary_of(run: Run) -> hume.Summary | None:
    """The record of a HUME run; None for another run, or where it is not written yet."""
    path = run.record.path / hume.FILE
    return _summary(run.record.path, *_state(path)) if run.record.kind == "hume" and path.is_file() else None


def score_of(run: Run) -> Score | None:
    """The record of a scoring; None for another run, or where it is not written yet."""
    path = run.record.path / SCORE
    return _score(path, *_state(path)) if run.record.kind == "score" and path.is_file() else None


def sweep_of(run: Run) -> sweep.Findings | None:
    """The record of a sweep; None for another run, or where it is not written yet."""
    path = run.record.path / sweep.FILE
    return sweep.read_findings(path) if run.record.kind == "sweep" and path.is_file() else None


def _state(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_mtime_ns, state.st_size


@lru_cache(maxsize=4)
def _summary(folder: Path, _written: int, _size: int) -> hume.Summary:
    return hume.read_summary(folder)


@lru_cache(maxsize=4)
def _score(path: Path, _written: int, _size: int) -> Score:
    return read_score(path)
