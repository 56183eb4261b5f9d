"""What an annotator's page is told: the study in their own order, with their own answers. Never gold, nor anybody
else's."""

from __future__ import annotations

from typing import Any

from embassay.protocols.hume.answers import Annotator, Saved
from embassay.protocols.hume.folder import Task
from embassay.protocols.hume.study import Item
from embassay.web.annotation.guidelines import as_html
from embassay.web.annotation.service import Service

RIGHT_TO_LEFT = frozenset(
    {"ara", "arb", "heb", "fas", "pes", "urd", "yid", "div", "pus", "ckb", "snd", "uig"}
)
SETTINGS = {"single_keys": True, "advance": False, "theme": "system"}


def study_shown(service: Service, annotator: Annotator) -> dict[str, Any]:
    """The study as one annotator meets it: no item's text is in it."""
    answers = service.store.answers(annotator.id)
    finished = service.store.finished().get(annotator.id, {})
    study = service.folder.study
    return {
        "study": study.name,
        "annotator": {"name": annotator.name, "settings": {**SETTINGS, **annotator.settings}},
        "guidelines_version": study.guidelines_version,
        "tasks": [
            task_shown(task, list(service.order(annotator.id, task.name)), task.name in finished)
            for task in study.tasks
        ],
        "answers": {item: answer_shown(one) for item, one in answers.items() if not one.is_empty},
        "seq": service.store.last_seq(annotator.id),
    }


def task_shown(task: Task, items: list[str], finished: bool) -> dict[str, Any]:
    """A task with its instructions and practice; of its source, nothing."""
    return {
        "name": task.name,
        "family": task.family,
        "lang": task.lang,
        "dir": "rtl" if task.lang in RIGHT_TO_LEFT else "ltr",
        "title": task.title,
        "question": task.question,
        "labels": [label.model_dump() for label in task.labels],
        "scale": task.scale.model_dump() if task.scale else None,
        "guidelines_html": str(as_html(task.guidelines)),
        "practice": [one.model_dump() for one in task.practice],
        "n": len(items),
        "items": items,
        "finished": finished,
    }


def item_shown(item: Item) -> dict[str, Any]:
    """An item as everybody sees it."""
    return {"id": item.id, "task": item.task, "payload": dict(item.payload)}


def answer_shown(answer: Saved) -> dict[str, Any]:
    """An annotator's own answer; `seconds` so that the page goes on counting."""
    return {
        "value": answer.value,
        "flag": answer.flag,
        "comment": answer.comment,
        "seconds": answer.seconds,
        "seq": answer.seq,
        "saved_at": answer.saved_at,
    }
