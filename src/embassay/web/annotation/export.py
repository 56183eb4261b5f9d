"""All answers as a file, as `embassay hume export` writes them: `hume import` reads both."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols.hume.exchange.tables import as_csv, as_jsonl
from embassay.protocols.hume.folder import AnnotationRow
from embassay.protocols.hume.study import Annotation

KINDS = {"csv": (as_csv, "text/csv"), "jsonl": (as_jsonl, "application/jsonl")}
"""How a file is written, and what it is called in an answer."""


def exported(annotations: Sequence[Annotation], kind: str) -> str:
    """The text of the file."""
    write, _ = KINDS[kind]
    return write([_row(one) for one in annotations])


def _row(one: Annotation) -> AnnotationRow:
    value = list(one.value) if isinstance(one.value, tuple) else one.value
    return AnnotationRow(
        item_id=one.item_id, annotator_id=one.annotator_id, value=value, ts=one.ts, seconds=one.seconds,
        kind=one.kind, flag=one.flag, comment=one.comment,
    )  # fmt: skip
