"""What an annotator's page does to the store: save, take the lease, finish a task, set the profile."""

from __future__ import annotations

from typing import Any

from embassay.errors import DataError
from embassay.protocols.hume.answers import Annotator, Draft, Refused, checked_value
from embassay.protocols.hume.folder import Task
from embassay.protocols.hume.study import Item
from embassay.web.annotation.refusals import Refusal, not_found
from embassay.web.annotation.sent import SentAnswer, SentProfile, SentTab
from embassay.web.annotation.service import Service
from embassay.web.annotation.shown import answer_shown

_WHY = {
    "frozen": "This task is finished, and its answers are frozen.",
    "older": "A later answer to this item is stored already.",
    "another_tab": "The study is open in another tab, which writes. Take over there or here.",
}


def item_of(service: Service, item_id: str) -> Item:
    """The item of this id. Raises Refusal where there is none."""
    if item_id not in service.items:
        raise not_found()
    return service.items[item_id]


def task_of(service: Service, name: str) -> Task:
    """The task of this name. Raises Refusal where there is none."""
    if name not in service.tasks:
        raise not_found()
    return service.tasks[name]


def save(service: Service, annotator: Annotator, item_id: str, sent: SentAnswer) -> dict[str, Any]:
    """Store an answer. Raises Refusal for a value that is no answer to the item, and where it may not be stored."""
    item = item_of(service, item_id)
    try:
        value = checked_value(service.tasks[item.task], item.payload, sent.value)
    except DataError as error:
        raise Refusal(400, f"This is no answer to the item. {error.mend}".strip()) from None
    draft = Draft(
        item.id, value, sent.seq, sent.seconds, sent.flag.strip(), sent.comment, sent.tab, sent.paused
    )
    done = service.store.save(annotator.id, item.task, draft)
    if isinstance(done, Refused):
        held = answer_shown(done.answer) if done.answer else None
        raise Refusal(409, _WHY[done.why], why=done.why, answer=held)
    return {"seq": done.seq, "saved_at": done.saved_at}


def take_lease(service: Service, annotator: Annotator, sent: SentTab) -> dict[str, bool]:
    """Whether this tab may write."""
    return {"writes": service.store.take_lease(annotator.id, sent.tab, take=sent.take)}


def finish(service: Service, annotator: Annotator, task: str, sent: SentTab | None = None) -> dict[str, Any]:
    """Freeze a task. Raises Refusal with the open items, and those that are flagged, where some are open, and where the
    tab that asks is not the one that writes."""
    name = task_of(service, task).name
    if sent is not None and not service.store.take_lease(annotator.id, sent.tab, take=sent.take):
        raise Refusal(409, _WHY["another_tab"], why="another_tab", open=[], flagged=[])
    order = service.order(annotator.id, name)
    left = service.store.finish(annotator.id, name, order)
    if left:
        answers = service.store.answers(annotator.id)
        flagged = [item for item in order if item in answers and answers[item].flag]
        raise Refusal(409, f"{len(left)} of {len(order)} are still open.", open=list(left), flagged=flagged)
    return {"finished": True}


def set_profile(service: Service, annotator: Annotator, sent: SentProfile) -> dict[str, Any]:
    """Keep a name and settings."""
    name = (sent.name or "").strip() or None
    service.store.set_profile(annotator.id, name, sent.settings.model_dump())
    return {"name": name, "settings": sent.settings.model_dump()}
