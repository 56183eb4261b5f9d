"""The run folders under a folder, and a stamp of each that tells whether it must be read again."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from embassay.bounded import read_bounded
from embassay.errors import DataError
from embassay.limits import FILES

MANIFEST, RESULTS, HEADLINES, REPORT = "manifest.json", "results.jsonl", "headlines.parquet", "report.html"
_CELLS = "cells"
_DEPTH = 12
Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Folder:
    """A folder with a manifest. `name` is relative to the folder served, with `/`; `stamp` are time (ns) and size of
    what a board is made of, (0, 0) where it is not there; `touched` is the newest of these times, in seconds."""

    name: str
    path: Path
    stamp: Stamp
    touched: float
    has_report: bool


def find_folders(root: Path) -> Iterator[Folder]:
    """All run folders below `root`, itself included, in the order of their names. Links are not followed: what they
    lead to may lie elsewhere. A folder that cannot be listed is passed over; nothing is looked for inside a run."""
    yield from _under(root, root, _DEPTH)


def _under(root: Path, folder: Path, depth: int) -> Iterator[Folder]:
    try:
        with os.scandir(folder) as entries:
            known = {entry.name: entry for entry in islice(entries, FILES.most) if not entry.is_symlink()}
    except OSError:
        return
    manifest = known.get(MANIFEST)
    if manifest is not None and manifest.is_file() and _is_run(manifest.path, *_stamp(manifest)):
        yield _folder(root, folder, known)
        return
    below = [name for name, one in known.items() if one.is_dir(follow_symlinks=False)]
    for name in sorted(below) if depth else ():
        if not name.startswith("."):
            yield from _under(root, folder / name, depth - 1)


@lru_cache(maxsize=20_000)
def _is_run(path: str, at: int, size: int) -> bool:  # noqa: ARG001 - a changed file is another question
    """Whether a manifest is one of a run, or too damaged to say: other things have manifests too."""
    try:
        manifest = json.loads(read_bounded(Path(path)))
    except (DataError, OSError, ValueError, RecursionError):
        return True
    return isinstance(manifest, dict) and "protocol" in manifest


def _folder(root: Path, folder: Path, known: dict[str, os.DirEntry[str]]) -> Folder:
    stamp = tuple(_stamp(known.get(name)) for name in (MANIFEST, RESULTS, HEADLINES, _CELLS, REPORT))
    name = folder.relative_to(root).as_posix()
    return Folder(
        root.name if name == "." else name,
        folder,
        stamp,
        max(at for at, _ in stamp) / 1e9,
        stamp[-1] != (0, 0),
    )


def _stamp(entry: os.DirEntry[str] | None) -> tuple[int, int]:
    """Time and size; a folder's size says nothing, its time changes with every file that is added."""
    try:
        found = entry.stat(follow_symlinks=False) if entry is not None else None
    except OSError:
        found = None
    if found is None:
        return 0, 0
    return found.st_mtime_ns, found.st_size if stat.S_ISREG(found.st_mode) else 1
