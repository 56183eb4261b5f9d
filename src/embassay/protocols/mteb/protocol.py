"""Published results as an ordinary run: manifest, rows, order of systems, and the documents themselves, whole."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from embassay import __version__
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.comparisons import write_standings
from embassay.protocols.kernel.outcome import moment
from embassay.protocols.mteb.document import MAX_BYTES, MEND, Document, facts_of, json_text
from embassay.protocols.mteb.rows import (
    PROTOCOL,
    MainScores,
    comparisons_of,
    mean_rows,
    rows_of,
    standings_of,
)
from embassay.protocols.mteb.survey import Fault, Progress, Reading, Survey, TaskSurvey, read_documents
from embassay.records import Result
from embassay.runs.folder import RunFolder, digest, hardware, to_json, versions, write_atomic

FAULTS = "faults.jsonl"


@dataclass(frozen=True)
class Imported:
    """What became of a source: files read, documents, systems, tasks, rows written, and what could not be read."""

    folder: Path
    files: int
    documents: int
    systems: int
    tasks: int
    rows: int
    faults: tuple[Fault, ...]


def import_results(
    source: Path,
    out: Path,
    *,
    measures: Collection[str] = (),
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
    command: str = "",
) -> Imported:
    """Make the run folder `out` of the published results in `source` (see `read_documents`).

    One run with all systems; `measures` names the numbers beside the main score that become rows (none: all). Broken
    files are counted, and told of in `faults.jsonl`. Raises DataError where nothing could be read, UsageError where
    `out` holds something else.
    """
    folder, reading, survey = RunFolder(out), Reading(), Survey()
    _check_out(folder)
    documents = read_documents(source, reading, max_bytes=max_bytes, progress=progress)
    first = next(documents, None)
    if first is None:
        raise _nothing(source, reading.faults)
    with folder.locked():
        keep_all(out, _counted(chain([first], documents), survey), reading.metas, reading.head)
        rows, means = _write_rows(folder, survey, measures, reading, progress)
        standings = standings_of(means)
        write_standings(out, standings)
        write_atomic(out / "comparisons.json", to_json(comparisons_of(standings), indent=1) + "\n")
        _write_faults(out / FAULTS, reading.faults)
        folder.write_manifest(manifest_of(source, out, survey, reading, sorted(measures), command))
    systems, tasks = len(survey.systems()), len(survey.tasks)
    faults = tuple(reading.faults)
    return Imported(out, reading.files, survey.documents, systems, tasks, rows + len(means), faults)


def _counted(documents: Iterable[Document], survey: Survey) -> Iterator[Document]:
    for document in documents:
        survey.add(document)
        yield document


def _write_rows(
    folder: RunFolder, survey: Survey, measures: Collection[str], reading: Reading, progress: Progress | None
) -> tuple[int, list[Result]]:
    """Write results.jsonl row by row, from the documents kept: which split counts is known only when all are read."""
    rows, scores = 0, MainScores()
    part = folder.results.with_name(".results.jsonl.part")
    with part.open("w", encoding="utf-8") as stream:
        for place, document in enumerate(read_originals(folder.path)):
            if progress is not None:
                progress("writing rows", place, survey.documents)
            told = partial(_tell, reading, f"{document.model}, {document.task}")
            for row in rows_of(document, survey, measures, told):
                scores.add(row)
                stream.write(to_json(vars(row)) + "\n")
                rows += 1
        means = list(mean_rows(scores, survey))
        stream.writelines(to_json(vars(row)) + "\n" for row in means)
    part.replace(folder.results)
    return rows, means


def _tell(reading: Reading, where: str, what: str) -> None:
    reading.faults.append(Fault.of(where, what))


def _write_faults(path: Path, faults: Sequence[Fault]) -> None:
    path.unlink(missing_ok=True)
    if faults:
        write_atomic(path, "".join(to_json(vars(one)) + "\n" for one in faults))


def _check_out(folder: RunFolder) -> None:
    """An import may replace an import, and nothing else."""
    if folder.path.is_file():
        raise UsageError(f"{folder.path} is a file.", mend="Name a folder with --out.")
    manifest = folder.read_manifest()
    if manifest is not None and manifest.get("protocol") != PROTOCOL:
        raise UsageError(
            f"{folder.path} holds a run of {manifest.get('protocol')}.", mend="Choose another --out folder."
        )


def _nothing(source: Path, faults: Sequence[Fault]) -> DataError:
    if not faults:
        return DataError("No results of MTEB were found", path=source, mend=MEND)
    one, more = faults[0], len(faults) - 1
    also = f" {more:,} more files or records are broken too." if more else ""
    return DataError(f"Nothing could be read. {one.reason}{also}", path=None, mend=MEND)


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


FILE = "originals.jsonl.gz"
Owner = tuple[str, str, str]


@dataclass(frozen=True)
class Originals:
    """What came with the documents: accounts of models by model, revision and experiment, and the head of a bundle."""

    metas: Mapping[Owner, Mapping[str, Any]]
    head: Mapping[str, Any]


class Keeper:
    """Writes documents as they come, to a file that is there only once all is written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._part = self._path.with_name(f".{FILE}.part")
        self._raw = self._part.open("wb")
        # No name and no time inside: the same documents are the same bytes.
        self._stream = gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, compresslevel=4, mtime=0)

    def keep(self, document: Document) -> None:
        """Add a document."""
        self._write({"document": vars(document)})

    def close(self, metas: Mapping[Owner, Mapping[str, Any]], head: Mapping[str, Any]) -> None:
        """Add what came with the documents, and put the file in its place."""
        for owner, meta in sorted(metas.items()):
            self._write({"meta": {"owner": list(owner), "body": meta}})
        self._write({"head": head})
        self._stream.close()
        self._raw.close()
        self._part.replace(self._path)

    def drop(self) -> None:
        """Leave nothing behind."""
        self._stream.close()
        self._raw.close()
        self._part.unlink(missing_ok=True)

    def _write(self, line: Mapping[str, Any]) -> None:
        self._stream.write((json_text(line) + "\n").encode("ascii"))


def read_originals(folder: Path) -> Iterator[Document]:
    """The documents that a run was imported from, in their order. DataError where the run has none, or broken ones."""
    for line in _lines(folder / FILE):
        if "document" in line:
            yield Document(**line["document"])


def originals_of(folder: Path) -> Originals:
    """What came with them."""
    metas: dict[Owner, Mapping[str, Any]] = {}
    head: Mapping[str, Any] = {}
    for line in _lines(folder / FILE):
        if "meta" in line:
            model, revision, experiment = line["meta"]["owner"]
            metas[model, revision, experiment] = line["meta"]["body"]
        head = line.get("head", head)
    return Originals(metas, head)


def keep_all(
    folder: Path,
    documents: Iterable[Document],
    metas: Mapping[Owner, Mapping[str, Any]],
    head: Mapping[str, Any],
) -> None:
    """Write them all; what `documents` adds to `metas` and `head` as it is read is written too."""
    keeper = Keeper(folder)
    try:
        for document in documents:
            keeper.keep(document)
    except BaseException:
        keeper.drop()
        raise
    keeper.close(metas, head)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with gzip.open(path, "rt", encoding="ascii") as stream:
            for line in stream:
                yield json.loads(line)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(
            "The documents of this run cannot be read", path=path, found=str(error)[:80],
            mend="Import them again with the same --out.",
        ) from error  # fmt: skip
