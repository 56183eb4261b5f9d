"""What a watch says: on the terminal, and as the timeline of a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from embassay.document.blocks import BulletList, CautionNotes, Table, VerdictText, convert_sentence_to_text
from embassay.protocols.watch.check import check_fingerprint_of_open_respondent
from embassay.protocols.watch.history import FingerprintCheck, append_watch_check
from embassay.protocols.watch.options import FingerprintCheckRequest
from embassay.protocols.watch.own import OwnPassagesAndQuestions
from embassay.report.watch.checks import watch_check_view
from embassay.report.watch.timeline import find_check_timelines, iterate_watch_timeline_blocks
from watched_systems import made, made_texts, recorded

DAYS = 5


@pytest.fixture(scope="module")
def checks() -> list[FingerprintCheck]:
    """Three nights that are well, and two after dimensions were cut."""
    own: OwnPassagesAndQuestions = made_texts()
    fingerprint = recorded(own)
    nights = []
    for day in range(1, DAYS + 1):
        system = made() if day < 4 else made(step=lambda vectors, texts, role: vectors[:, :32])
        check = check_fingerprint_of_open_respondent(fingerprint, system, FingerprintCheckRequest(), nights)
        nights.append(replace(check, at=f"2026-03-0{day}T01:00:00Z"))
    return nights


def test_a_check_shows_what_it_found(checks: list[FingerprintCheck]) -> None:
    """A change has its kind, the lists, the groups; no change has none of these tables."""
    calm, changed = ([*watch_check_view(check)] for check in (checks[0], checks[-1]))
    assert [block.id for block in changed if isinstance(block, Table)] == ["watch-lists"]
    assert not [block for block in calm if isinstance(block, Table)]
    verdict = next(block for block in changed if isinstance(block, VerdictText))
    assert "dimensions" in " ".join(convert_sentence_to_text(sentence) for sentence in verdict.lede)


def test_a_timeline_says_what_changed_when(tmp_path: Path, checks: list[FingerprintCheck]) -> None:
    """Files beside a run and in the folder above are found once; the turn has its day; all nights are rows."""
    for check in checks:
        append_watch_check(tmp_path / "made.checks.jsonl", check)
    timelines = find_check_timelines([tmp_path / "run", tmp_path])
    assert [timeline.system for timeline in timelines] == ["made"]
    blocks = [*iterate_watch_timeline_blocks(timelines)]
    turns = [said for block in blocks if isinstance(block, BulletList) for said in block.items]
    assert turns == ["2026-03-04T01:00:00Z: changed (dimensions)."]
    table = next(block for block in blocks if isinstance(block, Table) and block.id == "watch-checks-1")
    assert [line.entries[0].text for line in table.lines] == ["changed", "changed", "same", "same", "same"]


def test_without_checks_there_is_no_page(tmp_path: Path) -> None:
    """Nothing is said of what nobody watches."""
    assert [*iterate_watch_timeline_blocks(find_check_timelines([tmp_path]))] == []


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """In place of its checks."""
    (tmp_path / "x.checks.jsonl").write_text("hello\n")
    blocks = [*iterate_watch_timeline_blocks(find_check_timelines([tmp_path]))]
    assert any(isinstance(block, CautionNotes) for block in blocks)
