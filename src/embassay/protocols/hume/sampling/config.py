"""The file that says what to sample: YAML in, a checked request out, one error with its line for what is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from embassay.data.rows import nearest
from embassay.data.yaml import line_of, read_yaml
from embassay.errors import DataError, UsageError
from embassay.protocols.hume.folder.formats import Scale
from embassay.protocols.hume.sampling.request import LabelText, SampleRequest, TaskRequest

_MODELS: Mapping[str, type[BaseModel]] = {"tasks": TaskRequest, "scale": Scale, "labels": LabelText}
Place = Sequence[int | str]


def read_config(path: Path) -> SampleRequest:
    """The request that a file makes. Paths of data and guidelines are relative to the file.

    Raises UsageError for a key or value that is not right, with its line, DataError for a file that is no mapping.
    """
    if not path.is_file():
        raise UsageError(f"There is no file {str(path)!r}.", mend="Name the YAML file of the study.")
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise DataError(
            "the file is no mapping", path=path, expected="tasks: ...", found=type(content).__name__,
            mend="Begin with `tasks:`; see docs/hume_sampling.md.",
        )  # fmt: skip
    content.setdefault("name", path.stem)
    return checked(content, path)


def checked(content: Mapping[str, Any], path: Path | None = None) -> SampleRequest:
    """The request that a mapping with the keys of the file makes."""
    base = path.parent if path else Path()
    tasks = content.get("tasks")
    if isinstance(tasks, list):
        content = {**content, "tasks": [_resolved(task, base) for task in tasks]}
    try:
        return SampleRequest.model_validate(content)
    except ValidationError as error:
        raise _wrong(error, path) from None


def read_guidelines(path: str | Path) -> str:
    """The text of own guidelines. Raises UsageError for a file that cannot be read or is empty."""
    try:
        text = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The guidelines {path} cannot be read: {error}.", mend="Give a text file in UTF-8."
        ) from None
    if not text:
        raise UsageError(f"The guidelines {path} are empty.", mend="Write what annotators are to do.")
    return text + "\n"


def _resolved(task: Any, base: Path) -> Any:
    """A task with the text of its guidelines, paths as seen from here, and levels as texts."""
    if not isinstance(task, dict):
        return task
    task = dict(task)
    if isinstance(task.get("guidelines"), str):
        task["guidelines"] = read_guidelines(base / task["guidelines"])
    if isinstance(task.get("data"), str):
        task["data"] = _data(task["data"], base)
    against = task.get("against")
    if isinstance(against, str | list):
        task["against"] = [
            _data(str(one), base) for one in ([against] if isinstance(against, str) else against)
        ]
    scale = task.get("scale")
    if isinstance(scale, dict) and isinstance(scale.get("anchors"), dict):
        anchors = {str(level): words for level, words in scale["anchors"].items()}
        task["scale"] = {**scale, "anchors": anchors}
    return task


def _data(spec: str, base: Path) -> str:
    """A path beside the file, if there is one; a name of the catalogue stays as it is."""
    path = os.path.normpath(base / spec)
    return path if Path(path).exists() else spec


def _wrong(error: ValidationError, path: Path | None) -> UsageError:
    """The first thing that is wrong, in one line."""
    first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    place = first["loc"]
    name = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    where = f"{path}:{line_of(path, place)}: " if path else ""
    see = "See docs/hume_sampling.md." if path else "`embassay hume sample --help` shows what can be given."
    if path is None:
        name = name.partition(".")[2]
    if first["type"] == "extra_forbidden":
        known = list(_model(place[:-1]).model_fields)
        near = nearest(str(place[-1]), known)
        mend = f"Did you mean {near!r}?" if near else f"Keys are {', '.join(known)}."
        return UsageError(f"{where}there is no key {name!r}.", mend=mend)
    if first["type"] == "missing":
        return UsageError(f"{where}the key {name!r} is missing.", mend=f"Add a line `{place[-1]}: ...`.")
    said = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if isinstance(first["input"], dict):
        return UsageError(f"{where}{f'{name}: ' if name else ''}{said}.", mend=see)
    return UsageError(f"{where}{name} is {first['input']!r}, but should be {said}.", mend=see)


def _model(place: Place) -> type[BaseModel]:
    names = [part for part in place if part in _MODELS]
    return _MODELS[str(names[-1])] if names else SampleRequest
