"""Cells that a spreadsheet shows, and never computes: names and texts are strangers', and a formula may call out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def inert(cell: Any) -> Any:
    """The cell, after an apostrophe where it is a text that a spreadsheet would take for a formula; `meant` takes it
    off.

    Numbers are no formulas, written as texts or not; nor is a sign alone. Source: OWASP, CSV Injection.

    >>> inert('=HYPERLINK("http://x")'), inert("-0.5"), inert("-"), inert(None)
    ('\\'=HYPERLINK("http://x")', '-0.5', '-', None)
    """
    return f"'{cell}" if isinstance(cell, str) and _is_formula(cell.lstrip("'")) else cell


def meant(text: str) -> str:
    """What `inert` was given.

    >>> meant("'=1+1"), meant(inert("'=1+1")), meant("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return text[1:] if text.startswith("'") and _is_formula(text.lstrip("'")) else text


def csv_row(cells: Iterable[Any]) -> str:
    """A line of CSV with its end, a line feed. Python's writer leaves a carriage return without quotes where lines do
    not end in one, and then no reader finds the row again.

    >>> csv_row(["a\\rb", 0.5, None])
    '"a\\rb",0.5,\\n'
    """
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(list(cells))
    return buffer.getvalue().removesuffix("\r\n") + "\n"


def _is_formula(text: str) -> bool:
    if len(text) < 2 or not text.startswith(_FORMULA):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False
