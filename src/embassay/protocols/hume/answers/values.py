"""Whether what an annotator sent is an answer to the item, by the family of its task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from embassay.errors import DataError
from embassay.protocols.hume.answers.records import DRAFT, is_draft
from embassay.protocols.hume.folder import Scale, Task
from embassay.protocols.hume.study import read_value

_LONGEST_GROUP = 80


def checked_value(task: Task, payload: Mapping[str, Any], value: Any) -> Any:
    """`value` as it is stored, in JSON's terms: a label, a group, a rating on the scale, or one 0 or 1 per document
    shown; None, and a draft with open documents, as they are. Raises DataError for what is none of these.
    """
    where = "This answer"
    if is_draft(value) and task.family == "reranking":
        return {DRAFT: _draft(value[DRAFT], _documents(payload))}
    if isinstance(value, Mapping | float) and not _is_number(value):
        raise DataError(f"{where} is of no kind that this task knows.", mend="Answer it on its page.")
    like = (0,) * _documents(payload) if task.family == "reranking" else None
    try:
        read = read_value(task.spec, value, where, like=like)
    except OverflowError:
        raise DataError(f"{where} is not a number that can be read.") from None
    if read is None:
        return None
    if task.family == "sts":
        return _on_scale(read, task.scale or Scale(), where)
    if task.family == "clustering":
        return _group(read, where)
    return list(read) if isinstance(read, tuple) else read


def _on_scale(rating: float, scale: Scale, where: str) -> float:
    steps = (rating - scale.low) / scale.step
    if not scale.low <= rating <= scale.high or not math.isclose(steps, round(steps), abs_tol=1e-6):
        raise DataError(
            f"{where} is {rating:g}.",
            mend=f"Give a number from {scale.low:g} to {scale.high:g} in steps of {scale.step:g}.",
        )
    return rating


def _group(group: str, where: str) -> str:
    if len(group) > _LONGEST_GROUP or not is_plain(group):
        raise DataError(f"{where} is no group's id.", mend=f"Use at most {_LONGEST_GROUP} plain characters.")
    return group


def _draft(marks: Any, documents: int) -> list[int | None]:
    whole = isinstance(marks, Sequence) and not isinstance(marks, str) and len(marks) == documents
    if not whole or not all(mark is None or mark in (0, 1) for mark in marks):
        raise DataError("This draft has not one mark for each document.", mend="Give 0, 1 or null for each.")
    return [None if mark is None else int(mark) for mark in marks]


def _documents(payload: Mapping[str, Any]) -> int:
    return len(payload.get("documents", ()))


def _is_number(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def is_plain(text: str) -> bool:
    """Whether every database can keep a text: no NUL and no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)
