"""A key that was read is in nothing that is written or shown, not even where a traceback is asked for."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from embassay.cli import main
from embassay.systems.remote.calls import ServerStatusError, classify_request_error, read_api_key, redact_keys

KEY = "0123456789-only-mine-abcdef"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert read_api_key("OpenAI", ["OPENAI_API_KEY"]) == KEY


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
@pytest.mark.parametrize("place", ["path", "bug"])
def test_tracebacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, debug: bool, place: str) -> None:
    """Of errors on purpose with --debug, and of mistakes of ours without it: both repeat what they were given."""
    err = io.StringIO()
    folder = tmp_path / KEY
    if place == "bug":
        monkeypatch.setattr("embassay.report.write_report", lambda *_, **__: {}[f"https://me:{KEY}@host/{KEY}"])
    monkeypatch.setattr(sys, "argv", ["embassay", *(["--debug"] if debug else []), "report", str(folder)])
    monkeypatch.setattr(sys, "stderr", err)
    with pytest.raises(SystemExit) as ended:
        main.run()
    said = err.getvalue()
    if place == "bug":
        assert (ended.value.code, "KeyError" in said, "Traceback" in said) == (1, True, True)
    elif debug:
        assert "DataError" in said
        assert "Traceback" in said
    if debug or place == "bug":
        assert KEY not in said
        assert "[key]" in said


@pytest.mark.parametrize("before", range(250, 330, 7))
def test_no_half_of_a_key(before: int) -> None:
    """What a server says is cut to a line; a key that lies across the cut is taken out before."""
    failure = classify_request_error(
        ServerStatusError(401, {}, {"error": {"message": "x" * before + f" {KEY} " + "y" * 600}})
    )
    assert failure is not None
    assert not any(KEY[:n] in failure.reason for n in range(8, len(KEY)))


def test_passwords_in_addresses() -> None:
    """Of databases and servers, in whatever a driver says of them."""
    said = redact_keys(f"connection to postgresql://me:{KEY[::-1]}@db.example/x failed; http://a:p@h/")
    assert KEY[::-1] not in said
    assert "db.example" in said
    assert ":p@" not in said
