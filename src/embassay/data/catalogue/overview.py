"""What can be said of the datasets of the catalogue without reading them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from embassay.data.catalogue import DATASETS
from embassay.data.catalogue.entries import entries
from embassay.data.catalogue.entry import EntryRecord
from embassay.data.catalogue.mirror import mirror_folder, table_files


@dataclass(frozen=True)
class Overview:
    """A dataset in one line. `place` is where it would be read from now: `package`, `mirror`, `part of mirror`,
    `cache` (of the hub), `hub` (fetched when it is used) or `by hand` (nobody can fetch it for you)."""

    name: str
    place: str
    size: int
    tasks: tuple[str, ...]
    title: str
    protocols: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    lang: str = ""
    licence: str = ""
    hub: str = ""
    revision: str = ""


def overviews(protocol: str = "", task: str = "") -> Iterator[Overview]:
    """One per dataset that the protocol uses for the task; the sample, which serves all, is always among them."""
    known = entries()
    for one in DATASETS:
        record = known.get(one.name)
        if record is None:
            facts = dict(one.facts)
            shapes = tuple(facts.get("shapes", "").split())
            where = "hub" if one.name == "hub" else "package"
            yield Overview(one.name, where, 0, (), one.summary, shapes=shapes, lang=facts.get("lang", ""))
        elif _is_used(record, protocol, task):
            yield overview(record)


def overview(record: EntryRecord) -> Overview:
    """The record in one line."""
    return Overview(
        record.name, place(record), record.size, record.tasks, record.title, tuple(record.protocols), record.all_shapes,
        record.lang or " ".join(record.langs), record.licence, record.hub, record.revision,
    )  # fmt: skip


def place(record: EntryRecord) -> str:
    """Where it would be read from now; looks at names of files and folders only."""
    folder = mirror_folder() / record.name
    if folder.is_dir():
        return "mirror" if _is_whole(record, folder) else "part of mirror"
    if not record.hub:
        return "by hand"
    return "cache" if any(path.is_dir() for path in _cached(record.hub)) else "hub"


def _is_whole(record: EntryRecord, folder: Path) -> bool:
    """Whether every table is there in every language, or every shape in a file of its own."""
    langs = tuple(record.langs)
    found = [table_files(folder, one.part, one.splits[0], langs) for one in record.all_tables]
    tables = all(len(files) >= (1 if "" in files else max(1, len(langs))) for files in found)
    return tables or all(table_files(folder, shape, "", ()) for shape in record.all_shapes)


def _cached(repo: str) -> Iterator[Path]:
    """The folders that the libraries of the hub would keep `repo` in; they are not asked, as that loads them."""
    home = Path(
        os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface"
    )
    datasets = os.environ.get("HF_DATASETS_CACHE") or home / "datasets"
    yield Path(datasets).expanduser() / repo.replace("/", "___")


def _is_used(record: EntryRecord, protocol: str, task: str) -> bool:
    used = [tasks for by, tasks in record.protocols.items() if protocol in ("", by)]
    return any(task in ("", *tasks) for tasks in used)
