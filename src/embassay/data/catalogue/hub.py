"""Tables of the Hugging Face hub, read through `datasets`, under canonical names; any of its datasets as one table."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import socket
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, islice
from logging import ERROR
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from embassay.data.catalogue.entries import (
    CatalogueDatasetRecord,
    CatalogueTableRecord,
    find_data_mirror_folder,
    find_table_files_by_language,
)
from embassay.data.dataset import Dataset
from embassay.data.retrieval import GainTable
from embassay.data.rows import RowOrigin, RowSource, SourceRow
from embassay.data.shapes import OTHERWISE, PARTS, RETRIEVAL_PARTS, SHAPES
from embassay.data.sources import assemble_dataset_parts, split_table_by_shape
from embassay.data.tables import FORMATS, open_table_file
from embassay.data.views import (
    ALIASES,
    ChainedSourcesView,
    ConstantCellsView,
    FilteredRowsView,
    PrefixedKeysView,
    SourceView,
    TitlePrependedView,
    drop_repeated_columns,
)
from embassay.errors import AbsentData, DataError, UsageError

_EXTRA = "pip install 'embassay[hub]'"


@dataclass(frozen=True)
class HubTableAddress:
    """What of the hub is read: `configs` are alternatives, of `splits` all are read.

    `only` says that another split will do where there is no more than one: corpora and queries are one split,
    called as it pleased somebody.
    """

    repo: str
    revision: str
    configs: tuple[str, ...]
    splits: tuple[str, ...]
    only: bool = False

    def __str__(self) -> str:
        config = f" {self.configs[0]}" if self.configs else ""
        return f"{self.repo}{config} {'+'.join(self.splits)} at {self.revision[:12]}"


def open_hub_splits(place: HubTableAddress, *, streamed: bool) -> list[Any]:
    """The splits at `place` as objects of `datasets`: the one function that talks to the hub.

    HF_HOME, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE mean what they mean to `datasets`. AbsentData without
    the library.
    """
    try:
        import datasets
    except ImportError:
        raise AbsentData(
            f"{place.repo} is not on this machine, and the `datasets` library to fetch it is not installed",
            briefly="not on this machine, and the `datasets` library is not installed",
            mend=f"Install it: {_EXTRA}",
        ) from None
    datasets.disable_progress_bars()
    with _stay_offline_without_network():
        return _load_hub_tables(datasets, place, streamed)


def _load_hub_tables(datasets: Any, place: HubTableAddress, streamed: bool) -> list[Any]:
    at: dict[str, Any] = {"path": place.repo, "revision": place.revision}
    config = place.configs[0] if place.configs else None
    if len(place.configs) > 1:
        names = datasets.get_dataset_config_names(**at)
        config = next((name for name in place.configs if name in names), config)
    names = datasets.get_dataset_split_names(**at, config_name=config) if place.only else ()
    splits = names if len(names) == 1 else place.splits
    return [datasets.load_dataset(**at, name=config, split=split, streaming=streamed) for split in splits]


@contextmanager
def _stay_offline_without_network() -> Iterator[None]:
    """Stay offline while the hub's name is not known here: half a minute of retries ends the same.

    What is in the hub's cache is still found. Behind a proxy names are not ours to know.
    """
    import datasets
    import huggingface_hub.constants as hub
    from huggingface_hub.utils import logging

    proxied = {"http", "https", "all"} & urllib.request.getproxies().keys()
    if hub.HF_HUB_OFFLINE or proxied or _can_resolve_host(urlsplit(hub.ENDPOINT).hostname):
        yield
        return
    before = datasets.config.HF_HUB_OFFLINE, logging.get_verbosity()
    hub.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True
    logging.set_verbosity(ERROR)
    try:
        yield
    finally:
        hub.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = False, before[0]
        logging.set_verbosity(before[1])


def _can_resolve_host(host: str | None) -> bool:
    try:
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False


class HubTable:
    """A table of the hub as a source of rows, numbered from 1."""

    def __init__(self, place: HubTableAddress, wanted: Iterable[str] | None, *, streamed: bool, instead: str) -> None:
        """`wanted` are the columns that may be asked for (None = all); `instead` is the mend where there is no hub."""
        self.place = place
        self.streamed = streamed
        self._wanted = None if wanted is None else frozenset(wanted)
        self._instead = instead
        self._digest: bytes | None = None

    @property
    def path(self) -> Path:
        """The repository, for errors to name."""
        return Path(self.place.repo)

    @property
    def origin_address(self) -> str:
        """What tells it from other tables."""
        return f"hub:{json.dumps(asdict(self.place))}"

    def list_origins(self) -> tuple[RowOrigin, ...]:
        """The origin of the rows: the table itself."""
        return (self,)

    def columns(self) -> tuple[str, ...]:
        """The wanted columns that it has."""
        return self._column_names

    @cached_property
    def _column_names(self) -> tuple[str, ...]:
        first = self._opened_splits[0]
        names = first.column_names
        if names is None:
            names = [key for row in self._iterate_rows_translating_hub_errors(islice(first, 1)) for key in row]
        return tuple(name for name in names if self._wanted is None or name in self._wanted)

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """All rows; reading them to the end also settles the digest."""
        path = self.path
        for number, cells in enumerate(self.read(), 1):
            yield SourceRow(path, number, {column: cells.get(column) for column in columns})

    def read(self, skip: int = 0) -> Iterator[Mapping[str, Any]]:
        """The wanted cells of all rows after the first `skip`."""
        names = self.columns()
        # Of the cells and not of a file: the hub may pack the same rows anew.
        digest = hashlib.sha256(self.origin_address.encode())
        # One split can skip files unread; over several the rows must be counted.
        alone = len(self._opened_splits) == 1
        rows = self._opened_splits[0].skip(skip) if alone else islice(chain(*self._opened_splits), skip, None)
        for row in self._iterate_rows_translating_hub_errors(rows):
            cells = {name: row.get(name) for name in names}
            digest.update(json.dumps(list(cells.values()), default=str).encode())
            yield cells
        if not skip:
            self._digest = digest.digest()

    def compute_content_digest(self) -> bytes:
        """SHA-256 of repository, revision, configuration, split and the wanted cells of every row."""
        if self._digest is None:
            for _ in self.read():
                pass
        assert self._digest is not None
        return self._digest

    @cached_property
    def _opened_splits(self) -> list[Any]:
        try:
            return open_hub_splits(self.place, streamed=self.streamed)
        except AbsentData:
            # Its message already says what is missing; below, it would be said to be out of reach.
            raise
        except Exception as error:
            raise self._make_hub_unreachable_error(error) from error

    def _iterate_rows_translating_hub_errors(self, rows: Iterable[Any]) -> Iterator[Any]:
        try:
            yield from rows
        except Exception as error:
            raise self._make_hub_unreachable_error(error) from error

    def _make_hub_unreachable_error(self, error: Exception) -> AbsentData:
        # Network, hub and file formats fail in dozens of classes; all mean that this table cannot be had now.
        reason = f"{type(error).__name__}: {error}".partition("\n")[0][:160]
        return AbsentData(
            f"{self.place} cannot be read from the hub",
            briefly="not on this machine, and the hub could not be reached",
            found=reason,
            mend=self._instead,
        )


@dataclass(frozen=True)
class RowSourceWithCanonicalColumns(SourceView):
    """A source whose columns have canonical names: `paths` is target -> where it may be in the cells.

    The first place that holds something counts, row by row; then a column called like the target, in the tables
    of a retrieval set also like BEIR's name for it. A flat table's own ids are not used unless they are mapped:
    on a hub nobody promises that they are there once, and numbers are the same for the hub and a mirror of it.
    """

    paths: Mapping[str, tuple[str, ...]]
    part: str = ""

    def columns(self) -> tuple[str, ...]:
        """The targets that can be read, and the source's own columns."""
        names = self.source.columns()
        targets = drop_repeated_columns((*self.paths, *(ALIASES if self._is_of_retrieval_set else ())))
        readable = tuple(target for target in targets if self._list_top_level_columns_of_target(target, names))
        hidden = set() if self._is_of_retrieval_set or "id" in self.paths else {"id"}
        return tuple(name for name in drop_repeated_columns((*readable, *names)) if name not in hidden)

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows under canonical names."""
        names = self.source.columns()
        roots = drop_repeated_columns(
            root for target in columns for root in self._list_top_level_columns_of_target(target, names)
        )
        places = {target: self._list_candidate_paths_of_column(target) for target in columns}
        for path, line, cells in self.source.rows(roots):
            yield SourceRow(path, line, {target: _find_first_value(cells, where) for target, where in places.items()})

    @property
    def _is_of_retrieval_set(self) -> bool:
        return self.part in RETRIEVAL_PARTS or self.part == "top_ranked"

    def _list_candidate_paths_of_column(self, target: str) -> tuple[str, ...]:
        alias = (ALIASES[target],) if self._is_of_retrieval_set and target in ALIASES else ()
        return (*self.paths.get(target, ()), target, *alias)

    def _list_top_level_columns_of_target(self, target: str, own: Sequence[str]) -> tuple[str, ...]:
        roots = (
            place if place in own else place.partition(".")[0] for place in self._list_candidate_paths_of_column(target)
        )
        return tuple(root for root in roots if root in own)


def _find_first_value(cells: Mapping[str, Any], places: tuple[str, ...]) -> Any:
    for path in places:
        value = cells[path] if path in cells else _read_nested_value(cells, path)
        if value is not None and value != "":
            return value
    return None


def _read_nested_value(cell: Any, place: str) -> Any:
    """Read what `place` leads to in nested cells; None where it leads nowhere.

    >>> _read_nested_value({"info": {"tags": ["a", "b"]}}, "info.tags.1")
    'b'
    """
    for step in place.split("."):
        if isinstance(cell, Mapping):
            cell = cell.get(step)
        elif isinstance(cell, list) and step.isdigit() and int(step) < len(cell):
            cell = cell[int(step)]
        else:
            return None
    return cell


def open_hub_repository_split(
    target: str, *, mapping: Mapping[str, str], split: str | None = None, config: str = "", revision: str = "main"
) -> Dataset:
    """One split (`test`, or the only one there is) of one configuration of the repository `target`.

    UsageError without a repository, DataError where the hub cannot be reached or has no such thing.
    """
    if not target:
        raise UsageError("`hub:` needs the name of a repository.", mend="Write hub:ORG/NAME?config=NAME.")
    place = HubTableAddress(target, revision, (config,) if config else (), (split or "test",), only=split is None)
    instead = "Check the name, ?config= and --split, or download its files and pass them with -d PATH."
    table = HubTable(place, None, streamed=False, instead=instead)
    return Dataset(target, split_table_by_shape(table, mapping, None), settings={"mapping": dict(mapping)})


PIECE = 50_000
"""Rows that are written at a time; a fetch that is stopped goes on after the last whole piece."""

Advance = Callable[[str, int, int | None], None]
"""Called with the table, its rows so far, and how many the record expects."""


@dataclass(frozen=True)
class FetchedTable:
    """One table of a dataset: where it lies now, its rows (None where it was there before)."""

    dataset: str
    table: str
    path: Path
    rows: int | None


def fetch_tables_into_mirror(record: CatalogueDatasetRecord, advance: Advance) -> list[FetchedTable]:
    """Every table of the record as a file of the mirror; those that are there are left alone.

    A file appears when it is whole. DataError for what no hub holds, a hub that does not answer, and, once all
    is written, for a pinned revision whose rows are not as many as the record says.
    """
    folder = find_data_mirror_folder() / record.name
    if not record.hub:
        raise DataError(
            f"the dataset {record.name!r} is not on the hub", expected=f"the folder {folder}", mend=record.by_hand
        )
    done: dict[str, FetchedTable] = {}
    for table, lang, source in iterate_hub_tables_by_language(record, tuple(record.langs), streamed=True):
        name = f"{table.part}/{lang}" if lang else table.part
        if name not in done:
            files = find_table_files_by_language(
                folder, table.part, table.list_hub_split_names[0], tuple(record.langs)
            ).get(lang)
            if files:
                done[name] = FetchedTable(record.name, name, files[0], None)
                continue
            path = folder / f"{name}.jsonl.gz"
            try:
                rows = _fetch_table_and_count_rows(
                    source, path, _make_row_progress_callback(advance, record, name, table.rows)
                )
            except OSError as error:
                raise DataError(
                    "the mirror cannot be written", path=path, found=str(error),
                    mend="Set EMBASSAY_DATA to a folder with enough free space."
                ) from error  # fmt: skip
            done[name] = FetchedTable(record.name, name, path, rows)
    fetched = list(done.values())
    _write_origin_json(record, folder, fetched)
    _check_row_counts(record, fetched)
    return fetched


def _make_row_progress_callback(
    advance: Advance, record: CatalogueDatasetRecord, name: str, expected: int | None
) -> Callable[[int], None]:
    return lambda rows: advance(f"{record.name} {name}", rows, None if record.langs else expected)


def _fetch_table_and_count_rows(source: HubTable, path: Path, advance: Callable[[int], None]) -> int:
    """Fetch a table by pieces into one file, and return how many rows it has."""
    origin = hashlib.sha256(source.origin_address.encode()).hexdigest()[:8]
    pieces = path.with_name(f".{path.name.removesuffix('.jsonl.gz')}.{origin}.part")
    pieces.mkdir(parents=True, exist_ok=True)
    whole = sorted(pieces.glob("*.gz"))
    rows = len(whole) * PIECE
    advance(rows)
    for piece in _split_rows_into_pieces(source.read(skip=rows)):
        _write_compressed_row_file(pieces / f"{len(whole):06}.gz", piece)
        whole.append(pieces / f"{len(whole):06}.gz")
        rows += len(piece)
        advance(rows)
    _concatenate_gzip_pieces(whole, path)
    shutil.rmtree(pieces)
    return rows


def _split_rows_into_pieces(rows: Iterator[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    while piece := list(islice(rows, PIECE)):
        yield piece


def _write_compressed_row_file(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    part = path.with_suffix(".new")
    # Without name and time in its head: the same rows are the same bytes.
    with part.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")
    part.replace(path)


def _concatenate_gzip_pieces(pieces: list[Path], path: Path) -> None:
    """Concatenate all pieces into one file: gzip files one after the other are a gzip file."""
    part = path.with_name(f".{path.name}.new")
    with part.open("wb") as stream:
        for piece in pieces:
            with piece.open("rb") as source:
                shutil.copyfileobj(source, stream)
    part.replace(path)


def _write_origin_json(record: CatalogueDatasetRecord, folder: Path, fetched: list[FetchedTable]) -> None:
    """`origin.json` beside the tables: what they are, for whoever finds them."""
    new = {table.table: table.rows for table in fetched if table.rows is not None}
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


def _check_row_counts(record: CatalogueDatasetRecord, fetched: list[FetchedTable]) -> None:
    if not record.is_pinned_to_commit or any(done.rows is None for done in fetched):
        return
    for table in record.all_tables:
        rows = sum(done.rows or 0 for done in fetched if done.table.partition("/")[0] == table.part)
        if table.rows is not None and rows != table.rows:
            raise DataError(
                f"{record.name}: the fetched table {table.part!r} does not match the catalogue",
                expected=f"{table.rows:,} rows", found=f"{rows:,}",
                mend=f"Remove {find_data_mirror_folder() / record.name / table.part}* and fetch it "
                    "again. If the count stays the same, the catalogue is wrong: please report it."
            )  # fmt: skip


PAGE = "docs/data.md"
Tables = Mapping[str, list[tuple[list[str], RowSource]]]
"""Language ("" where they are not apart) -> tables, each with the parts it plays."""


def open_catalogue_entry(
    record: CatalogueDatasetRecord, *, split: str | None = None, grades: str | None = None, lang: str = ""
) -> Dataset:
    """The dataset of `record`, from `<mirror>/<name>` if that folder exists.

    `split` stands in for its test split; `lang` is one of its languages or several with commas between them.
    UsageError for a language it does not have; DataError where it is neither in the mirror nor to be had.
    """
    langs = _choose_dataset_languages(record, lang)
    record = record if split is None else _replace_test_split(record, split)
    folder = find_data_mirror_folder() / record.name
    tables = _open_mirror_tables(record, folder, langs) if folder.is_dir() else _open_hub_tables(record, folder, langs)
    parts: dict[str, list[RowSource]] = {}
    for code, listed in tables.items():
        # Each language has its own tables; together they are one source.
        for part, source in assemble_dataset_parts(listed).items():
            parts.setdefault(part, []).append(_label_rows_with_language(source, code))
    return Dataset(
        record.name,
        {
            part: sources[0] if len(sources) == 1 else ChainedSourcesView(tuple(sources))
            for part, sources in parts.items()
        },
        record.lang or (lang if len(langs) == 1 else ""),
        GainTable() if grades is None else GainTable.make_gain_table_from_grade_map(grades),
        {
            "tables": [table.model_dump(exclude={"rows", "exact"}) for table in record.all_tables],
            "split": split,
            "grades": grades,
            "lang": lang,
        },
        notes=_describe_languages_missing_in_mirror(record, langs, tables),
        group=record.group,
        tasks={protocol: tuple(tasks) for protocol, tasks in record.protocols.items()},
    )


def iterate_hub_tables_by_language(
    record: CatalogueDatasetRecord, langs: tuple[str, ...], *, streamed: bool = False
) -> Iterator[tuple[CatalogueTableRecord, str, HubTable]]:
    """Every table of the record on the hub, once per language that is a configuration of its own."""
    instead = _advise_mirror_files(record, find_data_mirror_folder() / record.name)
    for table in record.all_tables:
        for lang in langs if record.langs else ("",):
            only = table.is_retrieval_set_table and not table.exact
            place = HubTableAddress(
                record.hub, record.revision, record.list_hub_configs(table, lang), table.list_hub_split_names, only
            )
            yield (
                table,
                lang,
                HubTable(place, list_wanted_columns(table), streamed=streamed or table.is_streamed, instead=instead),
            )


def list_wanted_columns(record: CatalogueTableRecord) -> frozenset[str]:
    """The columns of a table that can matter: what its map names, canonical names, and BEIR's for them."""
    mapped = {name for places in record.map.values() for name in places}
    canonical = {name for parts in (SHAPES, OTHERWISE, PARTS) for needed in parts.values() for name in needed}
    roots = {name.partition(".")[0] for name in mapped}
    return frozenset(mapped | roots | canonical | set(ALIASES.values()) | {"id", "lang", "title", "doc_ids", "set"})


