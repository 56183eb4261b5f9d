"""Filling the mirror from the hub: in pieces, so that what was fetched once is not fetched again."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from embassay.data.catalogue.entry import EntryRecord
from embassay.data.catalogue.hub import HubTable
from embassay.data.catalogue.mirror import mirror_folder, table_files
from embassay.data.catalogue.opened import hub_tables
from embassay.errors import DataError

PIECE = 50_000
"""Rows that are written at a time; a fetch that is stopped goes on after the last whole piece."""

Advance = Callable[[str, int, int | None], None]
"""Called with the table, its rows so far, and how many the record expects."""


@dataclass(frozen=True)
class Fetched:
    """One table of a dataset: where it lies now, its rows (None where it was there before)."""

    dataset: str
    table: str
    path: Path
    rows: int | None


def fetch(record: EntryRecord, advance: Advance) -> list[Fetched]:
    """Every table of the record as a file of the mirror; those that are there are left alone.

    A file appears when it is whole. DataError for what no hub holds, a hub that does not answer, and, once all
    is written, for a pinned revision whose rows are not as many as the record says.
    """
    folder = mirror_folder() / record.name
    if not record.hub:
        raise DataError(
            f"the dataset {record.name!r} is on no hub",
            expected=f"the folder {folder}",
            mend=record.by_hand,
        )
    done: dict[str, Fetched] = {}
    for table, lang, source in hub_tables(record, tuple(record.langs), streamed=True):
        name = f"{table.part}/{lang}" if lang else table.part
        if name not in done:
            there = table_files(folder, table.part, table.splits[0], tuple(record.langs)).get(lang)
            if there:
                done[name] = Fetched(record.name, name, there[0], None)
                continue
            path = folder / f"{name}.jsonl.gz"
            try:
                rows = _fetched(source, path, _hearing(advance, record, name, table.rows))
            except OSError as error:
                raise DataError(
                    "the mirror cannot be written", path=path, found=str(error),
                    mend="Let EMBASSAY_DATA name a folder with room.",
                ) from error  # fmt: skip
            done[name] = Fetched(record.name, name, path, rows)
    fetched = list(done.values())
    _note_origin(record, folder, fetched)
    _check_counts(record, fetched)
    return fetched


def _hearing(advance: Advance, record: EntryRecord, name: str, expected: int | None) -> Callable[[int], None]:
    return lambda rows: advance(f"{record.name} {name}", rows, None if record.langs else expected)


def _fetched(source: HubTable, path: Path, advance: Callable[[int], None]) -> int:
    """Write the file; how many rows it has. Whole pieces wait beside it, in a folder named for what they are of."""
    origin = hashlib.sha256(source.address.encode()).hexdigest()[:8]
    pieces = path.with_name(f".{path.name.removesuffix('.jsonl.gz')}.{origin}.part")
    pieces.mkdir(parents=True, exist_ok=True)
    whole = sorted(pieces.glob("*.gz"))
    rows = len(whole) * PIECE
    advance(rows)
    for piece in _pieces(source.read(skip=rows)):
        _write(pieces / f"{len(whole):06}.gz", piece)
        whole.append(pieces / f"{len(whole):06}.gz")
        rows += len(piece)
        advance(rows)
    _joined(whole, path)
    shutil.rmtree(pieces)
    return rows


def _pieces(rows: Iterator[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    while piece := list(islice(rows, PIECE)):
        yield piece


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    part = path.with_suffix(".new")
    with part.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")
    part.replace(path)


def _joined(pieces: list[Path], path: Path) -> None:
    """One file of all pieces: gzip files one after the other are a gzip file."""
    part = path.with_name(f".{path.name}.new")
    with part.open("wb") as stream:
        for piece in pieces:
            with piece.open("rb") as one:
                shutil.copyfileobj(one, stream)
    part.replace(path)


def _note_origin(record: EntryRecord, folder: Path, fetched: list[Fetched]) -> None:
    """`origin.json` beside the tables: what they are, for whoever finds them."""
    new = {one.table: one.rows for one in fetched if one.rows is not None}
    if not new:
        return
    path = folder / "origin.json"
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    about = {
        "hub": record.hub,
        "revision": record.revision,
        "licence": record.licence,
        "fetched": f"{datetime.now(UTC):%Y-%m-%d}",
        "rows": {**before.get("rows", {}), **new},
    }
    path.write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def _check_counts(record: EntryRecord, fetched: list[Fetched]) -> None:
    if not record.is_pinned or any(one.rows is None for one in fetched):
        return
    for table in record.all_tables:
        rows = sum(one.rows or 0 for one in fetched if one.table.partition("/")[0] == table.part)
        if table.rows is not None and rows != table.rows:
            raise DataError(
                f"{record.name}: the table {table.part!r} was fetched, but is not what the record says",
                expected=f"{table.rows:,} rows", found=f"{rows:,}",
                mend=f"Remove {mirror_folder() / record.name / table.part}* and fetch again; if that is what the hub "
                "holds, the record is wrong: please report it.",
            )  # fmt: skip
