"""From a record of the catalogue to a dataset: the mirror where it has one, the hub otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from embassay.data.assembly import assembled
from embassay.data.catalogue.entry import EntryRecord, TableRecord
from embassay.data.catalogue.hub import HubTable, Place
from embassay.data.catalogue.mapped import Mapped
from embassay.data.catalogue.mirror import mirror_folder, table_files
from embassay.data.combined import Chained, Prefixed, Stated
from embassay.data.dataset import Dataset
from embassay.data.grades import Gains
from embassay.data.rows import Source
from embassay.data.shapes import OTHERWISE, PARTS, SHAPES
from embassay.data.tables import FORMATS, table
from embassay.data.views import ALIASES, Filtered, Titled
from embassay.errors import DataError, UsageError

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
            sources = tuple(table(file) for file in files)
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
