"""A folder of documents as a corpus: each document read once, cut into passages that say where they are from."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from embassay.data.dataset import Dataset
from embassay.data.documents.conversion import convert_document, list_converter_versions
from embassay.data.documents.folder import (
    EXPECTED,
    NEEDS,
    TEMPLATES,
    FolderFile,
    FolderSurvey,
    is_html_template,
    survey_document_folder,
)
from embassay.data.documents.markup import DocumentAsText, UnreadableDocumentError, read_markdown, read_plain_text
from embassay.data.documents.rst import read_restructured_text
from embassay.data.intake import ReasonTally
from embassay.data.rows import (
    RowOrigin,
    RowSourceFileOrigin,
    SourceRow,
    read_label_cell,
    read_number_cell,
    read_row_id,
    read_text_cell,
)
from embassay.data.views import TitlePrependedView
from embassay.errors import DataError, UsageError
from embassay.limits import CONVERSIONS, PROSE, announce_reading, read_bounded_file
from embassay.records import SkippedItems
from embassay.text.chunking import Breadcrumb, Chunking, chunk
from embassay.text.questions import TitledPassage

VERSION = "4"
"""Part of the fingerprint; raised when the same folder gives other passages."""
USUAL = Chunking(limit=200, overlap=0)
"""Words of a passage. They don't overlap: what stands in two passages would be right in one and wrong in the other."""
IN_MEMORY = 2**26
"""Characters of documents that are held; of a larger folder they are read again whenever they are asked for."""
COLUMNS = ("id", "title", "text", "document", "start", "end", "section", "kind")
_OF_PASSAGES = ("document", "start", "end", "section")
_UNBROKEN = re.compile(r"(?<![^\W\u3040-\u30ff\u3400-\u9fff])[^\W\u3040-\u30ff\u3400-\u9fff]{1000}")
"""What has no blank and is no language written without: data within a text."""
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<title>[^\s#][^\n]*)(?:\n|\Z)")
_LONGEST = 1_000
"""Characters of a value of front matter that goes along with the passages."""


@dataclass(frozen=True)
class Document:
    """A document of the folder: `id` is its path there, `about` what it states of itself beside title and language."""

    id: str
    path: Path
    kind: str
    title: str
    lang: str
    text: str
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DocumentFolderContents:
    """What the folder turned out to hold. `documents` are by kind, `encodings` those of the text files."""

    ids: frozenset[str]
    documents: Mapping[str, int]
    encodings: Mapping[str, int]
    characters: int
    skipped: tuple[SkippedItems, ...]
    notes: tuple[str, ...]
    suffixes: Mapping[str, int]
    langs: Mapping[str, int]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class FolderPassageSource:
    """The passages of the documents in a folder as a source of rows, in the order of their ids `path#number`.

    Columns are `id`, `title` (that of the document and the headings the passage is under), `text`, `document`, `start`
    and `end` (`text` is the document's text from one to the other), `section`,
    `kind`, `lang` where documents state theirs, and what front matter says. A document whose text is that of an earlier
    one is left out. `chunking` counts words.
    """

    path: Path
    chunking: Chunking = USUAL

    def list_origins(self) -> tuple[RowOrigin, ...]:
        """The files that were read, in order; each counts with its id, and converted ones with what converted them."""
        return tuple(
            RowSourceFileOrigin(
                entry.path,
                json.dumps([entry.id, *(list_converter_versions(entry.kind) if entry.kind in NEEDS else ())]),
            )
            for entry in self._folder_survey.entries
            if entry.id in self.folder_contents.ids
        )

    def columns(self) -> tuple[str, ...]:
        """Ours, and those that documents state."""
        return self.folder_contents.columns

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """A row for each passage."""
        for document in self.read_documents():
            line, position = 1, 0
            for number, passage in enumerate(split_into_passages(document, self.chunking), 1):
                line, position = line + document.text.count("\n", position, passage.start), passage.start
                cells = {
                    **document.about, **_make_passage_record(passage), "id": f"{document.id}#{number}",
                    "lang": document.lang,
                    "document": document.id, "kind": document.kind
                }  # fmt: skip
                yield SourceRow(
                    document.path, line, {column: _replace_empty_text_by_none(cells.get(column)) for column in columns}
                )

    def read_documents(self) -> Iterator[Document]:
        """The documents, in the order of their ids."""
        if self._held_documents is not None:
            yield from self._held_documents
            return
        ids = self.folder_contents.ids
        for entry in self._folder_survey.entries:
            if entry.id in ids:
                try:
                    yield read_document(entry)
                except UnreadableDocumentError as unread:
                    raise DataError(
                        "the file changed while it was being read", path=entry.path, found=str(unread),
                        mend="Run the command again."
                    ) from None  # fmt: skip

    @cached_property
    def folder_contents(self) -> DocumentFolderContents:
        """What is there, told from a reading of every file. DataError where no document can be read."""
        return self._read_folder_contents_and_documents[0]

    @property
    def _held_documents(self) -> tuple[Document, ...] | None:
        return self._read_folder_contents_and_documents[1]

    @cached_property
    def _folder_survey(self) -> FolderSurvey:
        return survey_document_folder(self.path)

    @cached_property
    def _read_folder_contents_and_documents(self) -> tuple[DocumentFolderContents, tuple[Document, ...] | None]:
        tally = ReasonTally()
        tally.add_earlier_counts(self._folder_survey.tally.skipped())
        counts = _CountingDocumentReader(tally)
        began, most = time.monotonic(), CONVERSIONS.most
        with announce_reading(f"the folder {self.path}", "file") as progress:
            for progress.done, entry in enumerate(self._folder_survey.entries, start=1):
                counts.read_document_file(entry)
                if time.monotonic() - began > most:
                    raise _make_slow_reading_error(self.path)
        return counts.summarize_contents(self), None if counts.held is None else tuple(counts.held)


@dataclass(frozen=True)
class WholeDocumentSource:
    """The documents of a folder as they are, a row each: `id`, `title`, `text`, `kind`, and what they state."""

    folder: FolderPassageSource

    @property
    def path(self) -> Path:
        """The folder."""
        return self.folder.path

    def list_origins(self) -> tuple[RowOrigin, ...]:
        """The files that were read."""
        return self.folder.list_origins()

    def columns(self) -> tuple[str, ...]:
        """Those of the passages that a document has too."""
        return tuple(name for name in self.folder.columns() if name not in _OF_PASSAGES)

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """A row for each document."""
        for document in self.folder.read_documents():
            cells = {
                **document.about,
                "id": document.id,
                "title": document.title,
                "text": document.text,
                "kind": document.kind,
                "lang": document.lang,
            }
            yield SourceRow(
                document.path, 1, {column: _replace_empty_text_by_none(cells.get(column)) for column in columns}
            )


class _CountingDocumentReader:
    """Reads documents one by one, and counts."""

    def __init__(self, tally: ReasonTally) -> None:
        self.tally = tally
        self.held: list[Document] | None = []
        self.kinds, self.encodings, self.langs = Counter[str](), Counter[str](), Counter[str]()
        self.characters = 0
        self.ids: list[str] = []
        self.columns: dict[str, None] = {}
        self._texts: dict[bytes, str] = {}

    def read_document_file(self, entry: FolderFile) -> None:
        """Read a file."""
        try:
            document, prose = _read_document_and_prose(entry)
        except UnreadableDocumentError as unread:
            self.tally.count_skipped_item(str(unread), entry.id)
            return
        key = hashlib.sha256(document.text.strip().encode()).digest()
        if key in self._texts:
            self.tally.count_skipped_item("copies of another document", f"{entry.id} = {self._texts[key]}")
            return
        self._texts[key] = entry.id
        for note in prose.notes:
            self.tally.count_warned_item(note, entry.id)
        self._add_document(document, prose)

    def _add_document(self, document: Document, prose: DocumentAsText) -> None:
        self.ids.append(document.id)
        self.kinds[document.kind] += 1
        if document.kind not in NEEDS and document.kind != "HTML":
            self.encodings[prose.encoding] += 1
        self.langs[document.lang] += 1
        if _UNBROKEN.search(document.text):
            self.tally.count_warned_item(
                "documents with 1,000 letters and digits in a row, cut at arbitrary points", document.id
            )
        self.columns |= dict.fromkeys(document.about)
        self.characters += len(document.text)
        if self.characters > IN_MEMORY:
            self.held = None
        elif self.held is not None:
            self.held.append(document)

    def summarize_contents(self, folder: FolderPassageSource) -> DocumentFolderContents:
        """Summarize the contents of the folder; DataError where there is no document."""
        skipped = tuple(sorted(self.tally.skipped(), key=lambda left: left.reason in EXPECTED))
        if not self.ids:
            raise make_unreadable_folder_error(folder.path, skipped)
        langs = ("lang",) if any(self.langs) else ()
        stated = tuple(name for name in self.columns if name not in (*COLUMNS, "lang"))
        return DocumentFolderContents(
            frozenset(self.ids), dict(sorted(self.kinds.items())), dict(sorted(self.encodings.items())),
            self.characters, skipped, self.tally.warnings(), folder._folder_survey.suffixes,
            dict(sorted(self.langs.items())), (*COLUMNS, *langs, *stated)
        )  # fmt: skip


def read_document(entry: FolderFile) -> Document:
    """Read the document in a file; Unread, with the reason, where it cannot be read or is blank."""
    return _read_document_and_prose(entry)[0]


def _read_document_and_prose(entry: FolderFile) -> tuple[Document, DocumentAsText]:
    prose = _convert_prose_file_to_text(entry)
    if not prose.text.strip():
        raise UnreadableDocumentError("documents without text")
    about = {name: value for name, value in prose.about.items() if _is_metadata_worth_keeping(name, value)}
    return Document(entry.id, entry.path, entry.kind, prose.title, prose.lang, prose.text, about), prose


def _convert_prose_file_to_text(entry: FolderFile) -> DocumentAsText:
    try:
        if entry.kind == "HTML" and is_html_template(read_bounded_file(entry.path, PROSE)):
            raise UnreadableDocumentError(TEMPLATES)
        if entry.kind in NEEDS or entry.kind == "HTML":
            return convert_document(entry.path, entry.kind)
        content = read_bounded_file(entry.path, PROSE)
    except OSError:
        raise UnreadableDocumentError("files that cannot be read") from None
    except DataError:  # it has grown since it was looked at
        raise UnreadableDocumentError(f"files larger than {PROSE.format_limited_number(PROSE.most)}") from None
    readers = {"Markdown": read_markdown, "reStructuredText": read_restructured_text}
    return readers[entry.kind](content, entry.path) if entry.kind in readers else read_plain_text(content)


def _is_metadata_worth_keeping(name: str, value: Any) -> bool:
    """Whether what front matter says is worth keeping beside each passage: short, and something that JSON can hold."""
    if name in (*COLUMNS, "lang", "language", "locale") or not name.strip():
        return False
    try:
        return len(json.dumps(value)) <= _LONGEST
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True)
class Passage:
    """Characters `start` to `end` of a document, which are its `body`; `section` are the headings it is under, `title`
    is what stands before it as context."""

    start: int
    end: int
    body: str
    title: str
    section: str


