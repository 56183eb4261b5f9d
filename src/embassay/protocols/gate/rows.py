"""The rows of one run, or of all runs in a folder, and the one that a bar means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from embassay.data.rows import nearest
from embassay.errors import DataError, UsageError
from embassay.protocols.gate.bars import KEYS, Bar
from embassay.protocols.kernel.comparisons import read_standings
from embassay.records import Result
from embassay.runs.folder import RunFolder


@dataclass(frozen=True)
class Rows:
    """Results of runs, and the headline measure of each protocol's tasks."""

    results: tuple[Result, ...]
    headlines: frozenset[tuple[str, str, str]]

    def find(self, bar: Bar) -> Result:
        """The row that a bar means. Raises UsageError where there is none, or more than one."""
        rows: Sequence[Result] = self.results
        for column in ("protocol", "task", "system"):
            rows = _having(rows, column, getattr(bar, column), bar)
        rows = _having(rows, "measure", bar.measure, bar) if bar.measure else self._headline(rows, bar)
        for column in KEYS:
            rows = _narrowed(rows, column, bar)
        if len(rows) > 1:
            raise UsageError(
                f"{bar.text} means {len(rows)} rows.", mend="Name more of dataset, variant, subset, lang."
            )
        return rows[0]

    def _headline(self, rows: Sequence[Result], bar: Bar) -> Sequence[Result]:
        measures = list(dict.fromkeys(row.measure for row in rows if not row.variant))
        known = [
            one for one in measures if (bar.protocol, bar.task, one) in self.headlines or one == bar.task
        ]
        chosen = known or measures
        if len(chosen) != 1:
            some = ", ".join(chosen[:8])
            raise UsageError(
                f"{bar.text} names no measure, and the task has {len(chosen)}.",
                mend=f"Write {bar.protocol}.{bar.task}.MEASURE[...]; there are {some}.",
            )
        return [row for row in rows if row.measure == chosen[0]]


def read_rows(folder: Path) -> Rows:
    """The rows of the run in a folder, or of the runs one level below it. Raises DataError where there is none."""
    runs = [path for path in (folder, *_below(folder)) if (path / "manifest.json").is_file()]
    if not runs:
        raise DataError(
            "There is no run here", path=folder, mend="Give the folder of a run, or one that holds runs."
        )
    results: list[Result] = []
    headlines = set()
    for path in runs:
        run = RunFolder(path)
        protocol = str((run.read_manifest() or {}).get("protocol", ""))
        results += run.read_results()
        headlines |= {(protocol, one.task, one.measure) for one in read_standings(path)}
    return Rows(tuple(results), frozenset(headlines))


def _below(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ()


def _having(rows: Sequence[Result], column: str, value: str, bar: Bar) -> Sequence[Result]:
    found = [row for row in rows if getattr(row, column) == value]
    if found:
        return found
    known = list(dict.fromkeys(str(getattr(row, column)) for row in rows))
    near = nearest(value, known)
    raise UsageError(
        f"{bar.text}: no result has the {column} {value!r}.",
        mend=f"Did you mean {near!r}?" if near else f"There are {', '.join(map(repr, known[:8]))}.",
    )


def _narrowed(rows: Sequence[Result], column: str, bar: Bar) -> Sequence[Result]:
    """By what the bar says; else the rows over all, where there are any; a single value needs no naming."""
    if column in bar.where:
        return _having(rows, column, bar.where[column], bar)
    values = list(dict.fromkeys(getattr(row, column) for row in rows))
    if "" in values:
        return [row for row in rows if getattr(row, column) == ""]
    if len(values) > 1:
        raise UsageError(
            f"{bar.text} does not say which {column}.",
            mend=f"Add , {column}=NAME inside the brackets; there are {', '.join(values[:8])}.",
        )
    return rows
