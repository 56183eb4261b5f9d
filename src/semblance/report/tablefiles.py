"""The tables that a run wrote, as they are: rounded as in their Markdown, exact as in their CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True)
class FileTable:
    """A table of a run: `rows` are a label and cells, a cell its text and its exact value (empty where it is text)."""

    id: str
    title: str
    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    groups: tuple[str, ...] = ()


def file_tables(run: Path, names: str = "*") -> tuple[FileTable, ...]:
    """The tables whose file names match, those with a number first, in its order."""
    paths = sorted((run / "tables").glob(f"{names}.md"), key=_order)
    made = (_table(path) for path in paths)
    return tuple(table for table in made if table is not None and table.rows)


def _order(path: Path) -> tuple[bool, int, str]:
    found = _NUMBER.search(path.stem)
    return found is None, int(found[1]) if found else 0, path.stem


def _table(path: Path) -> FileTable | None:
    lines = path.read_text("utf-8").splitlines()
    title = next((line.strip("* ") for line in lines if line.startswith("**")), path.stem)
    rows = [_cells(line) for line in lines if line.startswith("|")]
    if len(rows) < 3:
        return None
    heading, *columns = rows[0]
    exact = _exact(path.with_suffix(".csv"), len(columns))
    body = []
    for label, *cells in rows[2:]:
        values = exact.get(label, ())
        texts = [cell.strip("*") for cell in cells]
        body.append((label.strip("*"), tuple(zip(texts, _padded(values, len(texts)), strict=True))))
    return FileTable(path.stem.replace("_", "-"), title, heading, tuple(columns), tuple(body))


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def _exact(path: Path, columns: int) -> dict[str, tuple[str, ...]]:
    """The numbers of a row of the CSV by its label; none for a label that occurs twice."""
    if not path.exists():
        return {}
    found: dict[str, tuple[str, ...]] = {}
    twice = set()
    with path.open(encoding="utf-8", newline="") as stream:
        for row in list(csv.reader(stream))[1:]:
            if len(row) <= columns:
                continue
            label = row[-columns - 1]
            if label in found:
                twice.add(label)
            found[label] = tuple(cell if _is_number(cell) else "" for cell in row[-columns:])
    return {label: values for label, values in found.items() if label not in twice}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _padded(values: Sequence[str], n: int) -> Sequence[str]:
    return values if len(values) == n else [""] * n
