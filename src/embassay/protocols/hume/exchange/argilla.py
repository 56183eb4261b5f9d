"""Argilla 2: settings and records to load there, and exported records read back."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from embassay.errors import DataError
from embassay.protocols.hume.collection import (
    SKIPPED,
    AnswerFromFile,
    AnswersReadFromFile,
    LocationInFile,
    read_json_document,
)
from embassay.protocols.hume.study import AnnotationRow, RatingScale, StudyFolder, StudyItem, StudyTask

LABEL, RATING, GROUP, RELEVANT = "label", "rating", "group", "relevant"
FLAG, COMMENT = "flag", "comment"
NONE = "none"
"""The answer that no document is relevant: an empty selection would be no answer there."""
TASK = "embassay_task"
"""A record's metadata say which task of the study it is of."""
USERS = "users.json"
"""A file beside the records: who the users are that their ids stand for."""


def name_document_field(place: int) -> str:
    """The field of a document, and its name among the answers, from 1 on."""
    return f"document_{place + 1}"


_MAIN: Mapping[str, str] = {"classification": LABEL, "clustering": GROUP, "sts": RATING, "reranking": RELEVANT}
_STATUSES = ("draft", "discarded", "submitted")
_NO_STATUS = "responses without a status are treated as submitted; export with flatten=True to mark drafts"


def read_argilla_answers(path: Path, folder: StudyFolder) -> AnswersReadFromFile:
    """The answers of exported records: submitted ones count; discarded ones have no value and the flag `skipped`,
    unless a reason was given; drafts are left out.

    `users.json` beside the file, as `hume export` writes it, says who a user's id stands for.
    DataError, with the record, for what cannot be read.
    """
    taken = AnswersReadFromFile()
    document = read_json_document(path, MEND)
    if not is_argilla_export(document):
        raise DataError("The file is not an Argilla export", path=path, mend=MEND)
    users = _read_user_names(path.parent / USERS)
    items = {item.id: item for item in folder.items}
    for number, record in enumerate(extract_argilla_records(document), start=1):
        at = LocationInFile(path, words=f"record {number} ({record.get('id', '-')})")
        item = record.get("external_id") or record.get("id")
        if not isinstance(item, str) or item not in items:
            raise at.make_data_error("its item is not in the study", found=repr(item)[:60], mend=MEND)
        task, payload = folder.task(items[item].task), items[item].payload
        responses = group_responses_by_user(record, at)
        if not responses:
            taken.count_left_out_answer("records without a response")
        for user, response in responses.items():
            annotator = users.get(user, user)
            _collect_response_answer(task, payload, str(item), annotator, response, at, taken)
    return taken


def _collect_response_answer(
    task: StudyTask,
    payload: Mapping[str, Any],
    item: str,
    annotator: str,
    response: UserRecordResponse,
    at: LocationInFile,
    taken: AnswersReadFromFile,
) -> None:
    status = response.status or "submitted"
    if not response.status:
        taken.remarks.append(_NO_STATUS)
    if status not in _STATUSES:
        raise at.make_data_error("unknown response status", expected=", ".join(_STATUSES), found=status[:60])
    if status == "draft":
        taken.count_left_out_answer("drafts")
        return
    value = (
        _parse_argilla_response_value(task, payload, response.said.get(_MAIN[task.family]), at)
        if status == "submitted"
        else None
    )
    flag, comment = (str(response.said.get(name) or "") for name in (FLAG, COMMENT))
    if value is None and status == "submitted" and not flag and not comment:
        taken.count_left_out_answer("responses without an answer")
        return
    if value is None and status == "discarded":
        flag = flag or SKIPPED
    taken.answers.append(AnswerFromFile(item, annotator, value, at, ts=response.ts, flag=flag, comment=comment))