def split_into_passages(document: Document, chunking: Chunking = USUAL) -> Iterator[Passage]:
    """The passages of a document in order; together they cover all of its text but whitespace, and headings that stand
    in the passages' titles."""
    headings = chunking if document.kind != "text" else Chunking(chunking.limit, chunking.overlap, "none")
    title = _collapse_whitespace(document.title)
    for piece in chunk(document.text, Breadcrumb(), headings):
        under = piece.breadcrumb
        # The first heading often is the title.
        named = under == title or under.startswith(f"{title} > ")
        crumb = under if named else " > ".join(filter(None, (title, under)))
        text = document.text[piece.start : piece.end]
        start = piece.start + len(text) - len(text.lstrip())  # a passage's body is stripped
        body = piece.body
        if headings.headings == "markdown" and (below := _strip_headings_of_own_section(body, under)):
            start += len(body) - len(below)
            body = below
        yield Passage(start, start + len(body), body, crumb, under)


def _strip_headings_of_own_section(body: str, section: str) -> str:
    """Strip the headings that a passage begins with, as far as they are those it is under."""
    while (heading := _HEADING.match(body)) and _collapse_whitespace(heading["title"].rstrip("#")) in section:
        body = body[heading.end() :].lstrip()
    return body


def _collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def _replace_empty_text_by_none(value: Any) -> Any:
    return None if value == "" else value


