"""Work of unknown length: after two seconds a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from threading import RLock, Timer
from typing import Any

from embassay.cli.progress import PERIOD, in_words
from embassay.cli.terminal import progress_bars

QUIET = 2.0
"""Seconds in which nothing is shown: most work is over by then."""


class Waiting:
    """Says on stderr what is going on. Used as a context, and called with (doing, done, total); total 0 is unknown.

    The time left is that of the present step.
    """

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._doing, self._since = "", self._began
        self._bar: Any = None
        self._lock = RLock()
        self._late = Timer(QUIET, self._once)
        self._late.daemon = True

    def __enter__(self) -> Waiting:
        self._late.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._late.cancel()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()

    def __call__(self, doing: str, done: int, total: int) -> None:
        with self._lock:
            self._hear(doing, done, total)

    def _once(self) -> None:
        """A step that says nothing for long is shown all the same."""
        with self._lock:
            shown = self._bar is not None or self._last > self._began
            if self._doing and not shown and not self._late.finished.is_set():
                self._hear(self._doing, 0, 0)

    def _hear(self, doing: str, done: int, total: int) -> None:
        now = time.monotonic()
        if doing != self._doing:
            self._doing, self._since = doing, now
        if now - self._began < QUIET:
            return
        state = self._state(done, total, now - self._since)
        if sys.stderr.isatty():
            self._show(doing, done, total, state)
        elif now - self._last >= (PERIOD if self._last > self._began else QUIET):
            self._last = now
            print(f"{doing}: {state}" if state else doing, file=sys.stderr, flush=True)

    def _show(self, doing: str, done: int, total: int, state: str) -> None:
        if self._bar is None:
            self._bar = progress_bars()
            self._task = self._bar.add_task(doing, total=total or None, state=state)
            self._bar.start()
        self._bar.update(self._task, description=doing, completed=done, total=total or None, state=state)

    @staticmethod
    def _state(done: int, total: int, elapsed: float) -> str:
        if not total:
            return f"{done:,} rows" if done else ""
        left = f"  {in_words(elapsed * (total - done) / done)} left" if 0 < done < total else ""
        return f"{done:,} of {total:,}{left}"
