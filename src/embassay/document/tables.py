"""Tables: named rows and columns of values with intervals, or words; and those that a run wrote, as they are."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from embassay.contracts import Kind
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import Unit
from embassay.records import Result

STEPS = 5
"""Of a heat."""


@dataclass(frozen=True)
class Entry:
    """A cell: its text, what stands under it, its value for sorting and CSV, its step of a heat, why it is missing."""

    text: str
    small: str = ""
    exact: str = ""
    step: int = 0
    why: str = ""
    bold: bool = False


@dataclass(frozen=True)
class Line:
    """A row by its label; `kind` gives it a sign."""

    label: str
    entries: tuple[Entry, ...]
    kind: Kind | None = None


@dataclass(frozen=True)
class Matrix:
    """The table; `heading` is what its rows are. With `is_heat` cells have a ground by their step; rows that are
    `is_sorted` by what they are cannot be sorted otherwise."""

    id: str
    title: str
    heading: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    is_heat: bool = False
    digits: int = 2
    is_sorted: bool = False

    def is_number(self, place: int) -> bool:
        """Whether a column has values, or reasons for missing ones: what stands in it is then on the right."""
        return any(line.entries[place].exact or line.entries[place].why for line in self.lines)


def entry(
    row: Result | None,
    unit: Unit,
    *,
    n: bool = False,
    heat: float = 0.0,
    bold: bool = False,
    signed: bool = False,
) -> Entry:
    """A result as a cell: its value over its interval, or with `n` over how many items stand behind it; its reason
    where it has no value. `heat` is the value of the darkest step; a `signed` value is a change."""
    if row is None:
        return Entry("n/a", why="not part of the run")
    if row.value is None:
        return Entry(
            "n/a" if row.n == 0 or not n else f"n = {row.n}", why=row.reason or "no value was recorded"
        )
    known = row.ci_low is not None and row.ci_high is not None
    interval = unit.interval(row.ci_low or 0.0, row.ci_high or 0.0) if known else "no interval"
    words = [row.value, *((row.ci_low, row.ci_high) if known else ())]
    return Entry(
        unit.change(row.value) if signed else unit.text(row.value),
        f"n = {numbers.count(row.n)}" if n else interval,
        ",".join(f"{(word or 0.0) * unit.factor:.6g}" for word in words),
        step_of(row.value / heat) if heat else 0,
        bold=bold,
    )


def step_of(share: float) -> int:
    """The step of a heat, 1 to 5, of a share of the darkest."""
    return min(STEPS, max(1, 1 + int(share * STEPS)))


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
