"""A page of the documentation that a script makes: printed, or written with --write."""

from __future__ import annotations

import sys
from pathlib import Path


def put(page: str, path: Path) -> None:
    """Print the page, or write it where it belongs."""
    if "--write" in sys.argv:
        path.write_text(page, encoding="utf-8")
    else:
        print(page)
