"""What memory this process and its children hold, and the most that they have held while something was done."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class PeakMemory:
    """Peak resident memory from its making to `bytes`; where the system cannot begin anew, since the process began."""

    def __init__(self) -> None:
        try:
            # Linux: 5 sets the peak back to what is held now.
            _CLEAR.write_text("5")
            self._begun = True
        except OSError:
            self._begun = False
        self._most = 0

    @property
    def bytes(self) -> int | None:
        """So far; None where the system does not tell."""
        # Some sandboxes tell what is held now in the place of the peak.
        self._most = max(self._most, (_since_begun() if self._begun else None) or _ever() or 0)
        return self._most or None


def _since_begun() -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    found = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return next((int(kib) * 1024 for kib in found), None)


def _ever() -> int | None:
    try:
        import resource
    except ImportError:  # not POSIX
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident(process: int | None = None) -> int | None:
    """The bytes of memory that a process (by default this one) holds now; None where the system does not tell, or the
    process is gone."""
    try:
        lines = Path(f"/proc/{process or 'self'}/status").read_text().splitlines()
    except OSError:
        return None
    found = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return next((int(kib) * 1024 for kib in found), None)


class Watch:
    """Looks now and then at what this process and those that it has started hold together; `most` is the most so far.
    Pages that they share count for each of them. `beyond` is called once, in a thread of its own, when they hold more
    than `limit` bytes."""

    def __init__(
        self, period: float = 0.2, limit: int | None = None, beyond: Callable[[], None] | None = None
    ) -> None:
        self.most = 0
        self._period, self._over = period, Event()
        self._limit, self._beyond = limit, beyond
        self._thread = Thread(target=self._go_on, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def look(self) -> None:
        """Look once."""
        below = sum(resident(process) or 0 for process in _children(Path("/proc/self")))
        # The system remembers this process's peak, which may lie between two looks.
        self.most = max(
            self.most, (resident() or 0) + below, (_since_begun() or _ever() or 0) if not below else 0
        )

    def _go_on(self) -> None:
        while True:
            self.look()
            if self._beyond is not None and self._limit is not None and self.most > self._limit:
                self._beyond()
                self._beyond = None
            if self._over.wait(self._period):
                return


def _children(process: Path) -> list[int]:
    """The ids of the processes below one."""
    found: list[int] = []
    try:
        for thread in (process / "task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    except OSError:
        return found
    return found + [one for child in found for one in _children(Path("/proc", str(child)))]
