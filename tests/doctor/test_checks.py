"""What comes along, tried."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from embassay.cli.main import app
from embassay.doctor import DoctorCheck, run_installation_checks


def _by_name(cache: Path) -> dict[str, DoctorCheck]:
    return {check.name: check for check in run_installation_checks(cache)}


def test_what_comes_along_works(tmp_path: Path) -> None:
    """Sample, bundled encoder and cache; the probe in the cache is gone again."""
    found = _by_name(tmp_path / "cache")
    assert [found[name].state for name in ("sample data", "wordllama", "cache")] == ["ok"] * 3
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_broken(tmp_path: Path) -> None:
    """A file in the place of the folder, which not even root can write into."""
    (tmp_path / "cache").write_text("a file")
    assert _by_name(tmp_path / "cache")["cache"].state == "broken"


def test_a_vocabulary_that_is_not_here_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, with the mend; the doctor downloads nothing."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "empty"))
    check = _by_name(tmp_path)["cl100k"]
    assert check.state == "absent"
    assert "TIKTOKEN_CACHE_DIR" in check.mend


def test_keys_are_named_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable's name only, on the terminal and as JSON."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret-secret")
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path))
    for arguments in (["doctor"], ["doctor", "--json"]):
        said = CliRunner().invoke(app, arguments).output
        assert "OPENAI_API_KEY" in said
        assert "secret" not in said


def test_a_broken_encoder_is_an_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 3 and the first line of the reason; the other checks go on."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError("weights are damaged\nand more")

    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path))
    monkeypatch.setattr("embassay.systems.open_system", fail)
    done = CliRunner().invoke(app, ["doctor", "--json"])
    assert done.exit_code == 3
    checks = {one["name"]: one for one in json.loads(done.output)["checks"]}
    assert checks["wordllama"]["state"] == "broken"
    assert checks["wordllama"]["told"] == "ValueError: weights are damaged"
    assert checks["sample data"]["state"] == "ok"


def test_the_table_fits_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns; every extra has a row."""
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0, done.output
    lines = [line for line in done.output.splitlines() if not line.startswith("Cache")]
    assert max(map(len, lines)) <= 80
    assert f"{os.cpu_count()} core" in done.output
