"""Writes a study's annotations, or its tasks for another tool. Gold is in none of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from embassay.errors import UsageError
from embassay.protocols.hume.answers import check_independent
from embassay.protocols.hume.exchange.argilla import USERS, argilla_records, argilla_settings, user_id
from embassay.protocols.hume.exchange.label_studio import label_studio_tasks, labelling_config
from embassay.protocols.hume.exchange.tables import as_csv, as_jsonl
from embassay.protocols.hume.folder.collection import all_rows
from embassay.protocols.hume.folder.files import AnnotationRow, StudyFolder, Task, read_study
from embassay.runs.files import to_json, write_atomic

Form = Literal["csv", "jsonl", "label-studio", "argilla", "mteb"]
FORMS: tuple[Form, ...] = ("csv", "jsonl", "label-studio", "argilla", "mteb")


@dataclass(frozen=True)
class Exported:
    """What was written: `files`, with so many answers of so many annotators in them."""

    files: tuple[Path, ...]
    answers: int
    annotators: tuple[str, ...]


def export(
    study: Path,
    form: Form,
    out: Path,
    *,
    tasks: Sequence[str] = (),
    answers: bool | None = None,
    revision: str = "1",
    exposed: bool = False,
) -> Exported:
    """Write a study's answers to the file `out` (csv, jsonl), its tasks for another tool to the folder `out`, or
    people's scores as MTEB results there (`revision` of the baseline `Human`).

    Tasks go without `answers`, unless these are asked for: annotators work alone. Raises UsageError for another format,
    an unknown task, no answers where they are what is asked for, or, unless `exposed`, answers of somebody who may have
    seen another's.
    """
    folder = read_study(study)
    if not exposed:
        check_independent(folder)
    chosen = [folder.task(name) for name in dict.fromkeys(tasks)] or list(folder.study.tasks)
    wanted = {item.id for task in chosen for item in folder.items_of(task.name)}
    rows = [row for row in all_rows(folder) if row.item_id in wanted]
    if form in ("label-studio", "argilla"):
        rows = rows if answers else []
        files = _for_tool(folder, form, chosen, rows, out)
        return Exported(tuple(files), len(rows), _who(rows))
    if not rows:
        raise UsageError(f"Nobody has answered {study} yet.", mend="Serve it, or import annotations.")
    if form == "mteb":
        from embassay.protocols.hume.exchange.mteb import write_mteb

        return Exported(tuple(write_mteb(folder, chosen, rows, out, revision)), len(rows), _who(rows))
    if form not in ("csv", "jsonl"):
        raise UsageError(f"There is no format {form!r}.", mend=f"Use one of {', '.join(FORMS)}.")
    if out.is_dir():
        raise UsageError(f"{out} is a folder.", mend=f"Name a file: {out / f'annotations.{form}'}.")
    write_atomic(out, as_csv(rows) if form == "csv" else as_jsonl(rows))
    return Exported((out,), len(rows), _who(rows))


def _for_tool(
    folder: StudyFolder, form: Form, tasks: Sequence[Task], rows: Sequence[AnnotationRow], out: Path
) -> list[Path]:
    if out.is_file():
        raise UsageError(f"{out} is a file.", mend="Name a folder: each task gets files of its own.")
    files: dict[str, str] = {}
    for task in tasks:
        files |= (_label_studio if form == "label-studio" else _argilla)(folder, task, rows)
    if form == "argilla" and rows:
        users = {user_id(name): name for name in _who(rows)}
        files[USERS] = to_json(users, indent=1) + "\n"
    for name, text in files.items():
        write_atomic(out / name, text)
    return [out / name for name in files]


def _label_studio(folder: StudyFolder, task: Task, rows: Sequence[AnnotationRow]) -> Mapping[str, str]:
    tasks = label_studio_tasks(task, folder.items_of(task.name), rows)
    return {
        f"{task.name}.config.xml": labelling_config(task),
        f"{task.name}.tasks.json": to_json(tasks, indent=1) + "\n",
    }


def _argilla(folder: StudyFolder, task: Task, rows: Sequence[AnnotationRow]) -> Mapping[str, str]:
    items = folder.items_of(task.name)
    records = argilla_records(task, items, rows)
    return {
        f"{task.name}.settings.json": to_json(argilla_settings(task, items), indent=1) + "\n",
        f"{task.name}.records.json": to_json(records, indent=1) + "\n",
    }


def _who(rows: Sequence[AnnotationRow]) -> tuple[str, ...]:
    return tuple(sorted({row.annotator_id for row in rows}))
