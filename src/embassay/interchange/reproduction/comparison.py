"""A paper's tables beside those of runs, row by row: what is printed, what is here, and the difference."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.interchange.reproduction.figures import Figure, Printed, figure, printed
from embassay.interchange.reproduction.layouts import LAYOUTS, Layout, Row
from embassay.limits import read_bounded

REFERENCE = "reference"
"""The kind of rows that know nothing: `constant` and `random`; no paper has them."""


@dataclass(frozen=True)
class Line:
    """A line of a run in a table of a paper: the paper's `row`, or none, whose line it is, and its values by column."""

    row: str
    label: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class Beside:
    """A table of `paper` with the lines of runs: `columns` and `rows` as printed, `printed` by row and column."""

    paper: str
    layout: Layout
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    printed: Mapping[tuple[str, str], str]
    lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        """The table and what it is of."""
        return f"{self.paper} {self.layout.table}: {self.layout.title}"

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Every printed figure that a line has a value for, with whose line it is."""
        for line in self.lines:
            for column, value in line.values.items():
                if text := self.printed.get((line.row, column)):
                    yield line.label, figure(self.paper, self.layout.table, line.row, column, text, value)

    def said(self) -> str:
        """How many figures have one here, and how far off these are."""
        found = [one for _, one in self.figures()]
        cells = {(one.row, one.column) for one in found}
        told = f"{len(cells)} of {len(self.printed)} printed figures have one here"
        if not found:
            return f"{told}."
        same = sum(one.verdict == "exact" for one in found)
        told = f"{told}; {same} of {len(found)} comparisons are the same as printed."
        far = max(found, key=lambda one: abs(one.difference) / one.unit)
        return told if same == len(found) else f"{told} Furthest: {far.off} ({far.row}, {far.column})."

    def body(self) -> Iterator[list[str]]:
        """Rows to print: the paper's, and below each the lines that are of it with their differences; then the
        others. A column that a line has no value for is empty."""
        known = {one.row: [line for line in self.lines if line.row == one.row] for one in self.lines}
        for row in self.rows:
            yield [row, *(self.printed.get((row, column), "") for column in self.columns)]
            for line in known.get(row, ()):
                yield [f"  here: {line.label}", *(self._cell(line, column) for column in self.columns)]
                yield ["  difference", *(self._cell(line, column, off=True) for column in self.columns)]
        for line in known.get("", ()):
            yield [f"here: {line.label}", *(self._cell(line, column) for column in self.columns)]

    def _cell(self, line: Line, column: str, *, off: bool = False) -> str:
        """A value of a line with the digits that are printed there, or in its column; or what it is off."""
        value, text = line.values.get(column), self.printed.get((line.row, column), "")
        if value is None or (off and not text):
            return ""
        like = text or next(one for (_, name), one in self.printed.items() if name == column)
        made = figure(self.paper, self.layout.table, line.row, column, like, value)
        return made.off if off else made.rounded

    def markdown(self) -> str:
        """As a table of Markdown with its title and what was found."""
        rows = [["", *self.columns], ["---", *["---:"] * len(self.columns)], *self.body()]
        lines = [
            f"| {' | '.join(cell.strip().replace('|', chr(92) + '|') for cell in row)} |" for row in rows
        ]
        return "\n".join([f"**{self.title}**", "", *lines, "", self.said()])

    def as_dict(self) -> dict[str, Any]:
        """For `--json`: every figure with a line, and the lines that the paper has no row for."""
        compared = [
            {"row": one.row, "column": one.column, "here": label, "published": one.published, "ours": float(one.ours),
             "difference": one.difference}
            for label, one in self.figures()
        ]  # fmt: skip
        others = [{"here": one.label, **one.values} for one in self.lines if not one.row]
        return {"table": self.layout.table, "title": self.layout.title, "printed": len(self.printed),
                "compared": compared, "others": others}  # fmt: skip


def compared(paper: str, runs: Sequence[Path]) -> list[Beside]:
    """The tables of a paper that the runs have a part of, in the paper's order, with the lines of all runs.

    UsageError for a folder that is no run, and for runs that have nothing of the paper.
    """
    of_runs = [(run, _checked(run)) for run in runs]
    found = [one for layout in LAYOUTS[paper] if (one := _beside(paper, layout, of_runs)) is not None]
    if not found:
        told = ", ".join(f"{run} ({manifest.get('protocol', 'no protocol')})" for run, manifest in of_runs)
        raise UsageError(
            f"No table of {paper} can be made of {told}.",
            mend=f"`embassay reproduce {paper.lower()}` lists the commands that make them.",
        )
    return found


def suites_of(runs: Iterable[Path]) -> list[str]:
    """What the runs have of the suites that they name: `14 of 15 sets of beir.`"""
    return [str(one["said"]) for run in runs for one in _checked(run).get("suites", ())]


def _checked(run: Path) -> Mapping[str, Any]:
    path = run / "manifest.json"
    if not path.is_file():
        raise UsageError(
            f"{run} is not the folder of a run: it has no manifest.json.", mend="Name one that --out made."
        )
    try:
        content = json.loads(read_bounded(path))
    except ValueError as error:
        raise DataError(
            f"is not JSON: {error}", path=path, mend="Take the run from its folder as it was."
        ) from error
    if not isinstance(content, dict):
        raise DataError("is no object", path=path, mend="Take the run from its folder as it was.")
    return content


def _beside(paper: str, layout: Layout, runs: Sequence[tuple[Path, Mapping[str, Any]]]) -> Beside | None:
    figures = [one for one in printed(paper) if one.table == layout.table]
    columns = {one.column.lower(): one.column for one in figures}
    names = {one.row.lower(): one.row for one in figures}
    lines: dict[tuple[str, str], Line] = {}
    for run, _ in runs:
        for path in sorted((run / "tables").glob(f"{layout.file}.csv")):
            for line in _lines(path, layout, columns, names):
                place = line.row, line.label if len(runs) == 1 else f"{line.label}, {run.name}"
                lines.setdefault(place, Line(place[0], place[1], line.values))
    if not any(one.row or layout.others for one in lines.values()):
        return None
    return Beside(
        paper, layout, tuple(columns.values()), tuple(names.values()), _cells(figures), tuple(lines.values())
    )


def _cells(figures: Iterable[Printed]) -> Mapping[tuple[str, str], str]:
    return {(one.row, one.column): one.published for one in figures}


def _lines(
    path: Path, layout: Layout, columns: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[Line]:
    """The lines of a table that belong to the paper's, and with `others` those that do not."""
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if row.get("kind") == REFERENCE:
                continue
            where = _of(row, layout, path)
            name = names.get(where.lower(), "")
            if name or (where and layout.others):
                counted = f" ({row['dataset']})" if row.get("dataset", "").endswith(" datasets") else ""
                own = row[layout.label] if name or counted else where
                yield Line(name, f"{own}{counted}", _values(row, layout, columns))


def _of(row: Row, layout: Layout, path: Path) -> str:
    """The paper's row of a line; DataError where the table lacks a column that says it."""
    try:
        row[layout.label]
        return layout.row(row)
    except KeyError as error:
        raise DataError(
            f"has no column {error.args[0]!r}", path=path, mend="The run is of another version: do it again."
        ) from error


def _values(row: Row, layout: Layout, columns: Mapping[str, str]) -> dict[str, float]:
    found = {columns.get(layout.column(name).lower()): text for name, text in row.items() if text}
    return {name: number for name, text in found.items() if name and (number := _number(text)) is not None}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
