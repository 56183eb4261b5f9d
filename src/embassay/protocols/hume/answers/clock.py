"""The server's clock, as the store writes it."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> str:
    """ISO 8601 in UTC with milliseconds: it sorts as text.

    >>> len(now())
    24
    """
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds() -> float:
    """Seconds since 1970, for leases that outlive a process."""
    return time.time()
