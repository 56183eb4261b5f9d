"""The published documents inside a run, whole, so that an export gives back what an import read."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.protocols.mteb.document import Document
from embassay.protocols.mteb.json_text import json_text

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
