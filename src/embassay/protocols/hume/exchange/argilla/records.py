"""Items as Argilla's records, with people's responses only where these are asked for."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from embassay.protocols.hume.exchange.argilla.names import (
    COMMENT,
    FLAG,
    GROUP,
    LABEL,
    NONE,
    RATING,
    RELEVANT,
    TASK,
    document,
)
from embassay.protocols.hume.exchange.argilla.settings import as_rating
from embassay.protocols.hume.folder.formats import AnnotationRow, Scale, Task
from embassay.protocols.hume.study import Item

Plain = dict[str, Any]
_USERS = uuid.UUID("0d0f5c3e-6d5b-5a2e-9b0c-6f6f3f6f2b11")


def argilla_records(task: Task, items: Iterable[Item], rows: Sequence[AnnotationRow] = ()) -> list[Plain]:
    """One record per item, as `rg.Record.from_dict` reads it: `responses` by question, each with the user and the
    status (submitted, or discarded where the item could not be judged)."""
    by_item: dict[str, list[AnnotationRow]] = {}
    for row in rows:
        by_item.setdefault(row.item_id, []).append(row)
    return [
        {
            "id": item.id,
            "fields": _fields(task, item),
            "metadata": {TASK: task.name},
            "suggestions": {},
            "responses": _responses(task, by_item.get(item.id, [])),
            "vectors": {},
        }
        for item in items
    ]


def user_id(annotator: str) -> str:
    """The id of an annotator as a user: their own where it is a UUID, else one that follows from it."""
    try:
        return str(uuid.UUID(annotator))
    except ValueError:
        return str(uuid.uuid5(_USERS, annotator))


def _fields(task: Task, item: Item) -> Plain:
    payload = item.payload
    if task.family != "reranking":
        return dict(payload)
    documents = {document(place): one["text"] for place, one in enumerate(payload["documents"])}
    return {"query": payload["query"], **documents}


def _responses(task: Task, rows: Sequence[AnnotationRow]) -> dict[str, list[Plain]]:
    found: dict[str, list[Plain]] = {}
    for row in rows:
        status = "discarded" if row.value is None else "submitted"
        for name, value in _answers(task, row):
            found.setdefault(name, []).append(
                {"value": value, "user_id": user_id(row.annotator_id), "status": status}
            )
    return found


def _answers(task: Task, row: AnnotationRow) -> Iterable[tuple[str, Any]]:
    names: Mapping[str, str] = {
        "classification": LABEL, "clustering": GROUP, "sts": RATING, "reranking": RELEVANT
    }  # fmt: skip
    if row.value is not None:
        yield names[task.family], _value(task, row.value)
    for name, text in ((FLAG, row.flag), (COMMENT, row.comment)):
        if text:
            yield name, text


def _value(task: Task, value: Any) -> Any:
    if task.family == "reranking":
        return [document(place) for place, mark in enumerate(value) if mark] or [NONE]
    if task.family == "sts":
        whole = as_rating(task.scale or Scale()) and value == int(value)
        return int(value) if whole else f"{value:g}"
    return str(value)
