"""A folder of documents: found, read within bounds, converted where needed, and cut into passages."""

from embassay.data.documents.passages import (
    Document,
    FolderPassageSource,
    Passage,
    PlacedPassage,
    open_document_folder,
    read_corpus_passages_with_origin,
    read_titled_passages,
    split_into_passages,
)

__all__ = [
    "Document",
    "FolderPassageSource",
    "Passage",
    "PlacedPassage",
    "open_document_folder",
    "read_corpus_passages_with_origin",
    "read_titled_passages",
    "split_into_passages",
]
