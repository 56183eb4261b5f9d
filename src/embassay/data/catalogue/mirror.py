"""The local mirror of the hub: a folder per dataset, filled in pieces, read before the hub is asked."""

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

from embassay.data.catalogue.entries import EntryRecord, TableRecord, mirror_folder, table_files
from embassay.data.catalogue.hub import HubTable, Mapped, Place
from embassay.data.dataset import Dataset
from embassay.data.retrieval import Gains
from embassay.data.rows import Source
from embassay.data.shapes import OTHERWISE, PARTS, SHAPES
from embassay.data.sources import assembled
from embassay.data.tables import FORMATS
from embassay.data.tables import table as open_table
from embassay.data.views import ALIASES, Chained, Filtered, Prefixed, Stated, Titled
from embassay.errors import DataError, UsageError

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


PAGE = "docs/data.md"
Tables = Mapping[str, list[tuple[list[str], Source]]]
"""Language ("" where they are not apart) -> tables, each with the parts it plays."""


def open_entry(
    record: EntryRecord, *, split: str | None = None, grades: str | None = None, lang: str = ""
) -> Dataset:
    """The dataset of `record`, from `<mirror>/<name>` if that folder exists.

    `split` stands in for its test split; `lang` is one of its languages or several with commas between them.
    UsageError for a language it does not have; DataError where it is neither in the mirror nor to be had.
    """
    langs = _chosen(record, lang)
    record = record if split is None else _with_split(record, split)
    folder = mirror_folder() / record.name
    tables = _mirrored(record, folder, langs) if folder.is_dir() else _on_hub(record, folder, langs)
    parts: dict[str, list[Source]] = {}
    for one, given in tables.items():
        for part, source in assembled(given).items():
            parts.setdefault(part, []).append(_of_language(source, one))
    return Dataset(
        record.name,
        {
            part: sources[0] if len(sources) == 1 else Chained(tuple(sources))
            for part, sources in parts.items()
        },
        record.lang or (lang if len(langs) == 1 else ""),
        Gains() if grades is None else Gains.from_grades(grades),
        {
            "tables": [one.model_dump(exclude={"rows", "exact"}) for one in record.all_tables],
            **{"split": split, "grades": grades, "lang": lang},
        },
        notes=_absent(record, langs, tables),
        group=record.group,
        tasks={protocol: tuple(tasks) for protocol, tasks in record.protocols.items()},
    )


def hub_tables(
    record: EntryRecord, langs: tuple[str, ...], *, streamed: bool = False
) -> Iterator[tuple[TableRecord, str, HubTable]]:
    """Every table of the record on the hub, once per language that is a configuration of its own."""
    instead = _instead(record, mirror_folder() / record.name)
    for one in record.all_tables:
        for lang in langs if record.langs else ("",):
            only = one.is_of_a_set and not one.exact
            place = Place(record.hub, record.revision, record.config(one, lang), one.splits, only)
            yield one, lang, HubTable(place, wanted(one), streamed=streamed or one.is_large, instead=instead)


def wanted(one: TableRecord) -> frozenset[str]:
    """The columns of a table that can matter: what its map names, canonical names, and BEIR's for them."""
    mapped = {name for places in one.map.values() for name in places}
    canonical = {name for parts in (SHAPES, OTHERWISE, PARTS) for needed in parts.values() for name in needed}
    roots = {name.partition(".")[0] for name in mapped}
    return frozenset(
        mapped | roots | canonical | set(ALIASES.values()) | {"id", "lang", "title", "doc_ids", "set"}
    )


def layout(record: EntryRecord) -> list[str]:
    """The files of the record's folder in a mirror, with their columns: what to put there by hand."""
    lines: dict[str, list[str]] = {}
    for one in record.all_tables:
        names = [one.map[name][0] if name in one.map else name for name in one.targets]
        lines.setdefault(one.part, []).extend(name for name in names if name not in lines.get(one.part, []))
    within = "/LANG" if record.langs else ""
    return [f"{part}{within}.jsonl ({', '.join(names)})" for part, names in lines.items()]


