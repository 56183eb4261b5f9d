"""The forms that Argilla's records are exported in: answers by question, flat, or as its server sends them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from embassay.protocols.hume.exchange.incoming import Place

MEND = "Export records there with their responses (`dataset.records.to_list(flatten=True)` as JSON)."


@dataclass
class Response:
    """All that one user said of a record."""

    status: str = ""
    said: dict[str, Any] = field(default_factory=dict)
    ts: str = ""


def is_argilla(document: Any) -> bool:
    """Whether a JSON document looks like records of Argilla."""
    records = records_of(document)
    return bool(records) and all(
        isinstance(one, dict) and ("fields" in one or any(key.endswith(".responses") for key in one))
        for one in records
    )


class _Said(NamedTuple):
    """What a user said to one question."""

    user: str
    question: str
    value: Any
    status: str = ""
    ts: str = ""


def by_user(record: Mapping[str, Any], at: Place) -> dict[str, Response]:
    """What every user said, from whichever form the record is in."""
    found: dict[str, Response] = {}
    for one in _said(record, at):
        response = found.setdefault(one.user, Response())
        if one.question in response.said:
            raise at.fault(f"user {one.user} answers {one.question} twice", mend="Keep one of them.")
        response.said[one.question] = one.value
        response.status = one.status or response.status
        response.ts = one.ts or response.ts
    return found


def _said(record: Mapping[str, Any], at: Place) -> Iterator[_Said]:
    responses = record.get("responses")
    if isinstance(responses, list):
        yield from _of_server(responses, at)
    elif isinstance(responses, Mapping):
        for question, each in responses.items():
            for one in _objects(each, at):
                yield _Said(_word(one, "user_id"), question, one.get("value"), _word(one, "status"))
    else:
        yield from _flat(record, at)


def _of_server(responses: Sequence[Any], at: Place) -> Iterator[_Said]:
    for one in _objects(responses, at):
        values = one.get("values") or {}
        if not isinstance(values, Mapping):
            raise at.fault("the values of a response are no object", found=repr(values)[:60], mend=MEND)
        # A response without values may still be discarded.
        for question, value in values.items() or [("", None)]:
            said = value.get("value") if isinstance(value, Mapping) else value
            yield _Said(_word(one, "user_id"), question, said, _word(one, "status"), _word(one, "updated_at"))


def _flat(record: Mapping[str, Any], at: Place) -> Iterator[_Said]:
    for key, values in record.items():
        if not key.endswith(".responses") or values is None:
            continue
        users, statuses = record.get(f"{key}.users"), record.get(f"{key}.status")
        lists = [values, users, statuses]
        if statuses is None and isinstance(values, list):
            lists[2] = [None] * len(values)
        if not all(isinstance(one, list) for one in lists) or len({len(one) for one in lists}) > 1:
            raise at.fault(f"{key} has not one user and status for each response", mend=MEND)
        for value, user, status in zip(*lists, strict=True):
            yield _Said(str(user or ""), key.removesuffix(".responses"), value, str(status or ""))


def _word(one: Mapping[str, Any], name: str) -> str:
    return str(one.get(name) or "")


def _objects(values: Any, at: Place) -> list[Mapping[str, Any]]:
    if not isinstance(values, list) or not all(isinstance(one, Mapping) for one in values):
        raise at.fault("its responses are no list of objects", found=repr(values)[:60], mend=MEND)
    return values


def records_of(document: Any) -> list[Any]:
    """A list of records, or what the server calls `items`."""
    if isinstance(document, dict):
        document = document.get("items", document.get("records"))
    return document if isinstance(document, list) else []
