"""The annotator's page: one frame, plain scripts and one style sheet, served as files or put into one file."""

from __future__ import annotations

import re
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from embassay.errors import UsageError
from embassay.protocols.hume.adjudication import list_disputed_items
from embassay.protocols.hume.collection import read_answers_of_files_and_store
from embassay.protocols.hume.store import draw_annotator_item_order
from embassay.protocols.hume.study import StudyFolder, read_study
from embassay.runs.folder import write_file_atomically
from embassay.web.annotation.service import (
    SETTINGS,
    build_dispute_for_page,
    build_questions_for_page,
    build_task_for_page,
    make_distinct_task_titles,
)

__all__ = [
    "STATIC",
    "bundle_script_modules",
    "order_script_modules",
    "render_annotator_html_page",
    "render_annotator_page",
    "write_annotator_file",
]

STATIC = Path(__file__).parent / "static"
"""The folder of scripts and style that a server gives out as `/static/`."""
_START = "main.js"
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w-]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const|let) ([\w$]+))", re.MULTILINE)


@lru_cache(maxsize=2)
def order_script_modules(folder: Path) -> tuple[Path, ...]:
    """The modules that the first one needs, each after those that it imports."""
    needs: dict[str, tuple[str, ...]] = {}
    waiting = [_START]
    while waiting:
        name = waiting.pop()
        if name not in needs:
            needs[name] = tuple(used for _, used in _IMPORT.findall((folder / name).read_text("utf-8")))
            waiting += needs[name]
    try:
        return tuple(folder / name for name in TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise ValueError(f"Modules import each other: {error.args[1]}") from None


def bundle_script_modules(folder: Path = STATIC) -> str:
    """All modules one after the other, each a function that gives what it exports, so that no name meets another's."""
    parts = [
        '"use strict";\nconst modules = {};',
        *(_wrap_js_module_as_function(path) for path in order_script_modules(folder)),
    ]
    return "\n".join(parts) + "\n"


def _wrap_js_module_as_function(path: Path) -> str:
    text = path.read_text("utf-8")
    names = ", ".join(name for _, name in _EXPORT.findall(text))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(r'const \1 = modules["\2"];', text)).strip()
    return f'modules["{path.name}"] = (() => {{\n{body}\nreturn {{ {names} }};\n}})();'


def render_annotator_page(title: str, csrf: str) -> str:
    """The page behind an annotator's link, `/a/TOKEN/`: `title` is the study's name, `csrf` goes back with every
    change as the header X-CSRF-Token. Scripts and style are linked as `../../static/`."""
    scripts = [path.name for path in order_script_modules(STATIC)]
    return make_page_environment().get_template("annotate.html").render(title=title, csrf=csrf, scripts=scripts)


@lru_cache(maxsize=1)
def make_page_environment() -> Environment:
    """The template environment: everything is escaped, an unknown name is an error."""
    return Environment(
        loader=PackageLoader("embassay.web.annotation.page", "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )  # fmt: skip


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_STYLE, _SCRIPT = "/*style*/", "/*script*/"


def write_annotator_file(study: Path, annotator: str, out: Path, *, adjudicates: bool = False) -> Path:
    """Write the file of `annotator` for the study in the folder `study`, in one step; gold is not read. Whoever
    `adjudicates` gets the items that people have answered differently until now, with these answers.

    Raises UsageError for a name that no file could have, and where there is nothing to decide; for a folder without a
    study DataError.
    """
    if not _NAME.fullmatch(annotator):
        raise UsageError(
            f"{annotator!r} is not a valid annotator name.",
            mend="Use only letters, digits, dots, dashes and underscores.",
        )
    write_file_atomically(out, render_annotator_html_page(read_study(study), annotator, adjudicates=adjudicates))
    return out


def render_annotator_html_page(folder: StudyFolder, annotator: str, *, adjudicates: bool = False) -> str:
    """The whole file. The same study, answers and annotator give the same bytes."""
    from embassay.report.html import build_security_policy, escape_json_for_script

    style, script = (STATIC / "annotate.css").read_text("utf-8"), bundle_script_modules()
    collect_items = _build_adjudicator_file_data if adjudicates else _build_annotator_file_data
    page = (
        make_page_environment()
        .get_template("single.html")
        .render(
            title=folder.study.name, policy=build_security_policy(style, script),
            data=escape_json_for_script(collect_items(folder, annotator)),
        )
    )  # fmt: skip
    # From the last place to the first, so that no text of the study is taken for one.
    head, _, tail = page.rpartition(_SCRIPT)
    head, style_place, body = head.partition(_STYLE)
    return head + (style if style_place else "") + body + script + tail


def _build_annotator_file_data(folder: StudyFolder, annotator: str) -> dict[str, Any]:
    study = folder.study
    titles = make_distinct_task_titles(study.tasks)
    items = {task.name: [item.id for item in folder.select_task_items(task.name)] for task in study.tasks}
    tasks = [
        build_task_for_page(
            task,
            titles[task.name],
            list(draw_annotator_item_order(study.seed, annotator, task.name, items[task.name])),
            finished=False,
        )
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
            **({"about": {"asked": build_questions_for_page(study), "said": {}}} if study.profile else {}),
        },
    }


def _build_adjudicator_file_data(folder: StudyFolder, adjudicator: str) -> dict[str, Any]:
    """What `_build_annotator_file_data` is for annotators, with nothing but disputes and what people answered to
    them."""
    rows = read_answers_of_files_and_store(folder)
    disputed = {task.name: list_disputed_items(folder, task, rows) for task in folder.study.tasks}
    if not any(disputed.values()):
        raise UsageError("People do not disagree on any item.", mend="Wait until more people have answered.")
    data, every = _build_annotator_file_data(folder, adjudicator), {item.id: item for item in folder.items}
    titles = make_distinct_task_titles(folder.study.tasks)
    tasks = [
        {
            **build_task_for_page(
                task, titles[task.name], [dispute.item for dispute in disputed[task.name]], finished=False
            ),
            "practice": [],
        }
        for task in folder.study.tasks
        if disputed[task.name]
    ]
    payloads = {
        dispute.item: {
            **every[dispute.item].payload,
            "others": build_dispute_for_page(task, dispute, disputed[task.name]),
        }
        for task in folder.study.tasks
        for dispute in disputed[task.name]
    }
    about = {name: value for name, value in data["told"].items() if name != "about"}
    return {**data, "payloads": payloads, "told": {**about, "tasks": tasks, "adjudicates": True}}
