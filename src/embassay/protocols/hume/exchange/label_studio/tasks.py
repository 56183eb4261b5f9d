"""Items as Label Studio's tasks, with people's answers only where these are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from embassay.protocols.hume.exchange.label_studio.config import levels
from embassay.protocols.hume.exchange.label_studio.names import (
    COMMENT,
    FLAG,
    GROUP,
    ITEM,
    LABEL,
    NO,
    RATING,
    RELEVANT,
    TASK,
    YES,
)
from embassay.protocols.hume.folder.formats import AnnotationRow, Scale, Task
from embassay.protocols.hume.study import Item
from embassay.runs.files import digest

Plain = dict[str, Any]


def label_studio_tasks(task: Task, items: Iterable[Item], rows: Sequence[AnnotationRow] = ()) -> list[Plain]:
    """One task per item: `data` is what is shown, with the item's id; `annotations` are those of `rows`.

    A user there is a number or an e-mail address, which an annotator's id is not: it goes into `meta` of every result,
    and reading takes it from there.
    """
    by_item: dict[str, list[AnnotationRow]] = {}
    for row in rows:
        by_item.setdefault(row.item_id, []).append(row)
    return [
        {"data": _data(task, item), **_answers(task, by_item.get(item.id, []), with_answers=bool(rows))}
        for item in items
    ]


def _data(task: Task, item: Item) -> Plain:
    payload = dict(item.payload)
    if task.family == "reranking":
        payload["documents"] = [{"id": one["id"], "text": one["text"]} for one in payload["documents"]]
    return {ITEM: item.id, TASK: task.name, **payload}


def _answers(task: Task, rows: Sequence[AnnotationRow], *, with_answers: bool) -> Plain:
    return {"annotations": [_annotation(task, row) for row in rows]} if with_answers else {}


def _annotation(task: Task, row: AnnotationRow) -> Plain:
    found: Plain = {"result": [], "was_cancelled": row.value is None, "ground_truth": False}
    for name, shown, kind, value in _results(task, row):
        key = digest([row.item_id, row.annotator_id, name])[:10]
        found["result"].append({
            "id": key, "from_name": name, "to_name": shown, "type": kind, "value": value,
            "meta": {"annotator": row.annotator_id, "kind": row.kind},
        })  # fmt: skip
    if row.seconds is not None:
        found["lead_time"] = row.seconds
    if row.ts:
        found["created_at"] = row.ts
    return found


def _results(task: Task, row: AnnotationRow) -> Iterable[tuple[str, str, str, Mapping[str, Any]]]:
    """Tag, what it is about, its type and value."""
    first = {"reranking": "query", "sts": "text1"}.get(task.family, "text")
    if row.value is not None:
        yield from _values(task, row.value)
    for name, text in ((FLAG, row.flag), (COMMENT, row.comment)):
        if text:
            yield name, first, "textarea", {"text": [text]}


def _values(task: Task, value: Any) -> Iterable[tuple[str, str, str, Mapping[str, Any]]]:
    if task.family == "classification":
        yield LABEL, "text", "choices", {"choices": [str(value)]}
    elif task.family == "clustering":
        yield GROUP, "text", "textarea", {"text": [str(value)]}
    elif task.family == "sts":
        choice = f"{value:g}" in levels(task.scale or Scale())
        told = {"choices": [f"{value:g}"]} if choice else {"number": value}
        yield RATING, "text1", "choices" if choice else "number", told
    else:
        for place, mark in enumerate(value):
            yield f"{RELEVANT}_{place}", f"document_{place}", "choices", {"choices": [YES if mark else NO]}
