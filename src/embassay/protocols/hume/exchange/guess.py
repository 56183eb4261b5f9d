"""Which format a file is in, by what it holds."""

from __future__ import annotations

import json
from pathlib import Path

from embassay.errors import DataError
from embassay.limits import read_bounded
from embassay.protocols.hume.exchange.argilla.shapes import is_argilla
from embassay.protocols.hume.exchange.incoming import FORMATS, Format
from embassay.protocols.hume.exchange.label_studio.reading import is_label_studio


def guessed(path: Path) -> Format:
    """The format of a file: a list of tasks or records is Label Studio's or Argilla's, lines of objects are JSONL, and
    what begins with a header is CSV. Raises DataError for a file that is none, is not there, or is too large."""
    _check(path)
    content = read_bounded(path)
    head = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head:
        raise DataError("The file is empty", path=path, mend="Give a file with annotations.")
    if head[:1] not in (b"{", b"["):
        return "csv"
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        # Several objects, one after another, or a broken line: reading says which line.
        return "jsonl"
    if is_label_studio(document):
        return "label-studio"
    if is_argilla(document):
        return "argilla"
    if isinstance(document, dict) and "item_id" in document:
        return "jsonl"
    raise DataError(
        "The file is of no known format", path=path, expected=", ".join(FORMATS),
        mend="Name it with --format, or export it anew as JSON.",
    )  # fmt: skip


def _check(path: Path) -> None:
    if not path.is_file():
        raise DataError("There is no such file", path=path, mend="Give a file with annotations.")
