"""What the manifest of imported results says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from embassay import __version__
from embassay.protocols.manifest import moment
from embassay.protocols.mteb.meta import facts_of
from embassay.protocols.mteb.reading import Reading
from embassay.protocols.mteb.rows import PROTOCOL
from embassay.protocols.mteb.survey import Survey, TaskSurvey
from embassay.runs.files import digest
from embassay.runs.folder import hardware, versions

Plain = dict[str, Any]
KIND = "published"


def manifest_of(
    source: Path, out: Path, survey: Survey, reading: Reading, measures: Sequence[str], command: str
) -> Plain:
    """The manifest: a run without cells, since nothing was computed; its datasets are the tasks of MTEB."""
    now = moment()
    return {
        "embassay": __version__,
        "protocol": PROTOCOL,
        "name": out.resolve().name,
        "status": "finished",
        "created": now,
        "updated": now,
        "command": command,
        "arguments": {"source": str(source), "measures": list(measures), "seed": None, "limit": None},
        "tokenizer": {"name": "", "identity": ""},
        "systems": _systems(survey, reading),
        "datasets": [_dataset(name, task) for name, task in survey.tasks.items()],
        "hardware": hardware(),
        "versions": versions(),
        "cells": [],
        "sessions": [],
        "imported": {"files": reading.files, "documents": survey.documents, "faults": len(reading.faults)},
        "problems": {"failed_cells": 0, "unread": len(reading.faults)},
    }


def _systems(survey: Survey, reading: Reading) -> list[Plain]:
    return [
        {
            "name": name, "kind": KIND, "identity": f"{owner[0]}@{owner[1]}",
            "facts": {"kind": KIND, "revision": owner[1], **facts_of(reading.metas.get(owner, {}))},
        }
        for name, owner in survey.systems().items()
    ]  # fmt: skip


def _dataset(name: str, task: TaskSurvey) -> Plain:
    return {
        "name": name,
        "source": PROTOCOL,
        "lang": task.lang,
        "fingerprint": _fingerprint(task.revisions),
        "split": task.split,
        "tasks": {task.kind: {"n": 0, "skipped": [], "warnings": _warnings(task)}},
    }


def _fingerprint(revisions: Counter[str]) -> str:
    return next(iter(revisions)) if len(revisions) == 1 else digest(sorted(revisions))


def _warnings(task: TaskSurvey) -> list[str]:
    found = []
    if len(task.revisions) > 1:
        several = ", ".join(f"{name[:12] or 'unknown'} ({n})" for name, n in task.revisions.most_common(5))
        found.append(f"scores are of {len(task.revisions)} versions of the data: {several}")
    if len(task.splits) > 1:
        others = ", ".join(sorted(set(task.splits) - {task.split}))
        found.append(f"the split {task.split} counts; {others} are variants")
    return found
