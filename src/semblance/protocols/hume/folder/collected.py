"""All answers that people gave to a study, wherever they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semblance.errors import DataError
from semblance.protocols.hume.folder.formats import AnnotationRow
from semblance.protocols.hume.folder.reading import ANNOTATIONS, StudyFolder, read_rows
from semblance.protocols.hume.study import Annotation


def collected(folder: StudyFolder, files: Sequence[Path] = ()) -> tuple[Annotation, ...]:
    """The annotations of `annotations/*.jsonl` (or only of `files`), in the order of files and lines.

    Raises DataError for an item that the study has not, and for an answer that is there twice.
    """
    known = {item.id for item in folder.items}
    found: dict[tuple[str, str], Annotation] = {}
    for path in files or sorted((folder.path / ANNOTATIONS).glob("*.jsonl")):
        for line, row in read_rows(path, AnnotationRow):
            key = row.annotator_id, row.item_id
            if row.item_id not in known or key in found:
                what = "is there twice" if key in found else "is to no item of the study"
                raise DataError(
                    f"The answer of {row.annotator_id} to {row.item_id} {what}", path=path, line=line,
                    mend="Keep one line for each annotator and item of this study.",
                )  # fmt: skip
            found[key] = annotation_of(row)
    return tuple(found.values())


def annotation_of(row: AnnotationRow) -> Annotation:
    """A row of a file as an annotation: lists become tuples."""
    value = tuple(row.value) if isinstance(row.value, list) else row.value
    return Annotation(**{**row.model_dump(), "value": value})
