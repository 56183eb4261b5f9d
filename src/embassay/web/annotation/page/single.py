"""A study for one annotator in a file that needs no server: same pages, same keys, answers as a file to send back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.hume.answers import own_order
from embassay.protocols.hume.folder import StudyFolder, read_study
from embassay.report.html import json_block, policy
from embassay.runs.files import write_atomic
from embassay.web.annotation.page.bundle import STATIC, bundle
from embassay.web.annotation.page.frame import environment
from embassay.web.annotation.shown import SETTINGS, task_shown

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_STYLE, _SCRIPT = "/*style*/", "/*script*/"


def write_single(study: Path, annotator: str, out: Path) -> Path:
    """Write the file of `annotator` for the study in the folder `study`, in one step; gold is not read.

    Raises UsageError for a name that no file could have, and for a folder without a study DataError.
    """
    if not _NAME.fullmatch(annotator):
        raise UsageError(
            f"{annotator!r} cannot name an annotator.",
            mend="Use letters, digits, dots, dashes and underscores.",
        )
    write_atomic(out, render_single(read_study(study), annotator))
    return out


def render_single(folder: StudyFolder, annotator: str) -> str:
    """The whole file. The same study and annotator give the same bytes."""
    style, script = (STATIC / "annotate.css").read_text("utf-8"), bundle()
    page = (
        environment()
        .get_template("single.html")
        .render(
            title=folder.study.name, policy=policy(style, script), data=json_block(_given(folder, annotator))
        )
    )
    # From the last place to the first, so that no text of the study is taken for one.
    head, _, tail = page.rpartition(_SCRIPT)
    head, style_place, body = head.partition(_STYLE)
    return head + (style if style_place else "") + body + script + tail


def _given(folder: StudyFolder, annotator: str) -> dict[str, Any]:
    study = folder.study
    items = {task.name: [item.id for item in folder.items_of(task.name)] for task in study.tasks}
    tasks = [
        task_shown(task, list(own_order(study.seed, annotator, task.name, items[task.name])), finished=False)
        for task in study.tasks
    ]
    return {
        "annotator": annotator,
        "content": f"{study.content[:16]}-{study.guidelines[:16]}",
        "payloads": {item.id: dict(item.payload) for item in folder.items},
        "told": {
            "study": study.name,
            "annotator": {"name": None, "settings": SETTINGS},
            "guidelines_version": study.guidelines_version,
            "tasks": tasks,
        },
    }
