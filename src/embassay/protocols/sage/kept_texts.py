"""The texts that stand beside a run's items: all of them, but of a large corpus only those that somebody may look at.

A corpus that lies in a file isn't copied into every run: kept are the queries, the judged documents and, when cells
have ended, the documents that some system has found. A task whose items are the documents themselves keeps none of
them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from embassay.data.stream import lies_in_file
from embassay.parquet import read_parquet
from embassay.protocols.sage import work
from embassay.protocols.sage.plan import Plan
from embassay.records import RetrievalSet
from embassay.runs.folder import RunFolder, write_columns

Columns = dict[str, list[str]]


def keep_texts(plan: Plan, folder: RunFolder) -> None:
    """Keep the texts that each task judges beside its items, once."""
    for dataset in plan.datasets:
        for one in dataset.tasks:
            folder.keep_texts(one.task, dataset.name, partial(_texts, plan, dataset.source, one.task))


def keep_found_texts(plan: Plan, folder: RunFolder) -> None:
    """Add the documents of large corpora that systems have found since."""
    for dataset in plan.datasets:
        for one in dataset.tasks:
            paths = (
                folder.items_path(one.task, dataset.name, system.name, ".rankings") for system in plan.systems
            )
            found = {str(doc) for path in paths for doc in _found(path)}
            path = folder.texts_path(one.task, dataset.name)
            if not found <= _kept(path):
                write_columns(path, _texts(plan, dataset.source, one.task, found))


def _texts(plan: Plan, source: str, name: str, found: Iterable[str] = ()) -> Columns:
    request = plan.request
    limit = request.options.drawn(name, request.limit)
    data = work.load(name, request.dataset(source), limit, request.seed).data
    wanted = {*found, *_judged(data)}
    columns: Columns = {"item_id": [], "field": [], "text": []}
    for field, (ids, texts) in work.task(name).fields(data).items():
        kept_ids, kept = few(ids, texts, wanted) if lies_in_file(texts) else (ids, texts)
        columns["item_id"] += kept_ids
        columns["field"] += [field] * len(kept_ids)
        columns["text"] += kept
    return columns


def few(ids: Sequence[str], texts: Sequence[str], wanted: Container[str]) -> tuple[list[str], list[str]]:
    """The wanted ids and their texts, in the order of the corpus; the ids are read once, of the texts only those."""
    places = {key: place for place, key in enumerate(ids) if key in wanted}
    return list(places), [texts[place] for place in places.values()]


def _judged(data: Any) -> Iterable[str]:
    qrels: Mapping[str, Mapping[str, float]] = data.qrels if isinstance(data, RetrievalSet) else {}
    return (doc for grades in qrels.values() for doc in grades)


def _found(path: Path) -> Iterable[Any]:
    return read_parquet(path, ["doc_id"])["doc_id"].unique().to_list() if path.exists() else ()


def _kept(path: Path) -> set[str]:
    if not path.exists():
        return set()
    frame = read_parquet(path, ["item_id", "field"])
    return set(frame.filter(frame["field"] == "document")["item_id"].to_list())
