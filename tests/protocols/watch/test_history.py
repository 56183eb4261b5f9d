"""The file of checks: appended to, read after a kill, refused where somebody changed it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embassay.errors import DataError
from embassay.protocols.watch.check import check_fingerprint_of_open_respondent
from embassay.protocols.watch.history import (
    FingerprintCheck,
    append_history_event,
    append_watch_check,
    read_history_events,
    read_watch_checks,
)
from embassay.protocols.watch.options import FingerprintCheckRequest
from watched_systems import made, recorded


@pytest.fixture(scope="module")
def check() -> FingerprintCheck:
    """One of a system that has lost half of its dimensions."""
    changed = made(step=lambda vectors, texts, role: vectors[:, :32])
    return check_fingerprint_of_open_respondent(recorded(), changed, FingerprintCheckRequest())


def test_checks_come_back_in_order(tmp_path: Path, check: FingerprintCheck) -> None:
    """Two checks and an event: checks as they were, the event apart."""
    path = tmp_path / "f.checks.jsonl"
    append_history_event(path, {"at": "2026-01-01T00:00:00Z"})
    for _ in range(2):
        append_watch_check(path, check)
    assert read_watch_checks(path) == (check, check)
    assert [event["event"] for event in read_history_events(path)] == ["recorded"]


def test_no_file_holds_no_checks(tmp_path: Path) -> None:
    """Before the first one."""
    assert read_watch_checks(tmp_path / "none.jsonl") == ()


@pytest.mark.parametrize("kept", [1, 40, -2])
def test_a_line_that_a_kill_left_costs_nothing_else(tmp_path: Path, check: FingerprintCheck, kept: int) -> None:
    """A torn last line is left out, and the next check gets a line of its own."""
    path = tmp_path / "f.checks.jsonl"
    append_watch_check(path, check)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:kept])
    assert read_watch_checks(path) == (check,)
    append_watch_check(path, check)
    assert read_watch_checks(path) == (check, check)


@pytest.mark.parametrize(
    ("name", "value"),
    [("verdict", "fine"), ("mask", "012"), ("p", 2.0), ("p", "x"), ("look", 0), ("schema", 7), ("groups", 3),
     ("evil", 1), ("changes", [{"kind": "gone", "evidence": ""}])],
)  # fmt: skip
def test_a_changed_line_is_refused_with_its_place(
    tmp_path: Path, check: FingerprintCheck, name: str, value: object
) -> None:
    """The error names the file and the line."""
    path = tmp_path / "f.checks.jsonl"
    append_watch_check(path, check)
    path.write_text(path.read_text() + json.dumps({**check.as_dict(), name: value}) + "\n")
    with pytest.raises(DataError) as raised:
        read_watch_checks(path)
    assert raised.value.line == 2


def test_a_line_that_is_no_object_is_refused(tmp_path: Path) -> None:
    """A list, and what is no JSON at all."""
    for content in ("[1]\n", "hello\n"):
        (tmp_path / "f").write_text(content)
        with pytest.raises(DataError):
            read_watch_checks(tmp_path / "f")
