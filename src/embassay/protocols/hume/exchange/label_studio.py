"""Label Studio: tasks and a labelling configuration to import there, and its JSON export read back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from embassay.errors import DataError
from embassay.protocols.hume.collection import (
    SKIPPED,
    AnswerFromFile,
    AnswersReadFromFile,
    LocationInFile,
    read_json_document,
)
from embassay.protocols.hume.study import AnnotationRow, RatingScale, StudyFolder, StudyItem, StudyTask
from embassay.runs.folder import digest_json

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no XML can hold, escaped or not."""
_MOST_BUTTONS = 11
"""Levels of a scale that are shown as choices; a finer one is a number to type."""


def label_studio_config(task: StudyTask) -> str:
    """The configuration of a project for this task.

    Classification and STS are choices (a number for scales with many steps), a group is a short text, and every
    document of a query has two choices. A reason why an item cannot be judged, and a comment, are texts.
    """
    view = ET.Element("View")
    _add_xml_tag(view, "Header", value=task.title)
    _add_xml_tag(view, "Header", value=task.question, size="4")
    first = {
        "classification": _fill_classification_view,
        "clustering": _fill_clustering_view,
        "reranking": _fill_reranking_view,
        "sts": _fill_sts_view,
    }[task.family](view, task)
    for name, told in ((FLAG, "If it is broken or cannot be judged, why?"), (COMMENT, "Comment")):
        _add_xml_tag(view, "Header", value=told, size="5")
        _add_xml_tag(
            view, "TextArea", name=name, toName=first, maxSubmissions="1", editable="true", rows="1", required="false"
        )
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"


def list_rating_scale_labels(scale: RatingScale) -> list[str]:
    """The levels of a scale as texts: "0", "0.5" ...; none where there are too many for buttons.

    >>> list_rating_scale_labels(RatingScale(high=2)), list_rating_scale_labels(RatingScale(step=0.1))
    (['0', '1', '2'], [])
    """
    count = round((scale.high - scale.low) / scale.step) + 1
    return [] if count > _MOST_BUTTONS else [f"{scale.low + i * scale.step:g}" for i in range(count)]


def _fill_classification_view(view: ET.Element, task: StudyTask) -> str:
    _add_text_tag(view, "text")
    choices = _add_choices_tag(view, LABEL, "text", required=True)
    for label in task.labels:
        _add_choice_tag(choices, label.name, alias=str(label.value), hint=label.description)
    return "text"


def _fill_clustering_view(view: ET.Element, task: StudyTask) -> str:  # noqa: ARG001 - one signature for all families
    _add_text_tag(view, "text")
    _add_xml_tag(
        view, "TextArea", name=GROUP, toName="text", maxSubmissions="1", editable="true", rows="1", required="true",
        placeholder="Use the same word or number for texts on the same topic"
    )  # fmt: skip
    return "text"


def _fill_sts_view(view: ET.Element, task: StudyTask) -> str:
    scale = task.scale or RatingScale()
    _add_text_tag(view, "text1")
    _add_text_tag(view, "text2")
    if not (every := list_rating_scale_labels(scale)):
        ends = {"min": f"{scale.low:g}", "max": f"{scale.high:g}", "step": f"{scale.step:g}"}
        _add_xml_tag(view, "Number", name=RATING, toName="text1", required="true", **ends)
        return "text1"
    choices = _add_choices_tag(view, RATING, "text1", required=True)
    for level in every:
        meaning = scale.anchors.get(level, "")
        _add_choice_tag(choices, f"{level}: {meaning}" if meaning else level, alias=level)
    return "text1"


def _fill_reranking_view(view: ET.Element, task: StudyTask) -> str:  # noqa: ARG001
    _add_text_tag(view, "query")
    repeater = _add_xml_tag(view, "Repeater", on="$documents", indexFlag="{{idx}}")
    _add_text_tag(repeater, "document_{{idx}}", value="$documents[{{idx}}].text")
    choices = _add_choices_tag(repeater, f"{RELEVANT}_{{{{idx}}}}", "document_{{idx}}", required=True)
    _add_choice_tag(choices, YES)
    _add_choice_tag(choices, NO)
    return "query"


