"""Rows and tables of runs as CSV and Parquet: every digit, null with its reason."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from embassay.interchange.runs import Run
from embassay.interchange.wide import Wide
from embassay.protocols.spreadsheets import csv_row, inert
from embassay.records import Result

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("run", *(field.name for field in fields(Result)), "manifest")
"""Of the long form: the run's folder, a result, and the fingerprint of the manifest that reproduces it."""
_ENDS = ("low", "high", "n", "reason")


def long_rows(runs: Sequence[Run]) -> Iterator[tuple[Any, ...]]:
    """One row per result of every run."""
    for run in runs:
        for row in run.rows:
            yield (run.name, *vars(row).values(), run.manifest_digest)


def long_csv(runs: Sequence[Run]) -> str:
    """All results in long form; a field is empty where there is nothing, and `reason` says why a value is missing."""
    return _csv([COLUMNS, *long_rows(runs)])


def wide_csv(table: Wide) -> str:
    """A run's systems with their ranks and, for each column, value, interval, n and the reason of a missing value."""
    heads = [
        f"{column.title}{end}" for column in table.columns for end in ("", *(f" {end}" for end in _ENDS))
    ]
    lines: list[Sequence[Any]] = [["system", "rank_low", "rank_high", *heads]]
    for system, rank, cells in zip(table.systems, table.ranks, table.cells, strict=True):
        lines.append([system, *(rank or (None, None)), *(value for cell in cells for value in _cell(cell))])
    return _csv(lines)


def long_frame(runs: Sequence[Run]) -> pl.DataFrame:
    """The long form as a polars frame with fixed types."""
    import polars as pl

    numbers = {
        "value": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "n": pl.Int64,
        "seed": pl.Int64,
    }
    schema = {name: numbers.get(name, pl.String) for name in COLUMNS}
    return pl.DataFrame(list(long_rows(runs)), schema=schema, orient="row", strict=False)


def long_parquet(runs: Sequence[Run]) -> bytes:
    """The same as Parquet."""
    buffer = io.BytesIO()
    long_frame(runs).write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _cell(row: Result | None) -> tuple[Any, ...]:
    if row is None:
        return None, None, None, None, "not part of the run"
    return row.value, row.ci_low, row.ci_high, row.n, row.reason


def _csv(lines: Sequence[Sequence[Any]]) -> str:
    return "".join(csv_row(map(inert, line)) for line in lines)
