"""The runs under the folders that a report is asked of: each once, and what could not be read of the others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from embassay.bounded import bounded_walk, read_bounded
from embassay.errors import DataError
from embassay.report.record import Record, read_record

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Left:
    """A folder that a report leaves out, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Found:
    """The runs, and the folders beside them that cannot be read."""

    records: tuple[Record, ...]
    left: tuple[Left, ...] = ()


def find_records(paths: Sequence[Path]) -> Found:
    """The runs that `paths` are, or that lie anywhere in them, each once.

    A damaged run fails where it was named itself; found in a folder of runs it is left out and told of, if there are
    others. DataError where a path holds no run.
    """
    records: dict[Path, Record] = {}
    left: dict[Path, Left] = {}
    for path in paths:
        for folder, one in _runs_of(path):
            if isinstance(one, Record):
                records.setdefault(folder.resolve(), one)
            else:
                left.setdefault(folder.resolve(), Left(folder, one.what))
    return Found(tuple(records.values()), tuple(left.values()))


def run_folders(folder: Path) -> Iterator[Path]:
    """Every run in a folder, at any depth, in the order of their names. What lies inside a run belongs to it."""
    for path, names, files in bounded_walk(folder):
        if MANIFEST in files and _is_run(Path(path) / MANIFEST):
            names.clear()
            yield Path(path)
        names[:] = sorted(name for name in names if not name.startswith("."))


def _runs_of(path: Path) -> list[tuple[Path, Record | DataError]]:
    """The run that a path is, or all in it: each with its record or why there is none."""
    if (path / MANIFEST).exists() or not path.is_dir():
        return [(path, read_record(path))]
    found: list[tuple[Path, Record | DataError]] = []
    for folder in run_folders(path):
        try:
            found.append((folder, read_record(folder)))
        except DataError as error:
            found.append((folder, error))
    if any(isinstance(one, Record) for _, one in found):
        return found
    raise next((one for _, one in found if isinstance(one, DataError)), _nothing(path))


def _is_run(path: Path) -> bool:
    """Whether a manifest is one of a run, or too damaged to say; sets of paraphrases have manifests too."""
    try:
        manifest = json.loads(read_bounded(path).decode("utf-8"))
    except (DataError, OSError, ValueError, RecursionError):
        return True
    return isinstance(manifest, dict) and "schema" in manifest and "protocol" in manifest


def _nothing(path: Path) -> DataError:
    return DataError(
        "there is no run here", path=path, expected="the folder of a run, or one that holds runs",
        mend="Name the folder that a run command wrote with --out.",
    )  # fmt: skip