def _parse_argilla_response_value(task: StudyTask, payload: Mapping[str, Any], answer: Any, at: LocationInFile) -> Any:
    if task.family != "reranking" or answer is None:
        return answer
    names = [name_document_field(place) for place in range(len(payload["documents"]))]
    if not isinstance(answer, list) or (unknown := [name for name in answer if name not in (*names, NONE)]):
        what = repr(answer if not isinstance(answer, list) else unknown[0])[:60]
        raise at.make_data_error("unknown value for the relevant documents", expected=", ".join(names), found=what)
    # Argilla has no choice that excludes the others.
    if NONE in answer and len(answer) > 1:
        raise at.make_data_error(
            'both relevant documents and "none of them" are marked',
            found=repr(answer)[:60],
            mend="Correct the response in Argilla.",
        )
    return [int(name in answer) for name in names]


def _read_user_names(path: Path) -> Mapping[str, str]:
    if not path.is_file():
        return {}
    users = read_json_document(path, MEND)
    if not isinstance(users, dict) or not all(isinstance(name, str) for name in users.values()):
        raise DataError(
            "The file does not map ids to names", path=path, expected='{"id": "name"}', mend="Correct or delete it."
        )
    return users


Plain = dict[str, Any]
# A namespace of our own for ids of users; never to change, or an import would meet strangers.
_USERS = uuid.UUID("0d0f5c3e-6d5b-5a2e-9b0c-6f6f3f6f2b11")


def argilla_records(task: StudyTask, items: Iterable[StudyItem], rows: Sequence[AnnotationRow] = ()) -> list[Plain]:
    """One record per item, as `rg.RunRecord.from_dict` reads it: `responses` by question, each with the user and the
    status (submitted, or discarded where the item could not be judged)."""
    by_item: dict[str, list[AnnotationRow]] = {}
    for row in rows:
        by_item.setdefault(row.item_id, []).append(row)
    return [
        {
            "id": item.id,
            "fields": _record_fields(task, item),
            "metadata": {TASK: task.name},
            "suggestions": {},
            "responses": _make_argilla_responses(task, by_item.get(item.id, [])),
            "vectors": {},
        }
        for item in items
    ]


def argilla_user_id(annotator: str) -> str:
    """The id of an annotator as a user: their own where it is a UUID, else one that follows from it."""
    try:
        return str(uuid.UUID(annotator))
    except ValueError:
        return str(uuid.uuid5(_USERS, annotator))


def _record_fields(task: StudyTask, item: StudyItem) -> Plain:
    payload = item.payload
    if task.family != "reranking":
        return dict(payload)
    documents = {name_document_field(place): text["text"] for place, text in enumerate(payload["documents"])}
    return {"query": payload["query"], **documents}


def _make_argilla_responses(task: StudyTask, rows: Sequence[AnnotationRow]) -> dict[str, list[Plain]]:
    responses: dict[str, list[Plain]] = {}
    for row in rows:
        status = "discarded" if row.value is None else "submitted"
        for name, value in _list_argilla_responses(task, row):
            responses.setdefault(name, []).append(
                {"value": value, "user_id": argilla_user_id(row.annotator_id), "status": status}
            )
    return responses


def _list_argilla_responses(task: StudyTask, row: AnnotationRow) -> Iterable[tuple[str, Any]]:
    names: Mapping[str, str] = {
        "classification": LABEL, "clustering": GROUP, "sts": RATING, "reranking": RELEVANT
    }  # fmt: skip
    if row.value is not None:
        yield names[task.family], _format_response_value(task, row.value)
    for name, text in ((FLAG, row.flag), (COMMENT, row.comment)):
        if text:
            yield name, text


def _format_response_value(task: StudyTask, value: Any) -> Any:
    if task.family == "reranking":
        return [name_document_field(place) for place, mark in enumerate(value) if mark] or [NONE]
    if task.family == "sts":
        # A rating question takes whole numbers; levels of other scales are labels, and so texts.
        whole = can_rating_question_hold_scale(task.scale or RatingScale()) and value == int(value)
        return int(value) if whole else f"{value:g}"
    return str(value)


_MOST_LEVELS = 11
_SHOWN_OPTIONS = 8