def _add_text_tag(parent: ET.Element, name: str, value: str = "") -> None:
    _add_xml_tag(parent, "Text", name=name, value=value or f"${name}")


def _add_choices_tag(parent: ET.Element, name: str, shown: str, *, required: bool) -> ET.Element:
    return _add_xml_tag(
        parent, "Choices", name=name, toName=shown, choice="single-radio", required=str(required).lower(),
        showInline="true"
    )  # fmt: skip


def _add_choice_tag(parent: ET.Element, value: str, alias: str = "", hint: str = "") -> None:
    more = {name: text for name, text in (("alias", alias), ("hint", hint)) if text and text != value}
    _add_xml_tag(parent, "Choice", value=value, **more)


def _add_xml_tag(parent: ET.Element, tag: str, **attributes: str) -> ET.Element:
    # XML has no control characters, not even escaped: texts of data may.
    return ET.SubElement(parent, tag, {name: _NOT_XML.sub(" ", text) for name, text in attributes.items()})


ITEM, TASK = "embassay_item", "embassay_task"
"""Fields of a task's data: the item's id and the task of the study."""
LABEL, RATING, GROUP, RELEVANT = "label", "rating", "group", "relevant"
"""Control tags; a document's is `relevant_0`, `relevant_1` ..."""
FLAG, COMMENT = "flag", "comment"
YES, NO = "relevant", "not relevant"


_MEND = "Export the project as JSON (not JSON-MIN or CSV), with tasks written by `embassay hume export`."
_DOCUMENT = re.compile(rf"{RELEVANT}_(\d+)")
_MAIN: Mapping[str, str] = {"classification": LABEL, "clustering": GROUP, "sts": RATING}


def is_label_studio_export(document: Any) -> bool:
    """Whether a JSON document looks like tasks of Label Studio."""
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(entry, dict) and "data" in entry for entry in document)
    )


def read_label_studio_answers(path: Path, folder: StudyFolder) -> AnswersReadFromFile:
    """The answers of an export. Of several annotations of one person to one task the last one counts; what was skipped
    there has no value and the flag `skipped`, unless a reason was given. Drafts and predictions are no answers.

    An annotator is who `completed_by` names, by e-mail address or number; what `hume export` wrote says it itself.
    DataError, with the task, for what cannot be read.
    """
    taken = AnswersReadFromFile()
    document = read_json_document(path, _MEND)
    if not is_label_studio_export(document):
        raise DataError("The file is not a Label Studio JSON export", path=path, mend=_MEND)
    items = {item.id: item for item in folder.items}
    for number, entry in enumerate(document, start=1):
        at = LocationInFile(path, words=f"task {number} (id {entry.get('id', '-')})")
        item = entry["data"].get(ITEM) if isinstance(entry["data"], dict) else None
        if not isinstance(item, str) or item not in items:
            raise at.make_data_error(
                "its item is not in the study", expected=f"its id as {ITEM}", found=repr(item)[:60], mend=_MEND
            )
        if entry.get("predictions"):
            taken.count_left_out_answer("predictions of a model")
        _collect_answers_of_task_annotations(entry, folder.task(items[item].task), items[item].payload, item, at, taken)
    return taken


def _collect_answers_of_task_annotations(
    entry: Mapping[str, Any],
    task: StudyTask,
    payload: Mapping[str, Any],
    item: str,
    at: LocationInFile,
    taken: AnswersReadFromFile,
) -> None:
    # `completions` is what versions before 1.0 called them.
    annotations = entry.get("annotations", entry.get("completions")) or []
    if not isinstance(annotations, list) or not all(isinstance(each, dict) for each in annotations):
        raise at.make_data_error("its annotations are not a list of objects", mend=_MEND)
    if not annotations:
        taken.count_left_out_answer("tasks without an annotation")
    latest: dict[str, tuple[datetime | None, AnswerFromFile]] = {}
    for number, annotation in enumerate(annotations, start=1):
        where = LocationInFile(at.path, words=f"{at.words}, annotation {annotation.get('id', number)}")
        answer = _read_answer_from_annotation(annotation, task, payload, item, where)
        if answer is None:
            taken.count_left_out_answer("annotations without an answer")
            continue
        moment = parse_export_time(annotation.get("updated_at") or answer.ts)
        before = latest.get(answer.annotator_id)
        if before is not None:
            taken.count_left_out_answer("earlier annotations by the same person")
        # Of equal moments, and where one is not known, the later in the file counts.
        if before is None or moment is None or before[0] is None or moment >= before[0]:
            latest[answer.annotator_id] = moment, answer
    taken.answers += [answer for _, answer in latest.values()]


