"""Writing files so that a reader never sees half of one, and names that are safe as file names."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write `content` to `path` in one step: a crash leaves the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    data = content.encode("utf-8") if isinstance(content, str) else content
    with temporary.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


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
    return safe if safe == name else f"{safe}-{digest(name)[:8]}"