def argilla_dataset_settings(task: StudyTask, items: Sequence[StudyItem]) -> Plain:
    """The settings of a dataset for a task with these items: as many documents as the longest query has."""
    # All records of a dataset have its fields; those that a query lacks stay empty, so only the first is required.
    most = max((len(item.payload.get("documents", ())) for item in items), default=0)
    return {
        "guidelines": task.guidelines,
        "fields": list(_make_argilla_text_fields(task, most)),
        "questions": [
            _make_argilla_task_question(task, most),
            _make_text_question(FLAG, "If it cannot be judged, why not?"),
            _make_text_question(COMMENT, "Comment"),
        ],
        "vectors": [],
        "metadata": [
            {
                "name": TASK,
                "title": TASK,
                "visible_for_annotators": False,
                "settings": {"type": "terms", "values": [task.name], "visible_for_annotators": False},
            }
        ],
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
        "mapping": None,
    }


def can_rating_question_hold_scale(scale: RatingScale) -> bool:
    """Whether a rating question can hold the scale: whole numbers from 0 to 10."""
    return scale.step == 1 and scale.low == int(scale.low) and scale.low >= 0 and scale.high <= _MOST_LEVELS - 1


def scale_level_labels(scale: RatingScale) -> list[str]:
    """The labels that name the levels of a scale that no rating question holds."""
    count = round((scale.high - scale.low) / scale.step) + 1
    return [f"{scale.low + i * scale.step:g}" for i in range(count)]


def _make_argilla_text_fields(task: StudyTask, most: int) -> Iterable[Plain]:
    names = {"classification": ["text"], "clustering": ["text"], "sts": ["text1", "text2"], "reranking": ["query"]}
    for name in names[task.family]:
        yield _make_text_field(name, required=True)
    for place in range(most):
        yield _make_text_field(name_document_field(place), required=place == 0)


def _make_text_field(name: str, *, required: bool) -> Plain:
    return {
        "name": name, "title": name, "required": required, "description": None,
        "settings": {"type": "text", "use_markdown": False}, "type": "text"
    }  # fmt: skip


def _make_argilla_task_question(task: StudyTask, most: int) -> Plain:
    if task.family == "classification":
        labels = [(str(label.value), label.name, label.description) for label in task.labels]
        return _make_argilla_question(LABEL, task, "label_selection", _build_label_options(labels))
    if task.family == "clustering":
        return _make_argilla_question(GROUP, task, "text", {"use_markdown": False})
    if task.family == "reranking":
        documents = [(name_document_field(place), f"document {place + 1}", "") for place in range(most)]
        told = _build_label_options([*documents, (NONE, "none of them", "")])
        return _make_argilla_question(RELEVANT, task, "multi_label_selection", {**told, "options_order": "natural"})
    scale = task.scale or RatingScale()
    if can_rating_question_hold_scale(scale):
        values = [{"value": level} for level in range(int(scale.low), int(scale.high) + 1)]
        return _make_argilla_question(RATING, task, "rating", {"options": values})
    return _make_argilla_question(
        RATING,
        task,
        "label_selection",
        _build_label_options([(level, level, "") for level in scale_level_labels(scale)]),
    )


def _make_argilla_question(name: str, task: StudyTask, kind: str, told: Mapping[str, Any]) -> Plain:
    return {
        "name": name, "title": task.question, "description": _describe_scale_anchors(task), "required": True,
        "settings": {"type": kind, **told}, "type": kind
    }  # fmt: skip


def _describe_scale_anchors(task: StudyTask) -> str | None:
    anchors = task.scale.anchors if task.scale else {}
    return "; ".join(f"{level}: {meaning}" for level, meaning in anchors.items()) or None


def _build_label_options(named: Iterable[tuple[str, str, str]]) -> Plain:
    options = [{"value": value, "text": text, "description": meaning or None} for value, text, meaning in named]
    return {"options": options, "visible_options": _SHOWN_OPTIONS if len(options) > _SHOWN_OPTIONS else None}


def _make_text_question(name: str, title: str) -> Plain:
    return {
        "name": name, "title": title, "description": None, "required": False,
        "settings": {"type": "text", "use_markdown": False}, "type": "text"
    }  # fmt: skip


