"""Writes results in the public layout, so that MTEB and everything made for it can read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.mteb.document import Document
from embassay.protocols.mteb.json_text import json_text
from embassay.protocols.mteb.layout import META, RESULTS, place_of
from embassay.protocols.mteb.meta import model_meta
from embassay.runs.files import slug

Owner = tuple[str, str, str]


@dataclass(frozen=True)
class Written:
    """So many files of tasks, models in a revision, and entries were written below `folder`."""

    folder: Path
    files: int
    models: int
    entries: int


def write_documents(
    documents: Iterable[Document], out: Path, metas: Mapping[Owner, Mapping[str, Any]] | None = None
) -> Written:
    """Write `out/results/org__model/revision/Task.json` of every document, and a `model_meta.json` for each revision:
    the one of `metas`, else one that says only the name. UsageError where two documents would be one file."""
    metas = metas or {}
    spoken: dict[Owner, set[str]] = {}
    seen: set[Path] = set()
    entries = 0
    for document in documents:
        owner = (document.model, document.revision, document.experiment)
        path = out / RESULTS / place_of(*owner) / f"{slug(document.task)}.json"
        if path in seen:
            raise UsageError(
                f"{document.model} has two results of {document.task} in revision {document.revision}.",
                mend="Export the runs they are from one by one.",
            )
        seen.add(path)
        _write(path, document.body)
        for _, entry in document.entries():
            entries += 1
            spoken.setdefault(owner, set()).update(entry.get("languages") or ())
        spoken.setdefault(owner, set())
    for owner, languages in spoken.items():
        meta = metas.get(owner) or model_meta(owner[0], owner[1], languages)
        _write(out / RESULTS / place_of(*owner) / META, meta)
    return Written(out, len(seen), len(spoken), entries)


def _write(path: Path, body: Mapping[str, Any]) -> None:
    """In one step, but without waiting for the disk: an export of many thousand files can be made again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json_text(body, indent=2) + "\n", encoding="ascii")
    part.replace(path)
