"""The log of a query's answers: what it keeps, and what it makes of damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.rag.golden.refinement import (
    JudgeCallLog,
    KeptJudgeOrdering,
    KeptQueryFailure,
    format_judge_call_log,
)

ABOUT = {"log": 1, "query": "Q1", "engine": "locks", "seed": 7}
CALLS = [KeptJudgeOrdering(i, 0, ("a", "b", "c"), ("c", "a", "b"), 1 + i, ("not an order: A",) * i) for i in range(4)]


def written(path: Path, *entries: KeptJudgeOrdering | KeptQueryFailure) -> JudgeCallLog:
    log = JudgeCallLog(path, ABOUT)
    for entry in entries:
        log.append(entry)
    return log


def test_answers_are_read_back(tmp_path: Path) -> None:
    """What was appended is there again, failures too; nothing is written before the first."""
    path = tmp_path / "deep" / "q.jsonl"
    JudgeCallLog(path, ABOUT)
    assert not path.exists()
    entries = [*CALLS, KeptQueryFailure(4, "no answer\nin two lines")]
    written(path, *entries)
    assert JudgeCallLog(path, ABOUT).entries == entries
    assert path.read_text("utf-8") == format_judge_call_log(ABOUT, entries)


def test_a_log_in_memory() -> None:
    """Without a file it only remembers."""
    log = JudgeCallLog()
    log.append(CALLS[0])
    log.keep_only_entries([])
    log.append(CALLS[1])
    assert log.entries == [CALLS[1]]


@given(st.text(min_size=1), st.text())
def test_any_id_survives(tmp_path_factory: pytest.TempPathFactory, name: str, reason: str) -> None:
    """Ids and reasons may hold whatever text may, line ends of all alphabets among it."""
    path = tmp_path_factory.mktemp("log") / "q.jsonl"
    name = name.encode("utf-8", "replace").decode()
    entries = [
        KeptJudgeOrdering(0, 0, (name, "b"), ("b", name)),
        KeptQueryFailure(1, reason.encode("utf-8", "replace").decode()),
    ]
    written(path, *entries)
    assert JudgeCallLog(path, ABOUT).entries == entries


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_half_a_line_at_the_end_is_dropped_silently(tmp_path: Path, cut: int) -> None:
    """A kill in the middle of a write loses that answer and no other, and what is appended next is whole."""
    path = tmp_path / "q.jsonl"
    written(path, *CALLS)
    path.write_bytes(path.read_bytes()[:-cut])
    warnings: list[str] = []
    log = JudgeCallLog(path, ABOUT, warnings.append)
    assert log.entries == CALLS[:3]
    log.append(CALLS[3])
    assert JudgeCallLog(path, ABOUT).entries == CALLS
    assert not warnings


@pytest.mark.parametrize("broken", ["{}", "not JSON", '{"round": 1}', "[]", '{"round": "x", "failed": "y"}', "\x00"])
def test_damage_in_the_middle_is_told(tmp_path: Path, broken: str) -> None:
    """Everything from a line on that cannot be read is discarded, with a warning that says where."""
    path = tmp_path / "q.jsonl"
    written(path, *CALLS)
    lines = path.read_text("utf-8").splitlines()
    lines[2] = broken
    path.write_text("\n".join(lines) + "\n", "utf-8")
    warnings: list[str] = []
    log = JudgeCallLog(path, ABOUT, warnings.append)
    assert log.entries == CALLS[:1]
    (warning,) = warnings
    assert warning == f"{path}:3: this line cannot be read; it and 2 after it are discarded."
    assert JudgeCallLog(path, ABOUT, warnings.append).entries == CALLS[:1]
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 8}, "it was started with a different seed; 4 answers are discarded"),
        ({"engine": "bayes", "seed": 8}, "different engine and seed"),
        ({"more": 1}, "different more"),
    ],
)
def test_a_log_of_something_else_is_begun_anew(tmp_path: Path, change: dict[str, object], said: str) -> None:
    """Answers of another engine, seed, judge or pool are discarded, and the warning says what is other."""
    path = tmp_path / "q.jsonl"
    written(path, *CALLS)
    warnings: list[str] = []
    log = JudgeCallLog(path, ABOUT | change, warnings.append)
    assert not log.entries
    assert said in warnings[0]
    log.append(CALLS[2])
    assert JudgeCallLog(path, ABOUT | change).entries == [CALLS[2]]


def test_of_a_log_without_an_answer_nothing_is_said(tmp_path: Path) -> None:
    """A pool that has grown begins the logs of all questions anew: where nobody was asked, nothing is lost."""
    path = tmp_path / "q.jsonl"
    written(path, CALLS[0])
    path.write_text(path.read_text("utf-8").splitlines(keepends=True)[0], "utf-8")
    warnings: list[str] = []
    assert JudgeCallLog(path, ABOUT | {"pool": 2}, warnings.append).entries == []
    assert warnings == []


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe\x00", b"{", b'{"log": 1}\n', b"[]\n[]\n"])
def test_a_file_that_is_no_log(tmp_path: Path, content: bytes) -> None:
    """Whatever lies there, a new log is begun."""
    path = tmp_path / "q.jsonl"
    path.write_bytes(content)
    log = JudgeCallLog(path, ABOUT, lambda _: None)
    assert not log.entries
    log.append(CALLS[0])
    assert JudgeCallLog(path, ABOUT).entries == [CALLS[0]]
