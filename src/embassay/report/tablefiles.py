"""The tables that a run wrote, as they are: rounded as in their Markdown, exact as in their CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from embassay.protocols import numbers

_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True)
class FileTable:
    """A table of a run: `rows` are a label and cells, a cell its text and its exact value (empty where it is text)."""

    id: str
    title: str
    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    note: str = ""


def file_tables(run: Path, names: str = "*") -> tuple[FileTable, ...]:
    """The tables whose file names match, those with a number first, in its order."""
    paths = sorted((run / "tables").glob(f"{names}.md"), key=_order)
    made = (_table(path) for path in paths)
    return tuple(table for table in made if table is not None and table.rows)


def _order(path: Path) -> tuple[bool, int, str]:
    found = _NUMBER.search(path.stem)
    return found is None, int(found[1]) if found else 0, path.stem


def _table(path: Path) -> FileTable | None:
    lines = path.read_text("utf-8", errors="replace").splitlines()
    title = next((line.strip("* ") for line in lines if line.startswith("**")), path.stem)
    rows = [_cells(line) for line in lines if line.startswith("|")]
    if len(rows) < 3 or not all(rows):
        return None
    heading, *columns = rows[0]
    exact = _exact(path.with_suffix(".csv"), rows[0])
    body = []
    for place, (label, *cells) in enumerate(rows[2:]):
        values = exact[place] if place < len(exact) and len(exact[place]) == len(cells) else [""] * len(cells)
        body.append((label.strip("*"), tuple(zip((_plain(cell) for cell in cells), values, strict=True))))
    last = max(i for i, line in enumerate(lines) if line.startswith("|"))
    note = " ".join(line for line in lines[last + 1 :] if line)
    return FileTable(path.stem.replace("_", "-"), title, heading, tuple(columns), tuple(body), note)


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def _plain(cell: str) -> str:
    """A cell without Markdown's marks, its true minus sign put in."""
    text = cell.replace("<br>", "\n").strip("*")
    return re.sub(r"(?<![\w.])-(?=\d)", numbers.MINUS, text)


def _exact(path: Path, heads: Sequence[str]) -> list[list[str]]:
    """The numbers of every row but those of its label, where the CSV has the same columns; else nothing."""
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            rows = list(csv.reader(stream))
    except csv.Error:
        return []
    if not rows or [name.casefold() for name in rows[0]] != [name.casefold() for name in heads]:
        return []
    return [[cell if _is_number(cell) else "" for cell in row[1:]] for row in rows[1:]]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
