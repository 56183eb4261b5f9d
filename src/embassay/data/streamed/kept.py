"""What the folder of kept corpora holds, and emptying it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from embassay.data.streamed import shelf
from embassay.errors import DataError


@dataclass(frozen=True)
class OneKept:
    """A kept corpus: the files it was read from, its documents (None where it is damaged) and bytes."""

    source: str
    documents: int | None
    bytes: int


@dataclass(frozen=True)
class KeptCorpora:
    """The corpora kept in `path`, the largest first, and their bytes with what killed processes left."""

    path: Path
    corpora: tuple[OneKept, ...]
    bytes: int


def kept_corpora(folder: Path) -> KeptCorpora:
    """What is kept in a folder; nothing where there is none."""
    found = sorted(map(_one, _folders(folder)), key=lambda one: (-one.bytes, one.source))
    left = sum(map(shelf.size_of, folder.glob(".*/")))
    return KeptCorpora(folder, tuple(found), sum(one.bytes for one in found) + left)


def clear_corpora(folder: Path) -> int:
    """Delete what is kept in a folder, also what killed processes left; gives the bytes freed.

    A corpus that a process reads goes on being read by it; one that is being written stays.
    """
    freed = shelf.clear_parts(folder)
    for kept in _folders(folder):
        freed += shelf.size_of(kept)
        shutil.rmtree(kept, ignore_errors=True)
    return freed


def _folders(folder: Path) -> list[Path]:
    return [one for one in folder.glob("[!.]*/") if one.is_dir()]


def _one(folder: Path) -> OneKept:
    size = shelf.size_of(folder)
    try:
        about = shelf.opened(folder).about
    except DataError:
        return OneKept("damaged", None, size)
    return OneKept(", ".join(about.source), about.documents, size)
