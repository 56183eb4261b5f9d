"""Parquet, read in a process of its own: a damaged or hostile file ends that process, never this one.

Libraries that read Parquet trust counts that stand in the file: one wrong byte, and memory for 2^61 rows is asked for,
which ends a process without an error that anyone could catch. So one process reads all files, within limits of memory
and time, and hands over tables; where it dies, the file is refused and the next file gets a new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.parquet.process import MEND, asked

if TYPE_CHECKING:
    import polars as pl

__all__ = ["parquet_batches", "parquet_columns", "read_parquet"]


def read_parquet(
    source: Path | bytes, columns: Sequence[str] | None = None, *, path: Path | None = None, mend: str = MEND
) -> pl.DataFrame:
    """The rows of a file, or of the content of one (then `path` is its name in messages), in their order.

    `columns`: those to read, all where None. DataError with `mend` for what is damaged, not Parquet, has not these
    columns, or is larger than the limits; OSError for a file that cannot be opened.
    """
    import polars as pl

    frames = list(asked(source, columns, path=path, mend=mend))
    return frames[0] if len(frames) == 1 else pl.concat(frames, rechunk=False)


def parquet_columns(path: Path) -> tuple[str, ...]:
    """The names of a file's columns, from its schema alone; errors as of `read_parquet`."""
    (frame,) = asked(path, None, rows=0)
    return tuple(frame.columns)


def parquet_batches(path: Path, columns: Sequence[str] | None = None, *, rows: int) -> Iterator[pl.DataFrame]:
    """The rows of a file in order, in tables of about `rows`: no process ever holds them all. At least one table comes,
    without rows where the file has none. Errors as of `read_parquet`, raised where the damage is reached."""
    return asked(path, columns, rows=rows)