def _make_passage_record(passage: Passage) -> dict[str, Any]:
    return {
        "title": passage.title,
        "text": passage.body,
        "start": passage.start,
        "end": passage.end,
        "section": passage.section,
    }


def _make_slow_reading_error(folder: Path) -> DataError:
    return DataError(
        "reading its documents took too long", path=folder,
        expected=f"at most {CONVERSIONS.most:,} seconds",
        mend=("Converted documents are kept: repeat the command to continue. To allow more time: export "
            f"{CONVERSIONS.doubled_limit_setting}")
    )  # fmt: skip


def make_unreadable_folder_error(folder: Path, skipped: tuple[SkippedItems, ...]) -> DataError:
    """The error for a folder without a document that can be read."""
    reasons = "; ".join(f"{skip.reason}: {skip.count}" for skip in skipped)
    return DataError(
        "the folder has no readable documents", path=folder,
        expected="Markdown, text or HTML; with the `documents` extra also PDF, Word, PowerPoint or EPUB",
        found=reasons or "no files", mend="Run `embassay data check` to see what it contains."
    )  # fmt: skip


def open_document_folder(folder: Path, chunking: Chunking = USUAL) -> Dataset:
    """The documents of `folder` as a dataset of the shape `documents`, whose corpus are their passages.

    Everything is read here once, so what is left out is known and counted. DataError where nothing can be read.
    """
    source = FolderPassageSource(folder.resolve(), chunking)
    contents = source.folder_contents
    corpus = TitlePrependedView(source)
    settings = {"documents": [VERSION, chunking.limit, chunking.overlap, chunking.headings]}
    return Dataset(
        source.path.name, {"documents": corpus, "corpus": corpus}, settings=settings, notes=contents.notes,
        skipped=contents.skipped
    )  # fmt: skip


