"""All answers as a file: JSONL as the study's folder keeps it, or CSV with a row per answer."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from semblance.protocols.hume.folder import AnnotationRow
from semblance.protocols.hume.study import Annotation

COLUMNS = (
    "item_id", "annotator_id", "value", "ts", "seconds", "kind", "flag", "comment", "task", "position",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_jsonl(annotations: Sequence[Annotation]) -> str:
    """An `AnnotationRow` a line: what `annotations/*.jsonl` holds."""
    return "".join(_row(one).model_dump_json() + "\n" for one in annotations)


def as_csv(
    annotations: Sequence[Annotation], tasks: Mapping[str, str], positions: Mapping[tuple[str, str], int]
) -> str:
    """A row per answer with the task of its item and its `position` (from 1) in the annotator's own order, by
    annotator and item. Marks are a JSON list. What annotators wrote never begins like a formula of a spreadsheet: such
    a flag or comment gets a quote before it.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in annotations:
        row = _row(one)
        cells: list[Any] = [
            row.item_id, row.annotator_id, _cell(row.value), row.ts, row.seconds, row.kind, _inert(row.flag),
            _inert(row.comment), tasks[row.item_id], positions[row.annotator_id, row.item_id],
        ]  # fmt: skip
        writer.writerow(cells)
    return out.getvalue()


def _row(one: Annotation) -> AnnotationRow:
    value = list(one.value) if isinstance(one.value, tuple) else one.value
    return AnnotationRow(
        item_id=one.item_id, annotator_id=one.annotator_id, value=value, ts=one.ts, seconds=one.seconds,
        kind=one.kind, flag=one.flag, comment=one.comment,
    )  # fmt: skip


def _cell(value: Any) -> Any:
    return (
        json.dumps(value) if isinstance(value, list) else _inert(value) if isinstance(value, str) else value
    )


def _inert(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