def list_expected_mirror_files(record: CatalogueDatasetRecord) -> list[str]:
    """Describe the files of a record's mirror folder, with their columns: what to put there by hand."""
    lines: dict[str, list[str]] = {}
    for table in record.all_tables:
        names = [table.map[name][0] if name in table.map else name for name in table.list_canonical_columns]
        lines.setdefault(table.part, []).extend(name for name in names if name not in lines.get(table.part, []))
    within = "/LANG" if record.langs else ""
    return [f"{part}{within}.jsonl ({', '.join(names)})" for part, names in lines.items()]


def _choose_dataset_languages(record: CatalogueDatasetRecord, lang: str) -> tuple[str, ...]:
    every = tuple(record.langs) or (record.lang,)
    if not lang:
        return every
    chosen = tuple(lang.split(","))
    if unknown := [code for code in chosen if code not in every]:
        raise UsageError(
            f"The dataset {record.name!r} has no language {unknown[0]!r}.", mend=f"It has {', '.join(every)}."
        )
    return tuple(code for code in every if code in chosen)


def _replace_test_split(record: CatalogueDatasetRecord, split: str) -> CatalogueDatasetRecord:
    """Replace the record's test split with `split`; what trains and what is searched stay."""
    stays = {"train", "corpus", "queries", "top_ranked"}
    tables = []
    for table in record.all_tables:
        if not stays & set(table.shapes):
            part = table.part if "qrels" in table.shapes else split
            table = table.model_copy(update={"split": [split], "rows": None, "part": part, "exact": True})
        tables.append(table)
    return record.model_copy(update={"layout": "", "tables": tables})


