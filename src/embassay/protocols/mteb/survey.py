"""Results of MTEB read one after another, whatever they come in, and what a set of them holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.protocols.mteb.bundle import documents_of
from embassay.protocols.mteb.document import (
    MAX_BYTES,
    MEND,
    Document,
    checked,
    is_name,
    languages,
    read_json,
    task_of,
)
from embassay.protocols.mteb.repository import META, files_below, owner_of

MANY = "mul"
_TEST = "test"


@dataclass
class TaskSurvey:
    """One task: its type, and how many documents there are of each split, version of the data and language."""

    kind: str
    splits: Counter[str] = field(default_factory=Counter)
    revisions: Counter[str] = field(default_factory=Counter)
    langs: Counter[str] = field(default_factory=Counter)

    @property
    def split(self) -> str:
        """The split that counts: `test`, else the one that most documents have."""
        if _TEST in self.splits or not self.splits:
            return _TEST
        return min(self.splits, key=lambda name: (-self.splits[name], name))

    @property
    def lang(self) -> str:
        """The only language, or `mul`."""
        return next(iter(self.langs), "") if len(self.langs) < 2 else MANY


def _revision(document: Document) -> str:
    name = document.body.get("dataset_revision")
    return name if isinstance(name, str) and is_name(name) else ""


@dataclass
class Survey:
    """All documents, counted as they are read."""

    documents: int = 0
    tasks: dict[str, TaskSurvey] = field(default_factory=dict)
    versions: dict[str, dict[tuple[str, str], None]] = field(default_factory=dict)
    """Model -> its revisions with their experiments, in the order in which they came."""

    def add(self, document: Document) -> None:
        """Count a document."""
        self.documents += 1
        self.versions.setdefault(document.model, {})[document.revision, document.experiment] = None
        task = self.tasks.setdefault(document.task, TaskSurvey(task_of(document)))
        task.revisions[_revision(document)] += 1
        for split, entry in document.entries():
            task.splits[split] += 1
            task.langs.update(languages(entry))

    def system(self, document: Document) -> str:
        """What the document's system is called in a run; see `system_name`."""
        return self.system_name(document.model, document.revision, document.experiment)

    def system_name(self, model: str, revision: str, experiment: str) -> str:
        """The model's name; with its revision (and experiment) where the results are of more than one."""
        if len(self.versions[model]) == 1:
            return model
        return f"{model}@{revision}" + (f"/{experiment}" if experiment else "")

    def systems(self) -> dict[str, tuple[str, str, str]]:
        """Every system's name with its model, revision and experiment, in order."""
        return {
            self.system_name(model, *version): (model, *version)
            for model, versions in self.versions.items()
            for version in versions
        }

    @property
    def kinds(self) -> dict[str, list[str]]:
        """Type of task -> the tasks of it, in order."""
        found: dict[str, list[str]] = {}
        for name, task in self.tasks.items():
            found.setdefault(task.kind, []).append(name)
        return found


Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Fault:
    """What could not be read: where, and why."""

    path: str
    reason: str

    @classmethod
    def of(cls, path: str, reason: str) -> Fault:
        """With a mark for what no encoding can write: a file may be called anything."""
        path, reason = (text.encode("utf-8", "replace").decode() for text in (path, reason))
        return cls(path, reason)


@dataclass
class Reading:
    """What reading has come upon beside the documents: files, faults, what is known of models, and a bundle's head."""

    files: int = 0
    faults: list[Fault] = field(default_factory=list)
    metas: dict[tuple[str, str, str], Mapping[str, Any]] = field(default_factory=dict)
    head: dict[str, Any] = field(default_factory=dict)


def read_documents(
    source: Path,
    reading: Reading | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
) -> Iterator[Document]:
    """The documents of a source, read one by one: a clone of the public repository or a folder of its layout, a model's
    folder or a revision's, one Task.json, or a bundle `{"results": [record, ...]}`, compressed or not.

    Faults of single files and records go into `reading`. Raises DataError where there is no such source.
    """
    reading = reading if reading is not None else Reading()
    if not source.exists():
        raise DataError("There is no such file or folder", path=source, mend=MEND)
    files = [source] if source.is_file() else list(files_below(source))
    meta_of = lru_cache(maxsize=16)(lambda folder: _meta(folder, reading))
    for place, path in enumerate(files):
        if progress is not None:
            progress("reading results", place, len(files))
        reading.files += 1
        try:
            yield from _of_file(path, reading, meta_of, max_bytes)
        except DataError as error:
            reading.faults.append(Fault.of(_below(path, source), error.message))


def _of_file(
    path: Path, reading: Reading, meta_of: Callable[[Path], Mapping[str, Any] | None], max_bytes: int
) -> Iterator[Document]:
    body = read_json(path, max_bytes)
    if isinstance(body, dict) and isinstance(body.get("results"), list):
        reading.head.update((key, value) for key, value in body.items() if key != "results")
        yield from documents_of(
            body["results"], path, lambda fault: reading.faults.append(Fault.of(str(path), fault))
        )
        return
    if not isinstance(body, dict):
        raise DataError("This is no file of MTEB results", path=path, mend=MEND)
    meta = meta_of(path.parent)
    owner = owner_of(path.parent, meta)
    document = checked(Document(*owner[:2], body, owner[2]), path)
    if meta is not None:
        reading.metas[owner] = meta
    yield document


def _meta(folder: Path, reading: Reading) -> Mapping[str, Any] | None:
    path = folder / META
    if not path.is_file():
        return None
    try:
        meta = read_json(path)
        if not isinstance(meta, dict):
            raise DataError("This is no account of a model", path=path, found=repr(meta)[:60])
    except DataError as error:
        reading.faults.append(Fault.of(str(path), error.message))
        return None
    return meta


def _below(path: Path, source: Path) -> str:
    return path.name if path == source else path.relative_to(source).as_posix()