def parse_export_time(written: Any) -> datetime | None:
    """The moment that a time of an export means: in its own time zone, in UTC where it names none; None where it is no
    time. Seconds since 1970 are one.

    >>> parse_export_time("2026-11-20T10:00:00+02:00") < parse_export_time("2026-11-20T09:00:00Z")
    True
    """
    try:
        if isinstance(written, int | float):
            return datetime.fromtimestamp(written, UTC)
        moment = datetime.fromisoformat(str(written).strip())
    except (OSError, OverflowError, ValueError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _read_answer_from_annotation(
    annotation: Mapping[str, Any], task: StudyTask, payload: Mapping[str, Any], item: str, at: LocationInFile
) -> AnswerFromFile | None:
    results = annotation.get("result")
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise at.make_data_error("its result is not a list of objects", mend=_MEND)
    answers = {str(result.get("from_name")): _read_label_studio_answer_value(result, at) for result in results}
    meta: Mapping[str, Any] = next((result["meta"] for result in results if isinstance(result.get("meta"), dict)), {})
    flag, comment = (str(answers.get(name) or "") for name in (FLAG, COMMENT))
    skipped = bool(annotation.get("was_cancelled"))
    value = None if skipped else _read_answer_value(task, payload, answers, at)
    if value is None and not skipped and not flag and not comment:
        return None
    return AnswerFromFile(
        item, str(meta.get("annotator") or _label_studio_user_name(annotation.get("completed_by"))), value, at,
        ts=str(annotation.get("created_at") or ""), seconds=_parse_annotation_seconds(annotation.get("lead_time")),
        kind="simulated" if meta.get("kind") == "simulated" else "person",
        flag=flag or (SKIPPED if value is None and skipped else ""), comment=comment
    )  # fmt: skip


def _read_label_studio_answer_value(result: Mapping[str, Any], at: LocationInFile) -> Any:
    """What a tag says: a choice, a text, a number or stars."""
    kind, value = result.get("type"), result.get("value")
    if not isinstance(kind, str) or not isinstance(value, dict):
        raise at.make_data_error("a result lacks a type or a value", found=repr(result)[:80], mend=_MEND)
    answer = value.get("text" if kind == "textarea" else kind)
    if isinstance(answer, list):
        if len(answer) > 1:
            raise at.make_data_error(
                f"{result.get('from_name')} has several values", found=repr(answer)[:80], mend="Keep one."
            )
        answer = answer[0] if answer else None
    return answer


def _read_answer_value(
    task: StudyTask, payload: Mapping[str, Any], answers: Mapping[str, Any], at: LocationInFile
) -> Any:
    if task.family == "reranking":
        return _read_document_marks(len(payload["documents"]), answers, at)
    value = answers.get(_MAIN[task.family])
    if task.family == "classification" and value is not None:
        # An alias is always text there, and a label may be a number here.
        values = {str(label.value): label.value for label in task.labels}
        return values.get(str(value), next((label.value for label in task.labels if label.name == value), value))
    if task.family == "sts" and isinstance(value, str):
        # Without its alias, a choice is the level with its meaning.
        return value.partition(":")[0]
    return value


def _read_document_marks(n: int, answers: Mapping[str, Any], at: LocationInFile) -> list[int] | None:
    places = {int(match[1]): value for name, value in answers.items() if (match := _DOCUMENT.fullmatch(name))}
    if not places:
        return None
    wrong = [value for value in places.values() if value not in (YES, NO)]
    if set(places) != set(range(n)) or wrong:
        raise at.make_data_error(
            "not every document is marked", expected=f"{n} times {YES!r} or {NO!r}",
            found=f"{len(places)} marks" if not wrong else repr(wrong[0])[:60], mend="Finish this task in Label Studio."
        )  # fmt: skip
    return [int(places[place] == YES) for place in range(n)]


def _label_studio_user_name(completed_by: Any) -> str:
    """A user as Label Studio says it: a number, or an object with an e-mail address."""
    if isinstance(completed_by, Mapping):
        names: Sequence[Any] = [completed_by.get("email"), completed_by.get("username"), completed_by.get("id")]
        return next((str(name) for name in names if name), "")
    return "" if completed_by in (None, "") else str(completed_by)


def _parse_annotation_seconds(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    return float(value) if good else None


Plain = dict[str, Any]


def label_studio_tasks(task: StudyTask, items: Iterable[StudyItem], rows: Sequence[AnnotationRow] = ()) -> list[Plain]:
    """One task per item: `data` is what is shown, with the item's id; `annotations` are those of `rows`.

    A user there is a number or an e-mail address, which an annotator's id is not: it goes into `meta` of every result,
    and reading takes it from there.
    """
    by_item: dict[str, list[AnnotationRow]] = {}
    for row in rows:
        by_item.setdefault(row.item_id, []).append(row)
    return [
        {
            "data": _make_label_studio_data(task, item),
            **_make_label_studio_annotations(task, by_item.get(item.id, []), with_answers=bool(rows)),
        }
        for item in items
    ]


def _make_label_studio_data(task: StudyTask, item: StudyItem) -> Plain:
    payload = dict(item.payload)
    if task.family == "reranking":
        payload["documents"] = [{"id": shown["id"], "text": shown["text"]} for shown in payload["documents"]]
    return {ITEM: item.id, TASK: task.name, **payload}


def _make_label_studio_annotations(task: StudyTask, rows: Sequence[AnnotationRow], *, with_answers: bool) -> Plain:
    return {"annotations": [_build_annotation(task, row) for row in rows]} if with_answers else {}


def _build_annotation(task: StudyTask, row: AnnotationRow) -> Plain:
    annotation: Plain = {"result": [], "was_cancelled": row.value is None, "ground_truth": False}
    for name, shown, kind, value in _convert_annotation_to_label_studio(task, row):
        key = digest_json([row.item_id, row.annotator_id, name])[:10]
        annotation["result"].append({
            "id": key, "from_name": name, "to_name": shown, "type": kind, "value": value,
            "meta": {"annotator": row.annotator_id, "kind": row.kind}
        })  # fmt: skip
    if row.seconds is not None:
        annotation["lead_time"] = row.seconds
    if row.ts:
        annotation["created_at"] = row.ts
    return annotation


def _convert_annotation_to_label_studio(
    task: StudyTask, row: AnnotationRow
) -> Iterable[tuple[str, str, str, Mapping[str, Any]]]:
    """Tag, what it is about, its type and value."""
    first = {"reranking": "query", "sts": "text1"}.get(task.family, "text")
    if row.value is not None:
        yield from _convert_answer_to_label_studio_results(task, row.value)
    for name, text in ((FLAG, row.flag), (COMMENT, row.comment)):
        if text:
            yield name, first, "textarea", {"text": [text]}


def _convert_answer_to_label_studio_results(
    task: StudyTask, value: Any
) -> Iterable[tuple[str, str, str, Mapping[str, Any]]]:
    if task.family == "classification":
        yield LABEL, "text", "choices", {"choices": [str(value)]}
    elif task.family == "clustering":
        yield GROUP, "text", "textarea", {"text": [str(value)]}
    elif task.family == "sts":
        choice = f"{value:g}" in list_rating_scale_labels(task.scale or RatingScale())
        told = {"choices": [f"{value:g}"]} if choice else {"number": value}
        yield RATING, "text1", "choices" if choice else "number", told
    else:
        for place, mark in enumerate(value):
            yield f"{RELEVANT}_{place}", f"document_{place}", "choices", {"choices": [YES if mark else NO]}
