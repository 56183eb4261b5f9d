"""A dataset's settings: its fields, its questions and its guidelines, as `rg.Settings.from_json` reads them."""

from __future__ import annotations

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
from embassay.protocols.hume.folder.formats import Scale, Task
from embassay.protocols.hume.study import Item

Plain = dict[str, Any]
_MOST_LEVELS = 11
_SHOWN_OPTIONS = 8


def argilla_settings(task: Task, items: Sequence[Item]) -> Plain:
    """The settings of a dataset for a task with these items: as many documents as the longest query has."""
    most = max((len(item.payload.get("documents", ())) for item in items), default=0)
    return {
        "guidelines": task.guidelines,
        "fields": list(_fields(task, most)),
        "questions": [_question(task, most), _words(FLAG, "Why can it not be judged?"), _words(COMMENT, "Comment")],
        "vectors": [],
        "metadata": [
            {
                "name": TASK, "title": TASK, "visible_for_annotators": False,
                "settings": {"type": "terms", "values": [task.name], "visible_for_annotators": False},
            }
        ],
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
        "mapping": None,
    }  # fmt: skip


def as_rating(scale: Scale) -> bool:
    """Whether a rating question can hold the scale: whole numbers from 0 to 10."""
    return (
        scale.step == 1 and scale.low == int(scale.low) and scale.low >= 0 and scale.high <= _MOST_LEVELS - 1
    )


def levels(scale: Scale) -> list[str]:
    """The levels of another scale, as names of labels."""
    count = round((scale.high - scale.low) / scale.step) + 1
    return [f"{scale.low + i * scale.step:g}" for i in range(count)]


def _fields(task: Task, most: int) -> Iterable[Plain]:
    names = {
        "classification": ["text"],
        "clustering": ["text"],
        "sts": ["text1", "text2"],
        "reranking": ["query"],
    }
    for name in names[task.family]:
        yield _field(name, required=True)
    for place in range(most):
        yield _field(document(place), required=place == 0)


def _field(name: str, *, required: bool) -> Plain:
    return {
        "name": name, "title": name, "required": required, "description": None,
        "settings": {"type": "text", "use_markdown": False}, "type": "text",
    }  # fmt: skip


def _question(task: Task, most: int) -> Plain:
    if task.family == "classification":
        labels = [(str(one.value), one.name, one.description) for one in task.labels]
        return _asked(LABEL, task, "label_selection", _options(labels))
    if task.family == "clustering":
        return _asked(GROUP, task, "text", {"use_markdown": False})
    if task.family == "reranking":
        documents = [(document(place), f"document {place + 1}", "") for place in range(most)]
        told = _options([*documents, (NONE, "none of them", "")])
        return _asked(RELEVANT, task, "multi_label_selection", {**told, "options_order": "natural"})
    scale = task.scale or Scale()
    if as_rating(scale):
        values = [{"value": level} for level in range(int(scale.low), int(scale.high) + 1)]
        return _asked(RATING, task, "rating", {"options": values})
    return _asked(RATING, task, "label_selection", _options([(one, one, "") for one in levels(scale)]))


def _asked(name: str, task: Task, kind: str, told: Mapping[str, Any]) -> Plain:
    return {
        "name": name, "title": task.question, "description": _anchors(task), "required": True,
        "settings": {"type": kind, **told}, "type": kind,
    }  # fmt: skip


def _anchors(task: Task) -> str | None:
    anchors = task.scale.anchors if task.scale else {}
    return "; ".join(f"{level}: {meaning}" for level, meaning in anchors.items()) or None


def _options(named: Iterable[tuple[str, str, str]]) -> Plain:
    options = [
        {"value": value, "text": text, "description": meaning or None} for value, text, meaning in named
    ]
    return {"options": options, "visible_options": _SHOWN_OPTIONS if len(options) > _SHOWN_OPTIONS else None}


def _words(name: str, title: str) -> Plain:
    return {
        "name": name, "title": title, "description": None, "required": False,
        "settings": {"type": "text", "use_markdown": False}, "type": "text",
    }  # fmt: skip