@dataclass(frozen=True)
class PlacedPassage:
    """A passage of any corpus: `document` is empty, and `start` 0, where rows don't say what they are from; `lang` is
    what they state."""

    id: str
    body: str
    title: str = ""
    document: str = ""
    start: int = 0
    lang: str = ""


def read_corpus_passages_with_origin(dataset: Dataset) -> tuple[PlacedPassage, ...]:
    """The passages of any corpus, with title and body apart, and where they are from; rows without text are left out.
    DataError where the dataset has no corpus."""
    whole = dataset.parts.get("corpus") or dataset.parts.get("documents")
    if whole is None:
        raise DataError(
            f"the dataset {dataset.name!r} has no corpus", expected="documents, or a table with text",
            found=", ".join(dataset.shapes()) or "nothing", mend="Pass a folder of documents."
        )  # fmt: skip
    source = whole.source if isinstance(whole, TitlePrependedView) else whole
    available = set(source.columns())
    names = [name for name in ("id", "text", "title", "document", "start", "lang") if name in available]
    passages = []
    for number, row in enumerate(source.rows(names), 1):
        if (body := read_text_cell(row, "text")) is not None:
            start = read_number_cell(row, "start") if "start" in available else None
            passages.append(
                PlacedPassage(
                    read_row_id(row, "id") if "id" in available else str(number), body,
                    read_text_cell(row, "title") or "",
                    read_text_cell(row, "document") or "", int(start or 0), read_label_cell(row, "lang") or "",
                )
            )  # fmt: skip
    return tuple(passages)


def read_titled_passages(dataset: Dataset) -> tuple[TitledPassage, ...]:
    """Read the texts of the passages as `embassay.text.questions` takes them."""
    return tuple(
        TitledPassage(place.id, place.body, place.title, place.document)
        for place in read_corpus_passages_with_origin(dataset)
    )


def parse_chunking_options(query: str, spec: str) -> Chunking:
    """How documents are cut, as written after the `?` of `DIR?chunk=200&overlap=20`; UsageError if it is not.

    >>> parse_chunking_options("chunk=100&overlap=20", "docs?chunk=100&overlap=20")
    Chunking(limit=100, overlap=20, headings='markdown')
    """
    pairs = dict(parse_qsl(query, keep_blank_values=True))
    try:
        if not pairs or pairs.keys() - {"chunk", "overlap"}:
            raise ValueError
        return Chunking(int(pairs.get("chunk", USUAL.limit)), int(pairs.get("overlap", USUAL.overlap)))
    except ValueError:
        raise UsageError(
            f"Cannot read {query!r} in {spec}.",
            mend=("Write DIR?chunk=200&overlap=20: words per passage, and words shared with the next passage."),
        ) from None