def _open_mirror_tables(record: CatalogueDatasetRecord, folder: Path, langs: tuple[str, ...]) -> Tables:
    tables: dict[str, list[tuple[list[str], RowSource]]] = {}
    theirs = {table.part for table in record.all_tables}
    ours = [
        CatalogueTableRecord(part=name, shapes=[name])
        for name in record.list_shapes_tables_can_give
        if name not in theirs
    ]
    for table_record in (*record.all_tables, *ours):
        by_lang = find_table_files_by_language(
            folder, table_record.part, table_record.list_hub_split_names[0], tuple(record.langs)
        )
        for lang, files in by_lang.items():
            if lang and lang not in langs:
                continue
            sources = tuple(open_table_file(file) for file in files)
            source = sources[0] if len(sources) == 1 else ChainedSourcesView(sources)
            if not lang and record.langs and "lang" in source.columns() and len(langs) < len(record.langs):
                source = FilteredRowsView(source, {"lang": frozenset(langs)})
            tables.setdefault(lang, []).append(
                (table_record.shapes, _map_source_to_canonical_columns(table_record, source))
            )
    if not tables:
        raise AbsentData(
            f"the mirror of {record.name!r} contains none of its tables", path=folder,
            expected="; ".join(list_expected_mirror_files(record)) + f" or another of {', '.join(FORMATS)}",
            found=", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing",
            mend=f"Run `embassay data fetch {record.name}`, or add the files by hand (see {PAGE})."
        )  # fmt: skip
    return tables


