"""A study as a folder: what is asked, what is right, and what was answered, in files that are kept apart.

study.json            the tasks: questions, labels, scales, guidelines, practice, source, hashes (no gold)
items.jsonl           {"id", "task", "payload"}: all that annotators and models see
gold.jsonl            {"id", "gold", "source_id", "documents", "defects"}: no page ever opens it
annotations/*.jsonl   answers of people, an `AnnotationRow` a line, as `hume import` and `hume export` write them
answers.sqlite3       what `hume serve` stores
llm/                  answers of language models (`embassay.protocols.hume.llms`)
"""

from __future__ import annotations

from embassay.protocols.hume.folder.files import (
    AnnotationRow,
    Defect,
    GoldRow,
    ItemRow,
    LabelChoice,
    Practice,
    Scale,
    Source,
    StudyFile,
    StudyFolder,
    Task,
    content_hash,
    read_study,
    write_annotations,
    write_study,
)

__all__ = [
    "AnnotationRow",
    "Defect",
    "GoldRow",
    "ItemRow",
    "LabelChoice",
    "Practice",
    "Scale",
    "Source",
    "StudyFile",
    "StudyFolder",
    "Task",
    "content_hash",
    "read_study",
    "write_annotations",
    "write_study",
]
