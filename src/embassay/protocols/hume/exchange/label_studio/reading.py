"""Label Studio's JSON export as answers: a list of tasks, each with its annotations."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.limits import read_bounded
from embassay.protocols.hume.exchange.incoming import SKIPPED, Incoming, Place, Taken
from embassay.protocols.hume.exchange.label_studio.names import (
    COMMENT,
    FLAG,
    GROUP,
    ITEM,
    LABEL,
    NO,
    RATING,
    RELEVANT,
    YES,
)
from embassay.protocols.hume.folder.formats import Task
from embassay.protocols.hume.folder.reading import StudyFolder

_MEND = (
    "Export the project there as JSON (not JSON-MIN or CSV); its tasks are those of `embassay hume export`."
)
_DOCUMENT = re.compile(rf"{RELEVANT}_(\d+)")
_MAIN: Mapping[str, str] = {"classification": LABEL, "clustering": GROUP, "sts": RATING}


def is_label_studio(document: Any) -> bool:
    """Whether a JSON document looks like tasks of Label Studio."""
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(one, dict) and "data" in one for one in document)
    )


def read_label_studio(path: Path, folder: StudyFolder) -> Taken:
    """The answers of an export. Of several annotations of one person to one task the last one counts; what was skipped
    there has no value and the flag `skipped`, unless a reason was given. Drafts and predictions are no answers.

    An annotator is who `completed_by` names, by e-mail address or number; what `hume export` wrote says it itself.
    DataError, with the task, for what cannot be read.
    """
    taken = Taken()
    document = _document(path)
    if not is_label_studio(document):
        raise DataError("This is no JSON export of Label Studio", path=path, mend=_MEND)
    items = {item.id: item for item in folder.items}
    for number, one in enumerate(document, start=1):
        at = Place(path, words=f"task {number} (id {one.get('id', '-')})")
        item = one["data"].get(ITEM) if isinstance(one["data"], dict) else None
        if not isinstance(item, str) or item not in items:
            raise at.fault(
                "it is of no item of the study",
                expected=f"its id as {ITEM}",
                found=repr(item)[:60],
                mend=_MEND,
            )
        if one.get("predictions"):
            taken.leave_out("predictions of a model")
        _of_task(one, folder.task(items[item].task), items[item].payload, item, at, taken)
    return taken


def _document(path: Path) -> Any:
    try:
        return json.loads(read_bounded(path))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            "The file cannot be read as JSON", path=path, found=str(error)[:120], mend=_MEND
        ) from None


def _of_task(
    one: Mapping[str, Any], task: Task, payload: Mapping[str, Any], item: str, at: Place, taken: Taken
) -> None:
    annotations = one.get("annotations", one.get("completions")) or []
    if not isinstance(annotations, list) or not all(isinstance(each, dict) for each in annotations):
        raise at.fault("its annotations are no list of objects", mend=_MEND)
    if not annotations:
        taken.leave_out("tasks without an annotation")
    latest: dict[str, tuple[str, Incoming]] = {}
    for number, annotation in enumerate(annotations, start=1):
        where = Place(at.path, words=f"{at.words}, annotation {annotation.get('id', number)}")
        found = _annotation(annotation, task, payload, item, where)
        if found is None:
            taken.leave_out("annotations without an answer")
            continue
        moment = str(annotation.get("updated_at") or found.ts)
        before = latest.get(found.annotator_id)
        if before is not None:
            taken.leave_out("earlier annotations of the same person")
        if before is None or moment >= before[0]:
            latest[found.annotator_id] = moment, found
    taken.answers += [found for _, found in latest.values()]


def _annotation(
    annotation: Mapping[str, Any], task: Task, payload: Mapping[str, Any], item: str, at: Place
) -> Incoming | None:
    results = annotation.get("result")
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        raise at.fault("its result is no list of objects", mend=_MEND)
    said = {str(one.get("from_name")): _said(one, at) for one in results}
    meta: Mapping[str, Any] = next((one["meta"] for one in results if isinstance(one.get("meta"), dict)), {})
    flag, comment = (str(said.get(name) or "") for name in (FLAG, COMMENT))
    skipped = bool(annotation.get("was_cancelled"))
    value = None if skipped else _value(task, payload, said, at)
    if value is None and not skipped and not flag and not comment:
        return None
    return Incoming(
        item, str(meta.get("annotator") or _who(annotation.get("completed_by"))), value, at,
        ts=str(annotation.get("created_at") or ""), seconds=_seconds(annotation.get("lead_time")),
        kind="simulated" if meta.get("kind") == "simulated" else "person",
        flag=flag or (SKIPPED if value is None and skipped else ""), comment=comment,
    )  # fmt: skip


def _said(result: Mapping[str, Any], at: Place) -> Any:
    """What a tag says: a choice, a text, a number or stars."""
    kind, value = result.get("type"), result.get("value")
    if not isinstance(kind, str) or not isinstance(value, dict):
        raise at.fault("a result has no type or no value", found=repr(result)[:80], mend=_MEND)
    found = value.get("text" if kind == "textarea" else kind)
    if isinstance(found, list):
        if len(found) > 1:
            raise at.fault(
                f"{result.get('from_name')} has several values", found=repr(found)[:80], mend="Keep one."
            )
        found = found[0] if found else None
    return found


def _value(task: Task, payload: Mapping[str, Any], said: Mapping[str, Any], at: Place) -> Any:
    if task.family == "reranking":
        return _marks(len(payload["documents"]), said, at)
    value = said.get(_MAIN[task.family])
    if task.family == "classification" and value is not None:
        values = {str(one.value): one.value for one in task.labels}
        return values.get(str(value), next((one.value for one in task.labels if one.name == value), value))
    if task.family == "sts" and isinstance(value, str):
        # Without its alias, a choice is the level with its meaning.
        return value.partition(":")[0]
    return value


def _marks(n: int, said: Mapping[str, Any], at: Place) -> list[int] | None:
    places = {int(found[1]): value for name, value in said.items() if (found := _DOCUMENT.fullmatch(name))}
    if not places:
        return None
    wrong = [value for value in places.values() if value not in (YES, NO)]
    if set(places) != set(range(n)) or wrong:
        raise at.fault(
            "not every document is marked", expected=f"{n} times {YES!r} or {NO!r}",
            found=f"{len(places)} marks" if not wrong else repr(wrong[0])[:60], mend="Finish this task there.",
        )  # fmt: skip
    return [int(places[place] == YES) for place in range(n)]


def _who(completed_by: Any) -> str:
    """A user as Label Studio says it: a number, or an object with an e-mail address."""
    if isinstance(completed_by, Mapping):
        names: Sequence[Any] = [
            completed_by.get("email"),
            completed_by.get("username"),
            completed_by.get("id"),
        ]
        return next((str(name) for name in names if name), "")
    return "" if completed_by in (None, "") else str(completed_by)


def _seconds(value: Any) -> float | None:
    good = (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    )
    return float(value) if good else None
