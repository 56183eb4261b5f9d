"""The file of checks beside a fingerprint: one line of JSON per check; a kill loses at most its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from embassay.errors import DataError
from embassay.limits import parse_json_written_by_embassay, read_bounded_file
from embassay.protocols.watch.impact import (
    JudgeChangeOnGoldenLabels,
    RankedListImpact,
    ScoreOrGradeChange,
    ThresholdImpact,
)
from embassay.protocols.watch.kinds import AnswerChangeKind
from embassay.runs.folder import build_checked_dataclass, build_dataclass_from_values, format_value_as_json

SCHEMA = 1
ENDING = ".checks.jsonl"
Verdict = Literal["same", "noisier", "changed", "not comparable"]
VERDICTS: tuple[Verdict, ...] = ("same", "noisier", "changed", "not comparable")


@dataclass(frozen=True)
class TextGroupChange:
    """How many of the texts of a group were beyond the noise, and the median of their distances, of `n` answered."""

    group: str
    n: int
    moved: int
    distance: float


@dataclass(frozen=True)
class FingerprintCheck:
    """One check: what was asked, what was found, and what that rests on.

    `p` is the smallest of the tests' p-values and `level` what it had to be below, both before they are shared out;
    `look` numbers the checks of this fingerprint from 1. `mask` has a character per item: 1 beyond its repeats, 0 not,
    - not asked or lost. `part` says which part of an index is to be made anew.
    """

    fingerprint: str
    at: str
    look: int
    system: str
    identity: str
    verdict: Verdict
    reason: str
    p: float
    level: float
    asked: int
    lost: int
    moved: int
    distance: float
    noise: float
    changes: tuple[AnswerChangeKind, ...]
    groups: tuple[TextGroupChange, ...]
    mask: str
    seconds: float
    usd: float | None
    impact: RankedListImpact | None = None
    thresholds: tuple[ThresholdImpact, ...] = ()
    panel: ScoreOrGradeChange | None = None
    part: str = ""
    golden: JudgeChangeOnGoldenLabels | None = None
    schema: int = SCHEMA

    @property
    def has_changed_lists(self) -> bool | None:
        """Whether any of the lists changes, with all made anew, or any first passage or label; None where there are
        none."""
        if self.panel is not None:
            turned = self.panel.turned.point if self.panel.turned is not None else 0.0
            return self.panel.first.point > 0 or turned > 0
        if self.impact is None:
            return None
        # Half a question: less than one list that changes is none.
        return self.impact.states[-1].changed.point > 0.5 / max(1, self.impact.questions)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


def find_check_history_of_fingerprint(fingerprint: Path) -> Path:
    """Where the checks of a fingerprint are kept by default.

    >>> find_check_history_of_fingerprint(Path("watch/minilm.json")).as_posix()
    'watch/minilm.checks.jsonl'
    """
    return fingerprint.with_name(fingerprint.name.removesuffix(".json") + ENDING)


def append_watch_check(path: Path, check: FingerprintCheck) -> None:
    """Add a check in one write that is on the disk when this returns; a line that a kill left unfinished is ended
    first."""
    _append_json_record(path, check.as_dict())


def append_history_event(path: Path, event: Mapping[str, Any]) -> None:
    """Append an event that is no check: that a fingerprint was recorded, when, and what it took."""
    _append_json_record(path, {"event": "recorded", **event})


def _append_json_record(path: Path, plain: Mapping[str, Any]) -> None:
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    line = (format_value_as_json(plain) + "\n").encode("utf-8", "backslashreplace")
    with FileLock(f"{path}.lock"), path.open("ab+") as stream:
        size = stream.seek(0, os.SEEK_END)
        if size:
            # A kill may have cut the last line: the new one must not be joined to it.
            stream.seek(size - 1)
            line = line if stream.read(1) == b"\n" else b"\n" + line
        stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())


def read_watch_checks(path: Path) -> tuple[FingerprintCheck, ...]:
    """All checks in a file, oldest first; none where there is no file. An unfinished last line is left out. DataError,
    with the line, for one that is no check."""
    return tuple(
        _parse_watch_check(path, number, plain) for number, plain in _read_history_lines(path) if "event" not in plain
    )


def read_history_events(path: Path) -> tuple[dict[str, Any], ...]:
    """Read the events of a history file: what it holds beside checks."""
    return tuple(plain for _, plain in _read_history_lines(path) if "event" in plain)


def _read_history_lines(path: Path) -> list[tuple[int, dict[str, Any]]]:
    if not path.exists():
        return []
    lines = read_bounded_file(path).split(b"\n")
    told = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            plain = parse_json_written_by_embassay(line)
        except ValueError as error:
            if _is_torn_line(lines, number):
                continue
            raise _make_not_a_check_error(path, number, str(error)) from None
        if not isinstance(plain, dict):
            raise _make_not_a_check_error(path, number, type(plain).__name__)
        told.append((number, plain))
    return told


def _is_torn_line(lines: Sequence[bytes], number: int) -> bool:
    """Whether a kill ended the line: it is no whole object."""
    return lines[number - 1].startswith(b"{") and not lines[number - 1].rstrip().endswith(b"}")


def _parse_watch_check(path: Path, line: int, plain: Mapping[str, Any]) -> FingerprintCheck:
    try:
        if plain["schema"] != SCHEMA:
            raise ValueError(f"schema {plain['schema']}")
        check = build_dataclass_from_values(FingerprintCheck, plain)
        _check_watch_check_values(check)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise _make_not_a_check_error(path, line, str(error)) from None
    return check


def _check_watch_check_values(check: FingerprintCheck) -> None:
    """ValueError for values that no check has."""
    build_checked_dataclass(FingerprintCheck, check.as_dict())
    if set(check.mask) - set("01-") or not 0 <= check.p <= 1 or check.look < 1:
        raise ValueError("mask, p or look")


def _make_not_a_check_error(path: Path, line: int, found: str) -> DataError:
    return DataError(
        "This line is not a saved check", path=path, line=line, expected=f"schema {SCHEMA}", found=found,
        mend="Remove the line, or give another file with --history."
    )  # fmt: skip
