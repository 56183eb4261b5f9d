"""Writes people's scores as MTEB does a model's: one file for each dataset, with an entry for each language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.hume.exchange.mteb.entry import entry_of, seconds_of
from embassay.protocols.hume.folder.formats import AnnotationRow, Task
from embassay.protocols.hume.folder.reading import StudyFolder
from embassay.protocols.hume.results.named import named
from embassay.protocols.mteb.json_text import json_text
from embassay.protocols.mteb.layout import META, place_of
from embassay.protocols.mteb.meta import model_meta
from embassay.protocols.mteb.scripts import with_script
from embassay.runs.files import slug, write_atomic

MODEL = "baseline/Human"
Plain = dict[str, Any]


def write_mteb(
    folder: StudyFolder, tasks: Sequence[Task], rows: Sequence[AnnotationRow], out: Path, revision: str = "1"
) -> list[Path]:
    """Write `baseline__Human/REVISION/Task.json` of every dataset that somebody annotated, and `model_meta.json`, below
    `out`; return the files. Raises UsageError for a revision that is no plain name."""
    if slug(revision) != revision or not revision:
        raise UsageError(f"The revision is {revision!r}.", mend="Use letters, digits, dots, dashes.")
    place = out / place_of(MODEL, revision)
    files: dict[Path, Plain] = {}
    for dataset, own in _by_dataset(folder, tasks).items():
        if (result := _result(folder, dataset, own, rows)) is not None:
            files[place / f"{slug(dataset)}.json"] = result
    files[place / META] = model_meta(MODEL, revision, [with_script(task.lang) for task in tasks])
    for path, document in files.items():
        write_atomic(path, json_text(document, indent=2) + "\n")
    return list(files)


def _by_dataset(folder: StudyFolder, tasks: Sequence[Task]) -> Mapping[str, list[Task]]:
    names = named(folder.study.tasks)
    found: dict[str, list[Task]] = {}
    for task in tasks:
        found.setdefault(names[task.name].dataset, []).append(task)
    return found


def _result(
    folder: StudyFolder, dataset: str, tasks: Sequence[Task], rows: Sequence[AnnotationRow]
) -> Plain | None:
    every = {task.name: {item.id for item in folder.items_of(task.name)} for task in tasks}
    own = {name: [row for row in rows if row.item_id in items] for name, items in every.items()}
    entries = [
        entry_of(task, folder.gold(task.name), own[task.name], "default" if len(tasks) == 1 else task.lang)
        for task in tasks
    ]
    found = [entry for entry in entries if entry is not None]
    if not found:
        return None
    return {
        "dataset_revision": folder.study.content,
        "task_name": dataset,
        "mteb_version": None,
        "scores": {"test": found},
        "evaluation_time": seconds_of([row for rows_of in own.values() for row in rows_of]),
        "kg_co2_emissions": None,
    }
