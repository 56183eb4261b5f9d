"""Bundles: many systems' results in one file, a record for each system, task and subset; to documents and back.

A record has `model revision task split hf_subset languages main_score scores agreement dataset_revision mteb_version`,
and may have more. What a document of MTEB has no place for is kept in our block of it, so that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.protocols.mteb.document import BLOCK, MAIN, Document, checked

Record = Mapping[str, Any]
_TEXTS = ("model", "revision", "task")
_RECORDS = "records"
_ENTRY = ("hf_subset", "languages", "agreement")
_FIELDS = (
    *_TEXTS, "split", "hf_subset", "languages", MAIN, "scores", "agreement", "dataset_revision", "mteb_version",
)  # fmt: skip


def documents_of(
    records: Sequence[Any], where: Path | None = None, fault: Callable[[str], None] | None = None
) -> Iterator[Document]:
    """The documents of a bundle's records, in the order of their first records; `bundle_of` gives the records back.

    A record that is none goes to `fault` in words, or raises DataError where nobody listens.
    """
    groups: dict[tuple[str, ...], list[tuple[int, Record]]] = {}
    for place, record in enumerate(records):
        try:
            groups.setdefault(_owner(record, place, where), []).append((place, record))
        except DataError as error:
            if fault is None:
                raise
            fault(error.message)
    for group in groups.values():
        try:
            yield checked(_document(group), where)
        except DataError as error:
            if fault is None:
                raise
            fault(f"{error.message} (results {', '.join(str(place + 1) for place, _ in group)})")


def bundle_of(documents: Iterable[Document]) -> list[dict[str, Any]]:
    """The records of documents: those that came from a bundle as they were and in its order, others after them."""
    found = [
        (place if place is not None else float("inf"), record)
        for document in documents
        for place, record in _records(document)
    ]
    return [record for _, record in sorted(found, key=lambda one: one[0])]


def _owner(record: Any, place: int, where: Path | None) -> tuple[str, ...]:
    if not isinstance(record, dict):
        raise DataError(f"Result {place + 1} is no object", path=where, found=repr(record)[:60])
    for key in _TEXTS:
        if not isinstance(record.get(key), str) or not record[key]:
            raise DataError(f"Result {place + 1} has no {key}", path=where, found=repr(record.get(key))[:60])
    if not isinstance(record.get("scores") or {}, dict):
        raise DataError(
            f"Result {place + 1} has scores that are no object", path=where, found=repr(record["scores"])[:60]
        )
    return record["model"], record["revision"], record["task"]


def _document(group: Sequence[tuple[int, Record]]) -> Document:
    first = group[0][1]
    scores: dict[str, list[dict[str, Any]]] = {}
    for _, record in group:
        scores.setdefault(_split(record), []).append(_entry(record))
    body: dict[str, Any] = {
        "dataset_revision": first.get("dataset_revision"),
        "task_name": first["task"],
        "mteb_version": first.get("mteb_version"),
        "scores": scores,
        "evaluation_time": None,
        "kg_co2_emissions": None,
    }
    bare = Document(first["model"], first["revision"], body)
    # The records of a document come split by split.
    ordered = [one for split in scores for one in group if _split(one[1]) == split]
    kept = [
        _beside(place, record, _record(bare, split, entry))
        for (place, record), (split, entry) in zip(ordered, bare.entries(), strict=True)
    ]
    return Document(bare.model, bare.revision, {**body, BLOCK: {_RECORDS: kept}})


def _split(record: Record) -> str:
    split = record.get("split", "test")
    return split if isinstance(split, str) else "test"


def _entry(record: Record) -> dict[str, Any]:
    """As MTEB has it: the scores with the subset and its languages among them."""
    entry = {
        **(record.get("scores") or {}),
        MAIN: record.get(MAIN),
        "hf_subset": record.get("hf_subset", "default"),
    }
    entry["languages"] = record.get("languages") or []
    if record.get("agreement") is not None:
        entry["agreement"] = record["agreement"]
    return entry


def _record(document: Document, split: str, entry: Record) -> dict[str, Any]:
    """A record made of an entry alone."""
    body = document.body
    return {
        "model": document.model, "revision": document.revision, "task": document.task, "split": split,
        "hf_subset": entry.get("hf_subset", "default"), "languages": entry.get("languages") or [],
        MAIN: entry.get(MAIN),
        "scores": {key: value for key, value in entry.items() if key not in _ENTRY},
        "agreement": entry.get("agreement"),
        "dataset_revision": body.get("dataset_revision"), "mteb_version": body.get("mteb_version"),
    }  # fmt: skip


def _beside(place: int, record: Record, made: Record) -> dict[str, Any]:
    """What has to be known beside the entry: the record's place, its order of fields, and those that differ."""
    differ = {key: record[key] for key in record if key not in made or not same(made[key], record[key])}
    usual = tuple(record) == _FIELDS
    return {"place": place, **({} if usual else {"fields": list(record)}), "values": differ}


def _records(document: Document) -> Iterator[tuple[int | None, dict[str, Any]]]:
    block = document.body.get(BLOCK)
    kept = block.get(_RECORDS) if isinstance(block, dict) else None
    entries = list(document.entries())
    if not isinstance(kept, list) or len(kept) != len(entries):
        kept = [None] * len(entries)
    for (split, entry), beside in zip(entries, kept, strict=True):
        made = _record(document, split, entry)
        if not isinstance(beside, dict):
            yield None, made
            continue
        place, values, fields = (beside.get(key) for key in ("place", "values", "fields"))
        whole = {**made, **(values if isinstance(values, dict) else {})}
        order = fields if isinstance(fields, list) else _FIELDS
        yield place if isinstance(place, int) else None, {key: whole[key] for key in order if key in whole}


def same(a: Any, b: Any) -> bool:
    """Whether two values of JSON are the same in every digit and type; NaN is NaN, and an object's order counts not.

    >>> same({"x": [float("nan"), 1]}, {"x": [float("nan"), 1]}), same(1, 1.0), same(0.0, False)
    (True, False, False)
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b or (a != a and b != b))
