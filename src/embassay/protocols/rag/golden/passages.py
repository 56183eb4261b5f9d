"""What is searched and judged: whole documents, or chunks of them with where they are from in front."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.contracts import Tokenizer
from embassay.errors import DataError
from embassay.protocols.rag.golden.inputs import Document
from embassay.protocols.rag.golden.options import GoldenOptions


@dataclass(frozen=True)
class Passages:
    """Passages in the order of their ids; `metadata` are the other columns of the document, for a chunk also its
    `source` (the id of the document), number and place in the text."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    metadata: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class _Passage:
    id: str
    text: str
    metadata: Mapping[str, Any]


def passages_of(documents: Sequence[Document], options: GoldenOptions, tokenizer: Tokenizer) -> Passages:
    """The documents as passages; with `options.chunk` as chunks `doc#1`, `doc#2` ... of so many tokens at most."""
    found = _chunks(documents, options, tokenizer) if options.chunk is not None else map(_whole, documents)
    ordered = sorted(found, key=lambda one: one.id)
    if not ordered:
        raise DataError("no passage can be made of the corpus", expected="at least one text")
    return Passages(
        tuple(one.id for one in ordered),
        tuple(one.text for one in ordered),
        tuple(one.metadata for one in ordered),
    )


def _whole(document: Document) -> _Passage:
    return _Passage(document.id, document.whole, document.metadata)


def _chunks(
    documents: Sequence[Document], options: GoldenOptions, tokenizer: Tokenizer
) -> Iterator[_Passage]:
    from embassay.text.chunking import Chunking, chunk
    from embassay.text.token_ends import token_ends

    assert options.chunk is not None
    chunking, ends = Chunking(options.chunk, options.overlap), token_ends(tokenizer)
    for document in documents:
        for number, one in enumerate(chunk(document.text, _breadcrumb(document), chunking, ends), start=1):
            place = {"source": document.id, "chunk": number, "start": one.start, "end": one.end}
            yield _Passage(f"{document.id}#{number}", one.text, {**document.metadata, **place})


def _breadcrumb(document: Document) -> Any:
    """Paper > section > subsection > title, authors, date, from the columns of that name."""
    from embassay.text.chunking import Breadcrumb

    def said(*names: str) -> str:
        values = (document.metadata.get(name) for name in names)
        return next((text for value in values if (text := _text(value))), "")

    sections = tuple(filter(None, (said("section"), said("subsection"))))
    return Breadcrumb(
        said("paper"), sections, document.title, said("authors", "author"), said("date", "year", "published")
    )


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value if isinstance(one, str | int))
    return "" if value is None or isinstance(value, dict) else str(value).strip()
