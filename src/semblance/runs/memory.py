"""The most memory that this process has held while it did something."""

from __future__ import annotations

import sys
from pathlib import Path

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
