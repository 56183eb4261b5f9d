"""What is being read, said on stderr where that takes longer than a moment: no command may seem to hang."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

MOMENT = 1.5
"""Seconds of one reading after which it is said."""
PERIOD = 15.0
"""Seconds between two lines."""
_LOOK = 0.25


@contextmanager
def said_readings() -> Iterator[None]:
    """Say within the block what this process reads for longer than a moment, and how far it is."""
    ended = threading.Event()
    threading.Thread(target=_watch, args=(ended,), name="embassay-reading", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _watch(ended: threading.Event) -> None:
    seen, since, last = None, 0.0, -PERIOD
    while not ended.wait(_LOOK):
        # Nothing is imported for it: before the module of limits is there, nothing is read.
        limits = sys.modules.get("embassay.limits")
        progress = limits.being_read() if limits is not None else None
        now = time.monotonic()
        if progress is not seen:
            seen, since = progress, now
        if progress is not None and now - since >= MOMENT and now - last >= PERIOD:
            last = now
            print(f"{progress} ...", file=sys.stderr, flush=True)
