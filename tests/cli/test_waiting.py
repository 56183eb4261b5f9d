"""Progress of work that may be over at once: nothing for two seconds, then lines now and then."""

from __future__ import annotations

import threading

import pytest

from embassay.cli import progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in seconds, to be set by the test."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_short_work_says_nothing(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """What is over within two seconds leaves no trace."""
    with progress.StderrProgressNotice() as say:
        clock[0] += 1.9
        say("reading x", 1000, 0)
    assert capsys.readouterr().err == ""


class Alarm(threading.Timer):
    """A timer that rings when the test says so."""

    def start(self) -> None:
        self.daemon = True

    def ring(self) -> None:
        self.function()


def test_a_silent_step_is_shown_too(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who waits for a step that cannot say how far it is sees which one it is, once; not when it is over."""
    monkeypatch.setattr(progress, "Timer", Alarm)
    with progress.StderrProgressNotice() as say:
        say("reading", 0, 0)
        clock[0] += say._late.interval
        say._late.ring()
        say._late.ring()
    assert capsys.readouterr().err == "reading\n"
    with progress.StderrProgressNotice() as say:
        say("reading", 0, 0)
    clock[0] += say._late.interval
    say._late.ring()
    assert capsys.readouterr().err == ""


def test_long_work_tells_what_is_left(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """After two seconds a line, then one in thirty seconds, with the time left of the present step."""
    with progress.StderrProgressNotice() as say:
        say("reading x", 0, 0)
        clock[0] += 3
        say("reading x", 5000, 0)
        say("hashing texts", 0, 100)
        clock[0] += 20
        say("hashing texts", 50, 100)
        clock[0] += 20
        say("hashing texts", 80, 100)
        clock[0] += 31
        say("hashing texts", 100, 100)
    assert capsys.readouterr().err.splitlines() == [
        "reading x: 5,000 rows",
        "hashing texts: 80 of 100  10 s left",
        "hashing texts: 100 of 100",
    ]


def test_a_bar_on_a_terminal(
    clock: list[float], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal there is a bar, and it is taken away at the end."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with progress.StderrProgressNotice() as say:
        clock[0] += 3
        say("hashing texts", 10, 100)
        assert say._bar is not None
    assert say._bar.finished is False
    assert not say._bar.live.is_started
