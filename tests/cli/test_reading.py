"""What is read for long is said."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from types import ModuleType

import pytest

from embassay.cli import terminal
from embassay.limits import read_bounded_lines


def test_a_module_that_is_being_imported_is_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is known by its name before its functions are there; on a busy machine that lasts."""
    looks, ended = iter((False, False, True)), threading.Event()
    monkeypatch.setattr(ended, "wait", lambda _: next(looks))
    monkeypatch.setitem(terminal.sys.modules, "embassay.limits", ModuleType("embassay.limits"))
    terminal._report_slow_reading(ended)


def test_a_long_reading_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """With how far it is, once in a while; what is over in a moment is not."""
    said, seen = threading.Event(), []

    class Screen:
        def write(self, text: str) -> None:
            seen.append(text)
            said.set()

        def flush(self) -> None:
            """Nothing is held back."""

    monkeypatch.setattr(terminal.sys, "stderr", Screen())
    monkeypatch.setattr(terminal, "_LOOK", 0.001)
    with terminal.announce_slow_file_reading():
        list(read_bounded_lines(io.BytesIO(b"a\n"), Path("short.csv")))
        monkeypatch.setattr(terminal, "MOMENT", 0.0)
        rows = read_bounded_lines(io.BytesIO(b"a\n" * 9), Path("long.csv"))
        next(rows)
        assert said.wait(60)
        rows.close()
    assert "".join(seen).startswith("reading long.csv, line 1 ...")
