"""All answers that people gave to a study, in files and in the store of `embassay hume serve`."""

from __future__ import annotations

from pathlib import Path

from embassay.errors import DataError
from embassay.protocols.hume.answers import open_store
from embassay.protocols.hume.answers.opening import has_store
from embassay.protocols.hume.folder.formats import AnnotationRow
from embassay.protocols.hume.folder.reading import ANNOTATIONS, StudyFolder, read_rows

Key = tuple[str, str]
"""Annotator and item."""


def filed(folder: StudyFolder) -> dict[Path, list[AnnotationRow]]:
    """The rows of every file in `annotations/`."""
    return {
        path: [row for _, row in read_rows(path, AnnotationRow)]
        for path in sorted((folder.path / ANNOTATIONS).glob("*.jsonl"))
    }


def served(folder: StudyFolder, database: str | None = None) -> list[AnnotationRow]:
    """What the store holds that is decided: drafts and what was taken back are not there. None where nothing was ever
    served. Raises ModelError where the server of the store does not answer."""
    if not has_store(folder) and database is None:
        return []
    store = open_store(folder, database, read_only=True)
    try:
        kinds = {one.id: one.kind for one in store.annotators()}
        return [
            AnnotationRow(
                item_id=one.item_id, annotator_id=annotator, value=one.value, ts=one.saved_at, seconds=one.seconds,
                kind=kinds[annotator], flag=one.flag, comment=one.comment,
            )
            for annotator, answers in store.all_answers().items()
            for one in answers.values()
            if one.is_decided
        ]  # fmt: skip
    finally:
        store.close()


def all_rows(folder: StudyFolder, database: str | None = None) -> list[AnnotationRow]:
    """Everybody's answers, by annotator and then in the order of the study's items.

    Raises DataError for an item that the study has not, and where a file and the store say different things.
    """
    order = {item.id: place for place, item in enumerate(folder.items)}
    found: dict[Key, AnnotationRow] = {}
    for row in [*(row for rows in filed(folder).values() for row in rows), *served(folder, database)]:
        if row.item_id not in order:
            raise DataError(
                f"{row.annotator_id} answered {row.item_id}, which is no item of the study.",
                mend="Keep answers to this study only.",
            )
        held = found.setdefault((row.annotator_id, row.item_id), row)
        if (held.value, held.flag) != (row.value, row.flag):
            raise DataError(
                f"There are two different answers of {row.annotator_id} to {row.item_id}, in files or in the store.",
                mend=f"Keep one: edit or delete the file in {folder.path / ANNOTATIONS}.",
            )
    return sorted(found.values(), key=lambda row: (row.annotator_id, order[row.item_id]))
