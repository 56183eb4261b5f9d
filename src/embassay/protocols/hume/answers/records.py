"""What the store of answers holds, and whether what an annotator sent is an answer to the item."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from embassay.errors import DataError
from embassay.protocols.hume.folder import Scale, Task
from embassay.protocols.hume.study import Who, read_value

Role = Literal["annotator", "owner"]
DRAFT = "draft"
"""A value {"draft": [...]} is not decided yet: some documents of the query are still open."""


@dataclass(frozen=True)
class Annotator:
    """Who may answer. `name` is the one they gave themselves, None until they did; `settings` are those of the page."""

    id: str
    kind: Who = "person"
    name: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Draft:
    """An answer as it is sent. `seq` counts up in the annotator's browser, so that a repeat is known as one;
    `seconds` are those the item was seen so far, `paused` how often the page was left for long; `tab` who sent it."""

    item_id: str
    value: Any
    seq: int
    seconds: float | None = None
    flag: str = ""
    comment: str = ""
    tab: str = ""
    paused: int = 0


@dataclass(frozen=True)
class Saved:
    """An answer as it is stored, with the time (ISO 8601, UTC) at which it was."""

    item_id: str
    value: Any
    flag: str
    comment: str
    seconds: float | None
    paused: int
    seq: int
    saved_at: str

    @property
    def is_complete(self) -> bool:
        """Whether it has a value that scoring can use."""
        return self.value is not None and not is_draft(self.value)

    @property
    def is_decided(self) -> bool:
        """Whether the annotator is done with the item: with a value, or a reason why there can be none."""
        return self.is_complete or (self.value is None and bool(self.flag))

    @property
    def is_empty(self) -> bool:
        """Whether it was taken back and nothing is left of it."""
        return self.value is None and not self.flag and not self.comment


@dataclass(frozen=True)
class Refused:
    """An answer that was not stored: the task is `frozen`, a later one is there (`older`), or `another_tab` writes.
    `answer` is the one that holds."""

    why: Literal["frozen", "older", "another_tab"]
    answer: Saved | None


@dataclass(frozen=True)
class Change:
    """One step in the history of an annotator's answers; what was taken back is one too."""

    annotator_id: str
    answer: Saved
    tab: str


def is_draft(value: Any) -> bool:
    """Whether a value is one that is not decided yet."""
    return isinstance(value, Mapping) and set(value) == {DRAFT}


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
