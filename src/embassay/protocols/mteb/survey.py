"""Results of MTEB read one after another, whatever they come in, and what a set of them holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.protocols.mteb.document import (
    BLOCK,
    MAIN,
    MAX_BYTES,
    MEND,
    META,
    Document,
    checked,
    files_below,
    is_name,
    languages,
    owner_of,
    read_json,
    task_of,
)

Record = Mapping[str, Any]
_TEXTS = ("model", "revision", "task")
_RECORDS = "records"
_ENTRY = ("hf_subset", "languages", "agreement")
_FIELDS = (
    *_TEXTS, "split", "hf_subset", "languages", MAIN, "scores", "agreement", "dataset_revision", "mteb_version",
)  # fmt: skip


def documents_of(
    records: Sequence[Any], where: Path | None = None, fault: Callable[[str], None] | None = None
) -> Iterator[Document]:
    """The documents of a bundle's records, in the order of their first records; `bundle_of` gives the records back.

    A record that is none goes to `fault` in words, or raises DataError where nobody listens.
    """
    groups: dict[tuple[str, ...], list[tuple[int, Record]]] = {}
    for place, record in enumerate(records):
        try:
            groups.setdefault(_owner(record, place, where), []).append((place, record))
        except DataError as error:
            if fault is None:
                raise
            fault(error.message)
    for group in groups.values():
        try:
            yield checked(_document(group), where)
        except DataError as error:
            if fault is None:
                raise
            fault(f"{error.message} (results {', '.join(str(place + 1) for place, _ in group)})")


def bundle_of(documents: Iterable[Document]) -> list[dict[str, Any]]:
    """The records of documents: those that came from a bundle as they were and in its order, others after them."""
    found = [
        (place if place is not None else float("inf"), record)
        for document in documents
        for place, record in _records(document)
    ]
    return [record for _, record in sorted(found, key=lambda one: one[0])]


def _owner(record: Any, place: int, where: Path | None) -> tuple[str, ...]:
    if not isinstance(record, dict):
        raise DataError(f"Result {place + 1} is no object", path=where, found=repr(record)[:60])
    for key in _TEXTS:
        if not isinstance(record.get(key), str) or not record[key]:
            raise DataError(f"Result {place + 1} has no {key}", path=where, found=repr(record.get(key))[:60])
    if not isinstance(record.get("scores") or {}, dict):
        raise DataError(
            f"Result {place + 1} has scores that are no object", path=where, found=repr(record["scores"])[:60]
        )
    return record["model"], record["revision"], record["task"]


def _document(group: Sequence[tuple[int, Record]]) -> Document:
    first = group[0][1]
    scores: dict[str, list[dict[str, Any]]] = {}
    for _, record in group:
        scores.setdefault(_split(record), []).append(_entry(record))
    body: dict[str, Any] = {
        "dataset_revision": first.get("dataset_revision"),
        "task_name": first["task"],
        "mteb_version": first.get("mteb_version"),
        "scores": scores,
        "evaluation_time": None,
        "kg_co2_emissions": None,
    }
    bare = Document(first["model"], first["revision"], body)
    # The records of a document come split by split.
    ordered = [one for split in scores for one in group if _split(one[1]) == split]
    kept = [
        _beside(place, record, _record(bare, split, entry))
        for (place, record), (split, entry) in zip(ordered, bare.entries(), strict=True)
    ]
    return Document(bare.model, bare.revision, {**body, BLOCK: {_RECORDS: kept}})


def _split(record: Record) -> str:
    split = record.get("split", "test")
    return split if isinstance(split, str) else "test"


def _entry(record: Record) -> dict[str, Any]:
    """As MTEB has it: the scores with the subset and its languages among them."""
    entry = {
        **(record.get("scores") or {}),
        MAIN: record.get(MAIN),
        "hf_subset": record.get("hf_subset", "default"),
    }
    entry["languages"] = record.get("languages") or []
    if record.get("agreement") is not None:
        entry["agreement"] = record["agreement"]
    return entry


def _record(document: Document, split: str, entry: Record) -> dict[str, Any]:
    """A record made of an entry alone."""
    body = document.body
    return {
        "model": document.model, "revision": document.revision, "task": document.task, "split": split,
        "hf_subset": entry.get("hf_subset", "default"), "languages": entry.get("languages") or [],
        MAIN: entry.get(MAIN),
        "scores": {key: value for key, value in entry.items() if key not in _ENTRY},
        "agreement": entry.get("agreement"),
        "dataset_revision": body.get("dataset_revision"), "mteb_version": body.get("mteb_version"),
    }  # fmt: skip


def _beside(place: int, record: Record, made: Record) -> dict[str, Any]:
    """What has to be known beside the entry: the record's place, its order of fields, and those that differ."""
    differ = {key: record[key] for key in record if key not in made or not same(made[key], record[key])}
    usual = tuple(record) == _FIELDS
    return {"place": place, **({} if usual else {"fields": list(record)}), "values": differ}


def _records(document: Document) -> Iterator[tuple[int | None, dict[str, Any]]]:
    block = document.body.get(BLOCK)
    kept = block.get(_RECORDS) if isinstance(block, dict) else None
    entries = list(document.entries())
    if not isinstance(kept, list) or len(kept) != len(entries):
        kept = [None] * len(entries)
    for (split, entry), beside in zip(entries, kept, strict=True):
        made = _record(document, split, entry)
        if not isinstance(beside, dict):
            yield None, made
            continue
        place, values, fields = (beside.get(key) for key in ("place", "values", "fields"))
        whole = {**made, **(values if isinstance(values, dict) else {})}
        order = fields if isinstance(fields, list) else _FIELDS
        yield place if isinstance(place, int) else None, {key: whole[key] for key in order if key in whole}


def same(a: Any, b: Any) -> bool:
    """Whether two values of JSON are the same in every digit and type; NaN is NaN, and an object's order counts not.

    >>> same({"x": [float("nan"), 1]}, {"x": [float("nan"), 1]}), same(1, 1.0), same(0.0, False)
    (True, False, False)
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b or (a != a and b != b))


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
