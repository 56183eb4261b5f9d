"""Argilla's records as answers, in each form they are exported in: by question, flat, or as its server sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from semblance.errors import DataError
from semblance.protocols.hume.exchange.argilla.names import (
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
from semblance.protocols.hume.exchange.incoming import SKIPPED, Incoming, Place, Taken
from semblance.protocols.hume.folder.formats import Task
from semblance.protocols.hume.folder.reading import StudyFolder

_MEND = "Export records there with their responses (`dataset.records.to_list(flatten=True)` as JSON)."
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


@dataclass
class _Response:
    """All that one user said of a record."""

    status: str = ""
    said: dict[str, Any] = field(default_factory=dict)
    ts: str = ""


def is_argilla(document: Any) -> bool:
    """Whether a JSON document looks like records of Argilla."""
    records = _records(document)
    return bool(records) and all(
        isinstance(one, dict) and ("fields" in one or any(key.endswith(".responses") for key in one))
        for one in records
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
        raise DataError("These are no records of Argilla", path=path, mend=_MEND)
    users = _users(path.parent / USERS)
    items = {item.id: item for item in folder.items}
    for number, record in enumerate(_records(document), start=1):
        at = Place(path, words=f"record {number} ({record.get('id', '-')})")
        item = record.get("external_id") or record.get("id")
        if item not in items:
            raise at.fault("it is of no item of the study", found=repr(item)[:60], mend=_MEND)
        task, payload = folder.task(items[item].task), items[item].payload
        responses = _by_user(record, at)
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
    response: _Response,
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


def _by_user(record: Mapping[str, Any], at: Place) -> dict[str, _Response]:
    """What every user said, from whichever form the record is in."""
    found: dict[str, _Response] = {}
    for user, question, value, status, ts in _said(record, at):
        response = found.setdefault(user, _Response())
        if question in response.said:
            raise at.fault(f"user {user} answers {question} twice", mend="Keep one of them.")
        response.said[question] = value
        response.status = status or response.status
        response.ts = ts or response.ts
    return found


def _said(record: Mapping[str, Any], at: Place) -> Iterator[tuple[str, str, Any, str, str]]:
    """User, question, value, status and time."""
    responses = record.get("responses")
    if isinstance(responses, list):
        yield from _of_server(responses, at)
    elif isinstance(responses, Mapping):
        for question, each in responses.items():
            for one in _objects(each, at):
                yield (
                    str(one.get("user_id") or ""),
                    question,
                    one.get("value"),
                    str(one.get("status") or ""),
                    "",
                )
    else:
        yield from _flat(record, at)


def _of_server(responses: Sequence[Any], at: Place) -> Iterator[tuple[str, str, Any, str, str]]:
    for one in _objects(responses, at):
        values = one.get("values") or {}
        if not isinstance(values, Mapping):
            raise at.fault("the values of a response are no object", found=repr(values)[:60], mend=_MEND)
        who, status, ts = (
            str(one.get("user_id") or ""),
            str(one.get("status") or ""),
            str(one.get("updated_at") or ""),
        )
        for question, value in values.items():
            yield who, question, value.get("value") if isinstance(value, Mapping) else value, status, ts
        if not values:
            yield who, "", None, status, ts


def _flat(record: Mapping[str, Any], at: Place) -> Iterator[tuple[str, str, Any, str, str]]:
    for key, values in record.items():
        if not key.endswith(".responses") or values is None:
            continue
        users, statuses = record.get(f"{key}.users"), record.get(f"{key}.status")
        lists = [values, users, statuses or [None] * len(values)]
        if not all(isinstance(one, list) for one in lists) or len({len(one) for one in lists}) > 1:
            raise at.fault(f"{key} has not one user and status for each response", mend=_MEND)
        for value, user, status in zip(*lists, strict=True):
            yield str(user or ""), key.removesuffix(".responses"), value, str(status or ""), ""


def _objects(values: Any, at: Place) -> list[Mapping[str, Any]]:
    if not isinstance(values, list) or not all(isinstance(one, Mapping) for one in values):
        raise at.fault("its responses are no list of objects", found=repr(values)[:60], mend=_MEND)
    return values


def _records(document: Any) -> list[Any]:
    """A list of records, or what the server calls `items`."""
    if isinstance(document, dict):
        document = document.get("items", document.get("records"))
    return document if isinstance(document, list) else []


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
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            "The file cannot be read as JSON", path=path, found=str(error)[:120], mend=_MEND
        ) from None
