"""Argilla's exported records as answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.limits import read_bounded
from embassay.protocols.hume.exchange.argilla.names import (
    COMMENT,
    FLAG,
    GROUP,
    LABEL,
    NONE,
    RATING,
    RELEVANT,
    USERS,
    document,
)
from embassay.protocols.hume.exchange.argilla.shapes import MEND, Response, by_user, is_argilla, records_of
from embassay.protocols.hume.exchange.incoming import SKIPPED, Incoming, Place, Taken
from embassay.protocols.hume.folder.formats import Task
from embassay.protocols.hume.folder.reading import StudyFolder

_MAIN: Mapping[str, str] = {
    "classification": LABEL,
    "clustering": GROUP,
    "sts": RATING,
    "reranking": RELEVANT,
}
_STATUSES = ("draft", "discarded", "submitted")
_NO_STATUS = (
    "responses without a status are taken as submitted; a flat export (flatten=True) tells drafts apart"
)


def read_argilla(path: Path, folder: StudyFolder) -> Taken:
    """The answers of exported records: submitted ones count; discarded ones have no value and the flag `skipped`,
    unless a reason was given; drafts are left out.

    `users.json` beside the file, as `hume export` writes it, says who a user's id stands for.
    DataError, with the record, for what cannot be read.
    """
    taken = Taken()
    document = _json(path)
    if not is_argilla(document):
        raise DataError("These are no records of Argilla", path=path, mend=MEND)
    users = _users(path.parent / USERS)
    items = {item.id: item for item in folder.items}
    for number, record in enumerate(records_of(document), start=1):
        at = Place(path, words=f"record {number} ({record.get('id', '-')})")
        item = record.get("external_id") or record.get("id")
        if item not in items:
            raise at.fault("it is of no item of the study", found=repr(item)[:60], mend=MEND)
        task, payload = folder.task(items[item].task), items[item].payload
        responses = by_user(record, at)
        if not responses:
            taken.leave_out("records without a response")
        for user, response in responses.items():
            annotator = users.get(user, user)
            _take(task, payload, str(item), annotator, response, at, taken)
    return taken


def _take(
    task: Task,
    payload: Mapping[str, Any],
    item: str,
    annotator: str,
    response: Response,
    at: Place,
    taken: Taken,
) -> None:
    status = response.status or "submitted"
    if not response.status:
        taken.remarks.append(_NO_STATUS)
    if status not in _STATUSES:
        raise at.fault(
            "the status of a response is not known", expected=", ".join(_STATUSES), found=status[:60]
        )
    if status == "draft":
        taken.leave_out("drafts")
        return
    value = (
        _value(task, payload, response.said.get(_MAIN[task.family]), at) if status == "submitted" else None
    )
    flag, comment = (str(response.said.get(name) or "") for name in (FLAG, COMMENT))
    if value is None and status == "submitted" and not flag and not comment:
        taken.leave_out("responses without an answer")
        return
    if value is None and status == "discarded":
        flag = flag or SKIPPED
    taken.answers.append(Incoming(item, annotator, value, at, ts=response.ts, flag=flag, comment=comment))


def _value(task: Task, payload: Mapping[str, Any], said: Any, at: Place) -> Any:
    if task.family != "reranking" or said is None:
        return said
    names = [document(place) for place in range(len(payload["documents"]))]
    if not isinstance(said, list) or (unknown := [one for one in said if one not in (*names, NONE)]):
        what = repr(said if not isinstance(said, list) else unknown[0])[:60]
        raise at.fault("the relevant documents are not known", expected=", ".join(names), found=what)
    if NONE in said and len(said) > 1:
        raise at.fault(
            "documents are relevant and none of them is", found=repr(said)[:60], mend="Correct it there."
        )
    return [int(name in said) for name in names]


def _users(path: Path) -> Mapping[str, str]:
    if not path.is_file():
        return {}
    found = _json(path)
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found.values()):
        raise DataError(
            "This is no list of users", path=path, expected='{"id": "name"}', mend="Correct or delete it."
        )
    return found


def _json(path: Path) -> Any:
    try:
        return json.loads(read_bounded(path))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            "The file cannot be read as JSON", path=path, found=str(error)[:120], mend=MEND
        ) from None
