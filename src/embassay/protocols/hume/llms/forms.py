"""The form of an answer to an item: how it is read, and the JSON that a server is told to bind it to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from embassay.protocols.hume.folder.formats import Scale, Task
from embassay.protocols.hume.llms import reading
from embassay.protocols.hume.llms.answers import Mode
from embassay.protocols.hume.llms.prompts import kind_of, letters
from embassay.protocols.hume.llms.reading import Unread

_STRICT = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True)
class Read:
    """The value of an answer; `lacking` says what had to be added to it, "" for one that is whole."""

    value: Any
    lacking: str = ""


@dataclass(frozen=True)
class Form:
    """`read` raises Unread for what is no answer; `schema` is a pydantic model of the answer."""

    schema: type[BaseModel]
    read: Callable[[str], Read]


def form(task: Task, mode: Mode, payload: Mapping[str, Any]) -> Form:
    """The form of the answer to an item of a task."""
    kind = kind_of(task, mode)
    if kind == "classification":
        named = {"enum": [one.name for one in task.labels]}
        return Form(_model(reading.LABEL, str, named), partial(_label, task))
    if kind == "sts":
        scale = task.scale or Scale()
        ends = {"minimum": scale.low, "maximum": scale.high}
        return Form(_model(reading.RATING, float, ends), partial(_rating, scale))
    names = letters(len(payload["documents"]))
    listed = {"items": {"type": "string", "enum": names}}
    if kind == "ranking":
        return Form(_model(reading.RANKING, list[str], listed), partial(_order, names))
    return Form(_model(reading.RELEVANT, list[str], listed), partial(_marks, names))


def _model(name: str, kind: Any, told: dict[str, Any]) -> type[BaseModel]:
    """A server hears also which values there are (`told`); whether an answer keeps to them is for `read` to say, which
    knows what can still be used of one that does not."""
    field = Field(json_schema_extra=told)
    title = f"{name.capitalize()}Answer"
    fields: dict[str, Any] = {name: (kind, field)}
    return create_model(title, __config__=_STRICT, **fields)


def _label(task: Task, text: str) -> Read:
    return Read(reading.read_label(text, task.labels))


def _rating(scale: Scale, text: str) -> Read:
    return Read(reading.read_rating(text, scale))


def _order(names: list[str], text: str) -> Read:
    found = reading.read_order(text, names)
    faults = [
        f"{count} {what}"
        for count, what in ((found.missing, "missing"), (found.unknown, "unknown or repeated"))
        if count
    ]
    return Read(list(found.places), ", ".join(faults))


def _marks(names: list[str], text: str) -> Read:
    return Read(list(reading.read_marks(text, names)))


__all__ = ["Form", "Read", "Unread", "form"]
