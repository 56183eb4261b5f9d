"""The slow way to read lines: one by one, to name the first that is wrong.

It reads all that the fast way does, so what the fast way gave up on without a fault is read here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from embassay.data.cells import plain_number, shown
from embassay.data.judged_runs.layouts import KEYS, Kind, Layout
from embassay.errors import DataError

Entry = tuple[str, str, float]


def text_entries(path: Path, content: bytes, kind: Kind, layout: Layout) -> list[Entry]:
    """Every line as query, document and number; DataError for the first that is not."""
    lines = _lines(content)
    if layout.header:
        next(lines)
    entries = []
    for number, line in lines:
        fields = layout.split(line)
        if len(fields) != len(layout.fields):
            raise DataError(
                f"the line does not have the columns of {_of(kind, layout)}", path=path, line=number,
                expected=f"{len(layout.fields)} columns"
                + (" as in the header" if layout.header else f" ({kind.expected.partition(', or')[0]})"),
                found=f"{len(fields)}", mend=_mend(layout, len(fields)),
            )  # fmt: skip
        entries.append(entry(path, number, dict(zip(layout.fields, fields, strict=True)), kind))
    return _some(path, entries, layout)


def json_entries(path: Path, content: bytes, kind: Kind, names: Mapping[str, str]) -> list[Entry]:
    """Every object as query, document and number; DataError for the first line that is not one."""
    entries = []
    for number, line in _lines(content):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(
                "the line is not valid JSON", path=path, line=number, found=str(error),
                mend="JSONL holds one complete JSON object per line.",
            ) from error  # fmt: skip
        if not isinstance(value, dict):
            raise DataError(
                "the line is not a JSON object", path=path, line=number, found=shown(value),
                mend="Write one object per line (JSON Lines).",
            )  # fmt: skip
        entries.append(entry(path, number, {key: value.get(names[key]) for key in KEYS}, kind))
    return entries


def entry(path: Path, line: int, cells: Mapping[str, Any], kind: Kind) -> Entry:
    """The cells KEYS of a line as an entry; DataError for one that is not what it should be."""
    for key, what in (("query", "query"), ("doc", "document")):
        cell = cells[key]
        if isinstance(cell, bool) or not isinstance(cell, str | int) or not str(cell).strip():
            raise DataError(
                f"the {what} has no identifier", path=path, line=line, expected="a text or an integer",
                found=shown(cell), mend="Correct the line, or leave it out.",
            )  # fmt: skip
    return str(cells["query"]), str(cells["doc"]), _number(path, line, cells["value"], kind)


def _number(path: Path, line: int, cell: Any, kind: Kind) -> float:
    number = math.nan
    if not isinstance(cell, bool) and isinstance(cell, str | int | float):
        try:
            number = plain_number(cell)
        except (ValueError, OverflowError):
            number = math.nan
    if not math.isfinite(number):
        what = "score" if kind.name == "run" else "grade"
        raise DataError(
            f"the {what} is not a number", path=path, line=line, expected="a finite number",
            found=shown(cell), mend="Correct the line, or leave it out.",
        )  # fmt: skip
    return number


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield number, line.decode("utf-8")


def _of(kind: Kind, layout: Layout) -> str:
    return f"{layout.title}" if layout.title else kind.name


def _mend(layout: Layout, found: int) -> str:
    if found < len(layout.fields):
        return "Check that the file was written completely."
    if layout.separator == " ":
        return "Identifiers must not hold blanks; separate the columns by tabs if they do."
    return "Put no separator inside a field."


def _some(path: Path, entries: list[Entry], layout: Layout) -> list[Entry]:
    if not entries:
        raise DataError(
            "there is no line below the header" if layout.header else "the file has no lines", path=path,
            mend="Check that the file was written completely.",
        )  # fmt: skip
    return entries