def _open_hub_tables(record: CatalogueDatasetRecord, folder: Path, langs: tuple[str, ...]) -> Tables:
    if not record.hub:
        raise AbsentData(
            f"the dataset {record.name!r} is not on the hub", expected=f"the folder {folder}",
            mend=f"{record.by_hand} {_advise_mirror_files(record, folder)}"
        )  # fmt: skip
    tables: dict[str, list[tuple[list[str], RowSource]]] = {}
    by_address: dict[str, HubTable] = {}
    for table, lang, source in iterate_hub_tables_by_language(record, langs):
        same = by_address.setdefault(source.origin_address, source)
        tables.setdefault(lang, []).append((table.shapes, _map_source_to_canonical_columns(table, same)))
    return tables


def _map_source_to_canonical_columns(record: CatalogueTableRecord, source: RowSource) -> RowSource:
    paths = {target: tuple(places) for target, places in record.map.items()}
    mapped = RowSourceWithCanonicalColumns(source, paths, record.part)
    titled = "title" in record.map or "corpus" in record.shapes
    return TitlePrependedView(mapped) if titled and "title" in mapped.columns() else mapped


def _label_rows_with_language(source: RowSource, lang: str) -> RowSource:
    if not lang:
        return source
    # Without sets of their own the texts of a language are one: clusters must not follow language.
    apart = {} if "set" in source.columns() else {"set": lang}
    return ConstantCellsView(PrefixedKeysView(source, lang), {"lang": lang, **apart})


def _describe_languages_missing_in_mirror(
    record: CatalogueDatasetRecord, langs: tuple[str, ...], tables: Tables
) -> tuple[str, ...]:
    if not record.langs or "" in tables:
        return ()
    absent = [lang for lang in langs if lang not in tables]
    return (f"languages missing from the mirror: {len(absent)} ({', '.join(absent[:8])})",) if absent else ()


def _advise_mirror_files(record: CatalogueDatasetRecord, folder: Path) -> str:
    return f"Fill the folder {folder} with {'; '.join(list_expected_mirror_files(record))} (see {PAGE})."
