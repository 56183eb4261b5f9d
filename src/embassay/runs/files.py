"""What folders are called to tell them apart: their ends."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any


def tails(folders: Sequence[Path]) -> tuple[str, ...]:
    """The name of each folder, with as many of the folders above it as tell them apart; equal for a folder that is
    given twice.

    >>> tails([Path("runs/may"), Path("runs/june")])
    ('may', 'june')
    >>> tails([Path("may/sage"), Path("june/sage")])
    ('may/sage', 'june/sage')
    """
    parts = [folder.absolute().parts for folder in folders]
    depth = 1
    while depth < max(map(len, parts)) and len({one[-depth:] for one in parts}) < len(set(parts)):
        depth += 1
    return tuple("/".join(one[-depth:]) for one in parts)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write `content` to `path` in one step: a crash leaves the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    data = content.encode("utf-8") if isinstance(content, str) else content
    # What is there is never followed: in a folder that others can write it may be their link to one of our files.
    temporary.unlink(missing_ok=True)
    with temporary.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def private_folder(path: Path) -> Path:
    """The folder, made where it is missing: each one that is made is for its owner only."""
    for folder in reversed([one for one in (path, *path.parents) if not one.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
    return path


def private_file(path: Path) -> Path:
    """The file, made empty where it is missing: for its owner only, unless its folder is one that a group writes."""
    if not path.exists() and not path.parent.stat().st_mode & stat.S_IWGRP:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return path


def to_json(value: Any, *, indent: int | None = None) -> str:
    """JSON with keys in the order given, text as it is, and no NaN (a missing number is null)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)


def digest(value: Any) -> str:
    """A short, stable fingerprint of a JSON-able value: 32 hexadecimal digits."""
    canonical = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()


def slug(name: str) -> str:
    """`name` as a file name; a short hash is appended when something had to change.

    >>> slug("bm25"), slug("st:ORG/MODEL")
    ('bm25', 'st_ORG_MODEL-3def02cc')
    """
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")[:60]
    return safe if safe and safe == name else f"{safe}-{digest(name)[:8]}"
