"""A folder of documents: found, read within bounds, converted where needed, and cut into passages."""

from embassay.data.documents.passages import (
    Document,
    FolderPassageSource,
    Passage,
    PlacedPassage,
    open_document_folder,
    read_passage_texts,
    read_passages_with_origin,
    split_into_passages,
)

__all__ = [
    "Document",
    "FolderPassageSource",
    "Passage",
    "PlacedPassage",
    "open_document_folder",
    "read_passage_texts",
    "read_passages_with_origin",
    "split_into_passages",
]
