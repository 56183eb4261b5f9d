"""docs/catalogue.md, made from the records of the catalogue.

python benchmarks/catalogue_page.py --write     renew it after a record has changed
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from made_page import put

from embassay.data.catalogue.entries import EntryRecord, TableRecord, entries

PAGE = Path(__file__).parents[1] / "docs" / "catalogue.md"
HEAD = """# Catalogue

{entries} datasets that `-d NAME` takes. {pinned} are pinned to a commit, so that everybody reads the same bytes; the
others may change, or you get them yourself. [Data](data.md#mirror-and-hub) says how to fetch them and how a mirror is
laid out.

Size counts what is scored: pairs, texts, queries or documents. Licences are those that the publisher states; *see
source* means that none is stated, or that it is unclear. This is not legal advice.

*Made from `src/embassay/data/catalogue/*.yaml` by `benchmarks/catalogue_page.py --write`.*
"""
TITLES = {"sage": "SAGE", "pteb": "PTEB", "hteb": "HTEB", "hume": "HUME"}


def page() -> str:
    """The whole page."""
    records = entries().values()
    head = HEAD.format(entries=len(records), pinned=sum(record.is_pinned for record in records))
    sections = [_section(protocol, title, records) for protocol, title in TITLES.items()]
    return "\n".join([head, *sections, _files(records)])


def _section(protocol: str, title: str, records: Iterable[EntryRecord]) -> str:
    rows = [
        "| Name | Tasks | Shapes | Languages | Size | Licence | Repository |",
        "|---|---|---|---|---|---|---|",
    ]
    for record in records:
        tasks = {str(by): tasks for by, tasks in record.protocols.items()}.get(protocol)
        if tasks:
            rows.append(f"| {' | '.join(_cells(record, tasks))} |")
    return "\n".join([f"## {title}", "", *rows, ""])


def _cells(record: EntryRecord, tasks: Iterable[str]) -> list[str]:
    langs = record.langs or [record.lang]
    pinned = f" at `{record.revision[:8]}`" if record.is_pinned else ", not pinned"
    return [
        f"`{record.name}`",
        ", ".join(tasks),
        ", ".join(f"`{shape}`" for shape in record.all_shapes),
        ", ".join(langs) if len(langs) < 6 else f"{len(langs)} languages",
        f"{record.size:,}" if record.size else "not stated",
        record.licence,
        f"`{record.hub}`{pinned}" if record.hub else record.by_hand,
    ]


def _files(records: Iterable[EntryRecord]) -> str:
    """A row for the datasets that have the same tables."""
    alike: dict[str, list[str]] = {}
    for record in records:
        lang = "/LANG" if record.langs else ""
        tables: dict[str, list[str]] = {}
        for table in record.all_tables:
            tables.setdefault(_columns(table), []).append(f"`{table.part}{lang}`")
        told = "; ".join(f"{', '.join(parts)}: {columns}" for columns, parts in tables.items())
        alike.setdefault(told, []).append(f"`{record.name}`")
    rows = ["| Table: columns (ours = theirs) | Datasets |", "|---|---|"]
    rows += [f"| {told} | {', '.join(names)} |" for told, names in alike.items()]
    about = "What a mirror holds, as `NAME/TABLE.jsonl.gz` or another format. Either side of `=` will do as a column."
    return "\n".join(["## Files and columns", "", about, "", *rows, ""])


def _columns(table: TableRecord) -> str:
    columns = [
        f"`{name}`" + (f" = `{'` or `'.join(table.map[name])}`" if name in table.map else "")
        for name in table.targets
    ]
    return ", ".join(columns) + (" (lists)" if table.nested else "")


if __name__ == "__main__":
    put(page(), PAGE)
