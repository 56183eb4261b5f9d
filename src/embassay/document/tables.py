"""Tables: named rows and columns of values with intervals, or words; and those that a run wrote, as they are."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from embassay.document.blocks import Block, Column, Command, Details, Entry, Line, Table, Text
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import Unit
from embassay.records import Result

STEPS = 5
"""Of a heat."""


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


def beside(text: str, interval: str) -> str:
    """A value with its interval in brackets, where it has one."""
    return f"{text} ({interval})" if interval else text


def step_of(share: float) -> int:
    """The step of a heat, 1 to 5, of a share of the darkest."""
    return min(STEPS, max(1, 1 + int(share * STEPS)))


def diverging_step(off: float) -> int:
    """The step of a heat around what should be, -5 to 5: below 0 on the wrong side, 0 where it is as it should be."""
    if abs(off) < 0.005:
        return 0
    return min(STEPS, 1 + int(abs(off) * STEPS)) * (1 if off > 0 else -1)


_NUMBER = re.compile(r"(\d+)")


def file_tables(run: Path, names: str = "*") -> tuple[Table, ...]:
    """The tables of a run whose file names match, as it wrote them, those with a number first, in its order; nothing
    where none does."""
    paths = sorted((run / "tables").glob(f"{names}.md"), key=_order)
    made = (_table(path) for path in paths)
    return tuple(table for table in made if table is not None and table.lines)


def _order(path: Path) -> tuple[bool, int, str]:
    found = _NUMBER.search(path.stem)
    return found is None, int(found[1]) if found else 0, path.stem


def _table(path: Path) -> Table | None:
    lines = path.read_text("utf-8", errors="replace").splitlines()
    title = next((line.strip("* ") for line in lines if line.startswith("**")), path.stem)
    rows = [_cells(line) for line in lines if line.startswith("|")]
    if len(rows) < 3 or not all(rows):
        return None
    (heading, *columns), (_, *rules) = rows[:2]
    exact = _exact(path.with_suffix(".csv"), rows[0])
    body = []
    for place, (label, *cells) in enumerate(rows[2:]):
        values = exact[place] if place < len(exact) and len(exact[place]) == len(cells) else [""] * len(cells)
        entries = tuple(Entry(_plain(cell), exact=value) for cell, value in zip(cells, values, strict=True))
        body.append(Line(label.strip("*"), entries))
    last = max(i for i, line in enumerate(lines) if line.startswith("|"))
    note = " ".join(line for line in lines[last + 1 :] if line)
    return Table(
        path.stem.replace("_", "-"), title, heading,
        tuple(Column(name, style="" if rules[i : i + 1] == ["---"] else "num") for i, name in enumerate(columns)),
        tuple(body), "paper filed", 3, is_titled=False, is_sortable=False, has_latex=True, export="copy", note=note,
    )  # fmt: skip


def folded(table: Table, most: int = 300) -> Block:
    """A table of a run one click away; one of more than `most` lines is only named."""
    if len(table.lines) <= most:
        return Details(table.title, (table,))
    file = Command(f"tables/{table.id.replace('-', '_')}.csv")
    return Text((f"{table.title}: {len(table.lines)} rows, in ", file, "."))


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
