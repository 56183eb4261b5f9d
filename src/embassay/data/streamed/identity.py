"""What tells one corpus from another: the bytes it is read from, and how."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from embassay.data.rows import File, Source

LAYOUT = 1
"""Of what is kept: another one is another key."""
PACKED = 8
"""How many times its size a packed file is thought to hold."""


def key_of_corpus(source: Source, settings: Mapping[str, Any], what: str) -> str | None:
    """32 hexadecimal digits; None for a source of which nobody knows how it reads.

    `settings` is what besides the bytes decides what is read, `what` how rows become texts. Where files lie and what
    they are called doesn't matter.
    """
    try:
        how = json.dumps([LAYOUT, dict(settings), what, _described(source)], sort_keys=True)
    except TypeError:
        return None
    digest = hashlib.sha256(how.encode())
    for origin in source.origins():
        digest.update(origin.digest())
    return digest.hexdigest()[:32]


def likely_size(source: Source) -> int | None:
    """Bytes of text that the files of `source` may hold; None where it is not made of files."""
    origins = source.origins()
    if not all(isinstance(origin, File) for origin in origins):
        return None
    files = [origin.path for origin in origins if isinstance(origin, File)]
    return sum(
        file.stat().st_size * (PACKED if file.suffix.lower() in (".gz", ".parquet") else 1)
        for file in files
        if file.exists()
    )


def _described(value: Any) -> Any:
    """A view and what it is a view of, as JSON takes it; TypeError for what is no record."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        inside = {field.name: _described(getattr(value, field.name)) for field in fields(value)}
        return [f"{kind.__module__}.{kind.__qualname__}", inside]
    if isinstance(value, Path):
        return None  # its bytes count, and its format is the class that reads it
    if isinstance(value, Mapping):
        return [[str(key), _described(one)] for key, one in value.items()]
    if isinstance(value, frozenset | set):
        return sorted(map(str, value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_described(one) for one in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(type(value).__name__)