MEND = "Export records and responses from Argilla as JSON (`dataset.records.to_list(flatten=True)`)."


@dataclass
class UserRecordResponse:
    """All that one user said of a record."""

    status: str = ""
    said: dict[str, Any] = field(default_factory=dict)
    ts: str = ""


def is_argilla_export(document: Any) -> bool:
    """Whether a JSON document looks like records of Argilla."""
    records = extract_argilla_records(document)
    return bool(records) and all(
        isinstance(record, dict) and ("fields" in record or any(key.endswith(".responses") for key in record))
        for record in records
    )


class _UserAnswer(NamedTuple):
    """What a user said to one question."""

    user: str
    question: str
    value: Any
    status: str = ""
    ts: str = ""


def group_responses_by_user(record: Mapping[str, Any], at: LocationInFile) -> dict[str, UserRecordResponse]:
    """What every user said, from whichever form the record is in."""
    responses: dict[str, UserRecordResponse] = {}
    for said in _iterate_answers_in_argilla_record(record, at):
        response = responses.setdefault(said.user, UserRecordResponse())
        if said.question in response.said:
            raise at.make_data_error(
                f"user {said.user} answered {said.question} twice", mend="Keep one of the answers."
            )
        response.said[said.question] = said.value
        response.status = said.status or response.status
        response.ts = said.ts or response.ts
    return responses


def _iterate_answers_in_argilla_record(record: Mapping[str, Any], at: LocationInFile) -> Iterator[_UserAnswer]:
    responses = record.get("responses")
    if isinstance(responses, list):
        yield from _iterate_argilla_server_answers(responses, at)
    elif isinstance(responses, Mapping):
        for question, answers in responses.items():
            for row in _check_list_of_objects(answers, at):
                yield _UserAnswer(
                    _read_entry_text(row, "user_id"), question, row.get("value"), _read_entry_text(row, "status")
                )
    else:
        yield from _iterate_argilla_record_responses(record, at)


def _iterate_argilla_server_answers(responses: Sequence[Any], at: LocationInFile) -> Iterator[_UserAnswer]:
    for row in _check_list_of_objects(responses, at):
        values = row.get("values") or {}
        if not isinstance(values, Mapping):
            raise at.make_data_error("the values of a response are not an object", found=repr(values)[:60], mend=MEND)
        # A response without values may still be discarded.
        for question, value in values.items() or [("", None)]:
            told = value.get("value") if isinstance(value, Mapping) else value
            yield _UserAnswer(
                _read_entry_text(row, "user_id"),
                question,
                told,
                _read_entry_text(row, "status"),
                _read_entry_text(row, "updated_at"),
            )


def _iterate_argilla_record_responses(record: Mapping[str, Any], at: LocationInFile) -> Iterator[_UserAnswer]:
    for key, row in record.items():
        if not key.endswith(".responses") or row is None:
            continue
        users, statuses = record.get(f"{key}.users"), record.get(f"{key}.status")
        lists = [row, users, statuses]
        if statuses is None and isinstance(row, list):
            lists[2] = [None] * len(row)
        if not all(isinstance(row, list) for row in lists) or len({len(row) for row in lists}) > 1:
            raise at.make_data_error(f"{key} must have one user and one status per response", mend=MEND)
        for value, user, status in zip(*lists, strict=True):
            yield _UserAnswer(str(user or ""), key.removesuffix(".responses"), value, str(status or ""))


def _read_entry_text(entry: Mapping[str, Any], name: str) -> str:
    return str(entry.get(name) or "")


def _check_list_of_objects(values: Any, at: LocationInFile) -> list[Mapping[str, Any]]:
    if not isinstance(values, list) or not all(isinstance(value, Mapping) for value in values):
        raise at.make_data_error("its responses are not a list of objects", found=repr(values)[:60], mend=MEND)
    return values


def extract_argilla_records(document: Any) -> list[Any]:
    """A list of records, or what the server calls `items`."""
    if isinstance(document, dict):
        document = document.get("items", document.get("records"))
    return document if isinstance(document, list) else []
