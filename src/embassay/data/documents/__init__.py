"""A folder of documents: found, read within bounds, converted where needed, and cut into passages."""

from embassay.data.documents.passages import (
    Document,
    Folder,
    Passage,
    PlacedPassage,
    open_documents,
    passage_places,
    passage_texts,
    passages_in,
)

__all__ = [
    "Document",
    "Folder",
    "Passage",
    "PlacedPassage",
    "open_documents",
    "passage_places",
    "passage_texts",
    "passages_in",
]
