"""Writes a study's folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from embassay.errors import UsageError
from embassay.protocols.hume.folder.formats import AnnotationRow, GoldRow, ItemRow, StudyFile
from embassay.protocols.hume.folder.reading import ANNOTATIONS, GOLD, ITEMS, STUDY
from embassay.runs.files import digest, slug, write_atomic


def content_hash(items: Sequence[ItemRow], gold: Sequence[GoldRow]) -> str:
    """A fingerprint of all items with their gold, in their order."""
    return digest([[one.model_dump() for one in rows] for rows in (items, gold)])


def write_study(path: Path, study: StudyFile, items: Sequence[ItemRow], gold: Sequence[GoldRow]) -> Path:
    """Write a new study and return its folder. Raises UsageError where another study is in it already."""
    text = study.model_dump_json(indent=1) + "\n"
    held = path / STUDY
    if held.is_file() and held.read_text("utf-8") != text:
        raise UsageError(f"{path} holds another study.", mend="Give another --out, or delete it first.")
    # The study last: a folder that holds it is whole.
    write_atomic(path / GOLD, _lines(gold))
    write_atomic(path / ITEMS, _lines(items))
    write_atomic(held, text)
    return path


def write_annotations(path: Path, name: str, rows: Sequence[AnnotationRow]) -> Path:
    """Write `annotations/NAME.jsonl` of the study in `path` and return the file."""
    file = path / ANNOTATIONS / f"{slug(name)}.jsonl"
    write_atomic(file, _lines(rows))
    return file


def _lines(rows: Iterable[ItemRow | GoldRow | AnnotationRow]) -> str:
    return "".join(row.model_dump_json() + "\n" for row in rows)
