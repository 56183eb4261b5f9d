"""What the terminal can show."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Screen:
    """Width in columns, and whether more than ASCII can be printed."""

    width: int
    unicode: bool


def screen() -> Screen:
    """The screen behind stdout; 80 columns where there is none."""
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return Screen(shutil.get_terminal_size((80, 24)).columns, encoding == "utf8")
