"""Reads a study's folder; gold only where it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from embassay.data.delimited import text_lines
from embassay.errors import DataError, UsageError
from embassay.limits import read_bounded
from embassay.protocols.hume.folder.formats import VERSION, GoldRow, ItemRow, StudyFile, Task
from embassay.protocols.hume.study import Item, gold_values

STUDY, ITEMS, GOLD, ANNOTATIONS, ANSWERS = (
    "study.json", "items.jsonl", "gold.jsonl", "annotations", "answers.sqlite3"
)  # fmt: skip
_MEND = "Give the folder that `embassay hume sample` wrote."
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class StudyFolder:
    """A study and where it lies; `items` are without gold, in the order of the file."""

    path: Path
    study: StudyFile
    items: tuple[Item, ...]

    def task(self, name: str) -> Task:
        """The task of this name. Raises UsageError where there is none."""
        try:
            return self.study.task(name)
        except KeyError:
            names = ", ".join(one.name for one in self.study.tasks)
            raise UsageError(f"The study has no task {name!r}.", mend=f"Its tasks are {names}.") from None

    def items_of(self, task: str) -> tuple[Item, ...]:
        """The items of a task."""
        return tuple(item for item in self.items if item.task == task)

    def gold(self, task: str) -> dict[str, Any]:
        """The gold of a task's items, in the form its family scores. Reads `gold.jsonl`.

        Raises DataError where the gold of an item is missing or of another kind.
        """
        rows = {row.id: row.gold for _, row in read_rows(self.path / GOLD, GoldRow)}
        items = [
            Item(one.id, one.task, one.lang, gold=_tupled(rows.get(one.id))) for one in self.items_of(task)
        ]
        return gold_values(self.task(task).spec, items)


def read_study(path: Path) -> StudyFolder:
    """The study in a folder. Raises DataError for a folder that holds none, another version, or a broken line."""
    study = _study(path / STUDY)
    langs = {task.name: task.lang for task in study.tasks}
    items, seen = [], set()
    for line, row in read_rows(path / ITEMS, ItemRow):
        if row.task not in langs or row.id in seen:
            what = "is there twice" if row.id in seen else f"is of the unknown task {row.task!r}"
            raise DataError(f"Item {row.id} {what}", path=path / ITEMS, line=line, mend=_MEND)
        seen.add(row.id)
        items.append(Item(row.id, row.task, langs[row.task], row.payload))
    return StudyFolder(path, study, tuple(items))


def read_rows(path: Path, kind: type[T], mend: str = _MEND) -> Iterator[tuple[int, T]]:
    """Every line of a JSONL file with its number. Raises DataError, with the `mend`, for one not of this kind."""
    if not path.is_file():
        raise DataError("There is no such file", path=path, mend=mend)
    for number, text in text_lines(path):
        if not text.strip():
            continue
        try:
            row = kind.model_validate_json(text)
        except ValidationError as error:
            raise _fault(error, path, number, mend) from None
        yield number, row


def _study(path: Path) -> StudyFile:
    if not path.is_file():
        raise DataError("This folder holds no study", path=path.parent, mend=_MEND)
    try:
        study = StudyFile.model_validate_json(read_bounded(path))
    except ValidationError as error:
        raise _fault(error, path) from None
    if study.version != VERSION:
        raise DataError(
            "The study was written by another version", path=path, expected=f"version {VERSION}",
            found=f"version {study.version}", mend="Sample it again, or install the version it was written with.",
        )  # fmt: skip
    return study


def _fault(error: ValidationError, path: Path, line: int | None = None, mend: str = _MEND) -> DataError:
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or "the line"
    return DataError(
        f"{where} cannot be read", path=path, line=line, expected=str(first["msg"]),
        found=repr(first.get("input"))[:80], mend=mend,
    )  # fmt: skip


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
