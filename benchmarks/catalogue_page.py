"""docs/catalogue.md, made from the records of the catalogue.

python benchmarks/catalogue_page.py --write     renew it after a record has changed
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from made_page import put

from embassay.data.catalogue.entries import EntryRecord, entries

PAGE = Path(__file__).parents[1] / "docs" / "catalogue.md"
HEAD = """# Catalogue

{entries} datasets that `-d NAME` takes. {pinned} are pinned to a commit, shown after `@`, so that everybody reads the
same bytes; the others may change, or you get them yourself. [Data](data.md#mirror-and-hub) says how to fetch them;
`embassay data list` shows the shapes of each, `embassay data show NAME` its files and columns.

Size counts what is scored: pairs, texts, queries or documents. Licences are those that the
publisher states; – where none is stated, or it is unclear. Languages are English where none is named.

*Made from `src/embassay/data/catalogue/*.yaml` by `benchmarks/catalogue_page.py --write`.*
"""
TITLES = {"sage": "SAGE", "pteb": "PTEB", "hteb": "HTEB", "hume": "HUME"}
FAMILIES = ("cqadupstack",)
"""Datasets of one publisher that differ in their subject alone: NAME-SUBJECT, with one row for all."""


def page() -> str:
    """The whole page."""
    records = entries().values()
    head = HEAD.format(entries=len(records), pinned=sum(record.is_pinned for record in records))
    sections = [_section(protocol, title, records) for protocol, title in TITLES.items()]
    return "\n".join([head, *sections])


def _section(protocol: str, title: str, records: Iterable[EntryRecord]) -> str:
    """The datasets of a protocol that no earlier section has; those by name alone."""
    rows = ["| Name | Tasks | Size | Licence | Repository |", "|---|---|---:|---|---|"]
    order, again, families = list(TITLES), [], dict[str, list[EntryRecord]]()
    for record in records:
        by = {str(one): tasks for one, tasks in record.protocols.items()}
        family = record.name.partition("-")[0]
        if protocol not in by:
            continue
        if any(one in by for one in order[: order.index(protocol)]):
            again.append(f"`{record.name}` ({', '.join(by[protocol])})")
        elif family in FAMILIES:
            families.setdefault(family, []).append(record)
        else:
            rows.append(f"| {' | '.join(_cells(record, by[protocol]))} |")
    rows += [_family(members) for members in families.values()]
    also = ["", f"Also, from above: {', '.join(again)}."] if again else []
    return "\n".join([f"## {title}", "", *rows, *also, ""])


def _family(members: list[EntryRecord]) -> str:
    """One row: the names together, and of each its size and repository in their order."""
    names, sizes = (
        ", ".join(cells)
        for cells in zip(*((f"`{one.name}`", f"{one.size:,}") for one in members), strict=True)
    )
    places = ", ".join(f"`{one.hub}@{one.revision[:8]}`" for one in members)
    return f"| {names} | retrieval | {sizes} | {_licence(members[0])} | {places} |"


def _licence(record: EntryRecord) -> str:
    return "–" if record.licence == "see source" else record.licence


def _cells(record: EntryRecord, tasks: Iterable[str]) -> list[str]:
    langs = record.langs or [record.lang]
    spoken = ", ".join(langs) if len(langs) < 6 else f"{len(langs)} languages"
    pinned = f"`{record.hub}@{record.revision[:8]}`" if record.is_pinned else f"`{record.hub}`, not pinned"
    return [
        f"`{record.name}`" + (f" ({spoken})" if langs != ["en"] else ""),
        ", ".join(tasks),
        f"{record.size:,}" if record.size else "not stated",
        _licence(record),
        pinned if record.hub else record.by_hand,
    ]


if __name__ == "__main__":
    put(page(), PAGE)
