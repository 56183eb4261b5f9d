"""A folder of documents: found, read within bounds, converted where needed, and cut into passages."""

from embassay.data.documents.passages import (
    Document,
    DocumentFolder,
    Passage,
    PlacedPassage,
    open_documents,
    read_passage_texts,
    read_placed_passages,
    split_into_passages,
)

__all__ = [
    "Document",
    "DocumentFolder",
    "Passage",
    "PlacedPassage",
    "open_documents",
    "read_passage_texts",
    "read_placed_passages",
    "split_into_passages",
]