def _chosen(record: EntryRecord, lang: str) -> tuple[str, ...]:
    known = tuple(record.langs) or (record.lang,)
    if not lang:
        return known
    chosen = tuple(lang.split(","))
    if unknown := [one for one in chosen if one not in known]:
        raise UsageError(
            f"The dataset {record.name!r} has no language {unknown[0]!r}.", mend=f"It has {', '.join(known)}."
        )
    return tuple(one for one in known if one in chosen)


def _with_split(record: EntryRecord, split: str) -> EntryRecord:
    """The record with `split` in the place of its test split; what trains and what is searched stay."""
    stays = {"train", "corpus", "queries", "top_ranked"}
    tables = []
    for one in record.all_tables:
        if not stays & set(one.shapes):
            part = one.part if "qrels" in one.shapes else split
            one = one.model_copy(update={"split": [split], "rows": None, "part": part, "exact": True})
        tables.append(one)
    return record.model_copy(update={"layout": "", "tables": tables})


def _mirrored(record: EntryRecord, folder: Path, langs: tuple[str, ...]) -> Tables:
    tables: dict[str, list[tuple[list[str], Source]]] = {}
    theirs = {one.part for one in record.all_tables}
    ours = [TableRecord(part=name, shapes=[name]) for name in record.all_shapes if name not in theirs]
    for one in (*record.all_tables, *ours):
        found = table_files(folder, one.part, one.splits[0], tuple(record.langs))
        for lang, files in found.items():
            if lang and lang not in langs:
                continue
            sources = tuple(open_table(file) for file in files)
            source = sources[0] if len(sources) == 1 else Chained(sources)
            if not lang and record.langs and "lang" in source.columns() and len(langs) < len(record.langs):
                source = Filtered(source, {"lang": frozenset(langs)})
            tables.setdefault(lang, []).append((one.shapes, _canonical(one, source)))
    if not tables:
        raise DataError(
            f"the mirror of {record.name!r} holds none of its tables", path=folder,
            expected="; ".join(layout(record)) + f" or another of {', '.join(FORMATS)}",
            found=", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing",
            mend=f"`embassay data fetch {record.name}` fills it, or you by hand (see {PAGE}).",
        )  # fmt: skip
    return tables


def _on_hub(record: EntryRecord, folder: Path, langs: tuple[str, ...]) -> Tables:
    if not record.hub:
        raise DataError(
            f"the dataset {record.name!r} is not on a hub", expected=f"the folder {folder}",
            mend=f"{record.by_hand} {_instead(record, folder)}",
        )  # fmt: skip
    tables: dict[str, list[tuple[list[str], Source]]] = {}
    seen: dict[str, HubTable] = {}
    for one, lang, source in hub_tables(record, langs):
        same = seen.setdefault(source.address, source)
        tables.setdefault(lang, []).append((one.shapes, _canonical(one, same)))
    return tables


def _canonical(one: TableRecord, source: Source) -> Source:
    paths = {target: tuple(places) for target, places in one.map.items()}
    mapped = Mapped(source, paths, one.part)
    titled = "title" in one.map or "corpus" in one.shapes
    return Titled(mapped) if titled and "title" in mapped.columns() else mapped


def _of_language(source: Source, lang: str) -> Source:
    if not lang:
        return source
    # Without sets of their own the texts of a language are one: clusters must not follow language.
    apart = {} if "set" in source.columns() else {"set": lang}
    return Stated(Prefixed(source, lang), {"lang": lang, **apart})


def _absent(record: EntryRecord, langs: tuple[str, ...], tables: Tables) -> tuple[str, ...]:
    if not record.langs or "" in tables:
        return ()
    absent = [lang for lang in langs if lang not in tables]
    return (
        (f"languages that are not in the mirror: {len(absent)} ({', '.join(absent[:8])})",) if absent else ()
    )


def _instead(record: EntryRecord, folder: Path) -> str:
    return f"Fill the folder {folder} with {'; '.join(layout(record))}: see {PAGE}."
