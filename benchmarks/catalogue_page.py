"""docs/catalogue.md, made from the records of the catalogue.

python benchmarks/catalogue_page.py --write     renew it after a record has changed
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from made_page import put

from embassay.data.catalogue.entries import CatalogueDatasetRecord, read_catalogue_entries

PAGE = Path(__file__).parents[1] / "docs" / "catalogue.md"
HEAD = """# Catalogue

`-d NAME` accepts these {entries} datasets, listed by protocol and task. {pinned} are pinned to a commit, so everybody
reads the same bytes; those marked † can change or must be downloaded by hand. [Data](data.md#mirror-and-hub) shows how
to fetch them. `embassay data list` shows each dataset's shapes; `embassay data show NAME` shows its repository, commit,
files and columns.

Parentheses show size, licence and languages (if not only English). Size counts what is scored: pairs, texts, queries
or documents. Licences are as stated by the publisher; – means none stated, or unclear.

*Generated from `src/embassay/data/catalogue/*.yaml` by `benchmarks/catalogue_page.py --write`.*
"""
TITLES = {"sage": "SAGE", "pteb": "PTEB", "hteb": "HTEB", "hume": "HUME"}
FAMILIES = ("cqadupstack",)
"""Datasets of one publisher that differ in their subject alone: NAME-SUBJECT, said once for all."""


def page() -> str:
    """The whole page."""
    records = read_catalogue_entries().values()
    head = HEAD.format(entries=len(records), pinned=sum(record.is_pinned_to_commit for record in records))
    sections = [_section(protocol, title, records) for protocol, title in TITLES.items()]
    return "\n".join([head, *sections])


def _section(protocol: str, title: str, records: Iterable[CatalogueDatasetRecord]) -> str:
    """The datasets of a protocol that no earlier section has, task by task; those by name alone."""
    order, again = list(TITLES), []
    tasks: dict[str, list[str]] = {}
    families: dict[str, list[CatalogueDatasetRecord]] = {}
    by_hand = []
    for record in records:
        by = {str(one): names for one, names in record.protocols.items()}
        if protocol not in by:
            continue
        if any(one in by for one in order[: order.index(protocol)]):
            again.append(f"`{record.name}`")
        elif (family := record.name.partition("-")[0]) in FAMILIES:
            families.setdefault(family, []).append(record)
        else:
            tasks.setdefault(", ".join(by[protocol]), []).append(_entry(record))
            by_hand += [f"- `{record.name}`: {record.by_hand}"] if not record.hub else []
    for members in families.values():
        tasks.setdefault("retrieval", []).append(_family(members))
    lines = [f"- **{task}**: {', '.join(found)}" for task, found in tasks.items()]
    lines += ["", "To download by hand:", "", *by_hand] if by_hand else []
    lines += ["", f"Also listed above: {', '.join(again)}."] if again else []
    return "\n".join([f"## {title}", "", *lines, ""])


def _family(members: Sequence[CatalogueDatasetRecord]) -> str:
    """The names together, the sizes in their order, one licence."""
    names, sizes = (
        ", ".join(cells) for cells in zip(*((f"`{one.name}`", f"{one.size:,}") for one in members), strict=True)
    )
    return f"{names} ({sizes}; {_licence(members[0])})"


def _entry(record: CatalogueDatasetRecord) -> str:
    langs = record.langs or [record.lang]
    spoken = ", ".join(langs) if len(langs) < 6 else f"{len(langs)} languages"
    size = f"{record.size:,}" if record.size else "size not stated"
    facts = [size, _licence(record), *([spoken] if langs != ["en"] else [])]
    return f"`{record.name}`{'' if record.is_pinned_to_commit else '†'} ({'; '.join(facts)})"


def _licence(record: CatalogueDatasetRecord) -> str:
    return "–" if record.licence == "see source" else record.licence


if __name__ == "__main__":
    put(page(), PAGE)
