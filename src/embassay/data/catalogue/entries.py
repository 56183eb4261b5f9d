"""The records of the catalogue, read from the YAML files beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.data.rows import nearest
from embassay.data.yaml12 import read_yaml
from embassay.errors import UsageError
from embassay.registry import Registry

if TYPE_CHECKING:
    from embassay.data.catalogue.entry import EntryRecord
    from embassay.data.dataset import Dataset


@cache
def entries() -> Mapping[str, EntryRecord]:
    """Name -> record, in the order of the files: sts, classification, clustering, and so on."""
    from embassay.data.catalogue.entry import EntryRecord

    files = sorted(Path(__file__).parent.glob("*.yaml"))
    records = [EntryRecord.model_validate(one) for file in files for one in read_yaml(file)]
    return {record.name: record for record in records}


def entry(name: str) -> EntryRecord:
    """The record called `name`; UsageError, with the nearest name, for a dataset without one."""
    if name not in entries():
        near = nearest(name, entries())
        raise UsageError(
            f"The dataset {name!r} has no record.",
            mend=f"{f'Did you mean {near}? ' if near else ''}`embassay data list` shows all.",
        )
    return entries()[name]


def register_all(registry: Registry[Dataset]) -> None:
    """Give the registry a factory for every record, nothing of which is opened."""
    from embassay.data.catalogue.opened import open_entry

    for record in entries().values():
        lang = record.lang or "mul"
        registry.add(
            record.name,
            partial(open_entry, record),
            record.title,
            lang=lang,
            shapes=" ".join(record.all_shapes),
            protocols=" ".join(record.protocols),
        )
