"""The last check of a system stands on the boards, and a new check shows without a new run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from embassay.protocols.watch.check import check_fingerprint_of_open_respondent
from embassay.protocols.watch.history import FingerprintCheck, append_watch_check
from embassay.protocols.watch.options import FingerprintCheckRequest
from embassay.web.leaderboard.checks import describe_last_check_by_system
from embassay.web.leaderboard.library import RunLibrary
from embassay.web.leaderboard.page.rows import system_facts
from leaderboard_runs import write_sage
from watched_systems import made, recorded


@pytest.fixture(scope="module")
def check() -> FingerprintCheck:
    """A first check of minilm, on a day of its own: all well."""
    return replace(
        check_fingerprint_of_open_respondent(recorded(), made(), FingerprintCheckRequest()),
        system="minilm",
        at="2026-03-01T01:00:00Z",
    )


def test_the_newest_check_counts(tmp_path: Path, check: FingerprintCheck) -> None:
    """Of two files about one system, in the folder and in one below it; a file of something else says nothing."""
    append_watch_check(tmp_path / "a.checks.jsonl", check)
    append_watch_check(tmp_path / "b" / "b.checks.jsonl", replace(check, at="2026-03-02T01:00:00Z", verdict="changed"))
    (tmp_path / "c.checks.jsonl").write_text("hello\n")
    assert describe_last_check_by_system(tmp_path) == {"minilm": "changed, 2026-03-02"}


def test_a_board_shows_the_last_check(tmp_path: Path, check: FingerprintCheck) -> None:
    """It is a fact of the system's row; the next check replaces it at the next look."""
    write_sage(tmp_path / "one", {"minilm": 0.7, "bm25": 0.5})
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    assert set(_shown(library).values()) == {""}
    for day, verdict in ((1, "same"), (2, "noisier")):
        append_watch_check(tmp_path / "m.checks.jsonl", replace(check, at=f"2026-03-0{day}T01:00:00Z", verdict=verdict))
        assert library.refresh_changed_runs()
        assert _shown(library) == {"minilm": f"{verdict}, 2026-03-0{day}", "bm25": ""}


def _shown(library: RunLibrary) -> dict[str, str]:
    board = library.board(library.wait_for_snapshot().boards.boards[0].id)
    assert board is not None
    rows = {row.name: row.facts for row in board.board.systems}
    for facts in rows.values():
        assert (("Last check", facts.last_check) in system_facts(facts)) is bool(facts.last_check)
    return {name: rows[name].last_check for name in ("minilm", "bm25")}
