"""JSON as MTEB writes it: with NaN, which strict JSON does not know, and possibly compressed."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.limits import unpacking

MEND = "Give a results file of MTEB (.json, .json.gz), or a folder of them as org__model/revision/Task.json."
MAX_BYTES = 256 * 2**20
"""No file of one task is near this; unpacked, a bundle of the whole public repository might be."""


def read_json(path: Path, max_bytes: int = MAX_BYTES) -> Any:
    """What a file holds, unpacked where it is compressed, whatever its name says. DataError where it cannot be read, or
    is larger than `max_bytes` unpacked."""
    try:
        with path.open("rb") as stream:
            # Two bytes that open every gzip file: a name may lie.
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            source = unpacking(stream, path, path.stat().st_size) if packed else stream
            raw = source.read(max_bytes + 1)
        if len(raw) > max_bytes:
            raise DataError(
                "The file is too large", path=path, expected=f"{max_bytes:,} bytes at most",
                mend="Allow more with --max-mb, if it is what you mean.",
            )  # fmt: skip
        return json.loads(raw.decode("utf-8"))
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise DataError("The file cannot be read as JSON", path=path, found=str(error), mend=MEND) from error


def json_text(value: Any, *, indent: int | None = None) -> str:
    """The same value as JSON in ASCII, every digit and NaN kept.

    >>> json_text({"main_score": float("nan"), "map": 0.1})
    '{"main_score": NaN, "map": 0.1}'
    """
    # ASCII, since a text may hold half a surrogate pair, which no encoding can write.
    return json.dumps(value, ensure_ascii=True, indent=indent)
