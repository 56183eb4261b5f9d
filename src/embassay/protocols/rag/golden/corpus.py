"""The questions of a golden set and the passages that may answer them: from files or a dataset, whole or in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.contracts import Tokenizer
from embassay.data import Dataset, open_dataset
from embassay.data.delimited import reading_of
from embassay.data.intake import Intake, language
from embassay.data.rows import Row, Source, missing_column, text_of, texts_of
from embassay.data.sampling import Draw
from embassay.data.tables import FORMATS, table_of
from embassay.data.views import Filtered, Renamed, Titled
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.forecast import dimensions, footprint, vectors
from embassay.protocols.rag.golden.options import GoldenOptions, GoldenRequest
from embassay.protocols.rag.golden.stages import Input
from embassay.protocols.rag.tradeoffs import words_bytes
from embassay.records import Skipped
from embassay.runs.files import digest, to_json
from embassay.runs.memory import Footprint, check

_REWRITES = ("rewrite", "text_rewrite", "query_rewrite")
_LONGEST = 1_000
"""Characters of a value of metadata."""


@dataclass(frozen=True)
class Posed:
    """A question of the pack; `rewrite` and `bm25_query` are None where the pack has none."""

    id: str
    text: str
    rewrite: str | None = None
    bm25_query: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """A document of the corpus: `metadata` are its other columns as they are in the file."""

    id: str
    title: str
    text: str
    metadata: Mapping[str, Any]

    @property
    def whole(self) -> str:
        """Title and text, as retrieval sets have it (spec sage 8)."""
        return " ".join(filter(None, (self.title, self.text)))


@dataclass(frozen=True)
class Read:
    """What was read, with what was left out, and the files that it is from."""

    questions: tuple[Posed, ...]
    documents: tuple[Document, ...]
    name: str
    lang: str
    fingerprint: str
    files: Mapping[str, Sequence[Input]]
    """By part: `corpus`, `queries`."""
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Both:
    """The two tables."""

    corpus: Source
    queries: Source
    name: str
    lang: str = ""
    notes: tuple[str, ...] = ()


def read_inputs(request: GoldenRequest) -> Read:
    """Read the questions, as many as the request's limit draws, and the whole corpus.

    Questions need the columns `id` and `text`, and may have `rewrite`, `bm25_query` and `tags`; documents need `id` and
    `text`, and may have `title`, whatever a breadcrumb is made of, and more. UsageError where the request does not say
    what to read, DataError for what is wrong in the files.
    """
    both = _tables(request)
    check(reading(Path(one.address) for one in both.corpus.origins()))
    intake = Intake()
    documents = intake.read(
        both.corpus, both.corpus.columns(), lambda row, key: _document(row, key, intake), Draw(None, 0)
    )
    questions = intake.read(
        both.queries,
        both.queries.columns(),
        lambda row, key: _posed(row, key, intake),
        Draw(request.limit, request.seed),
    )
    intake.note_texts((one.id for _, one in documents), (one.text for _, one in documents))
    files = {"corpus": _files(both.corpus), "queries": _files(both.queries)}
    hashes = [one.sha256 for part in files.values() for one in part]
    return Read(
        tuple(one for _, one in questions), tuple(one for _, one in documents), both.name,
        language(intake.langs, both.lang), digest([hashes, dict(request.mapping), request.split]), files,
        intake.tally.skipped(), both.notes + intake.tally.warnings(),
    )  # fmt: skip


def _tables(request: GoldenRequest) -> _Both:
    if request.dataset and (request.corpus or request.queries):
        raise UsageError("Both a dataset and files are named.", mend="Use -d, or --corpus and --queries.")
    if request.dataset:
        folder = Path(request.dataset).expanduser()
        return _of_folder(folder, request) if folder.is_dir() else _of_dataset(request)
    if not (request.corpus and request.queries):
        lacking = "--queries" if request.corpus else "--corpus" if request.queries else "-d"
        raise UsageError(
            f"There is nothing to make a golden set of: {lacking} is missing.",
            mend="Name a dataset with -d, or two files with --corpus and --queries.",
        )
    corpus = _path(request.corpus)
    return _of_files(corpus, _path(request.queries), corpus.name.partition(".")[0], request)


def _of_folder(folder: Path, request: GoldenRequest) -> _Both:
    """A folder in BEIR's layout; it needs no judgements, which are what is to be made."""
    corpus, queries = _in_folder(folder, "corpus"), _in_folder(folder, "queries")
    return _of_files(corpus, queries, folder.resolve().name, request)


def _in_folder(folder: Path, part: str) -> Path:
    for path in (folder / f"{part}{suffix}" for suffix in FORMATS):
        if path.is_file():
            return path
    raise DataError(
        f"the folder has no {part} file", path=folder, expected=f"{part}.jsonl, .csv, .tsv or .parquet",
        found=", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing",
        mend="Give two files with --corpus and --queries.",
    )  # fmt: skip


def _of_files(corpus: Path, queries: Path, name: str, request: GoldenRequest) -> _Both:
    reading, columns = reading_of(request.mapping)
    raw = {"corpus": table_of(corpus, reading), "queries": table_of(queries, reading)}
    for target, column in columns.items():
        if column and not any(column in source.columns() for source in raw.values()):
            raise missing_column(raw["corpus"], column, target=target)
    named = {part: _named(source, columns) for part, source in raw.items()}
    if request.split is not None:
        named["queries"] = Filtered(named["queries"], {"split": frozenset({request.split})})
    return _Both(named["corpus"], named["queries"], name)


def _of_dataset(request: GoldenRequest) -> _Both:
    dataset: Dataset = open_dataset(request.dataset, mapping=request.mapping, split=request.split)
    lacking = [part for part in ("corpus", "queries") if part not in dataset.parts]
    if lacking:
        raise UsageError(
            f"The dataset {request.dataset!r} has no {' and no '.join(lacking)}.",
            mend="Choose one for retrieval, or give two files with --corpus and --queries.",
        )
    corpus, queries = dataset.parts["corpus"], dataset.parts["queries"]
    if request.split is not None and "split" in queries.columns():
        queries = Filtered(queries, {"split": frozenset({request.split})})
    # The title is wanted by itself: a chunk has it in its breadcrumb.
    corpus = corpus.source if isinstance(corpus, Titled) else corpus
    return _Both(corpus, queries, dataset.name, dataset.declared_lang, dataset.notes)


def _path(name: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        raise UsageError(f"There is no file {name!r}.", mend="Check its name and folder.")
    return path


def _named(source: Source, mapping: Mapping[str, str]) -> Source:
    """The table under our names. DataError where it has no column `text`; its rows are numbered without an `id`."""
    own = {target: column for target, column in mapping.items() if not column or column in source.columns()}
    view = Renamed(source, own)
    if "text" not in view.columns():
        raise missing_column(view, "text")
    return view


def _document(row: Row, key: str, intake: Intake) -> Document | None:
    text = text_of(row, "text")
    if text is None:
        intake.tally.skip("documents without text", key)
        return None
    metadata = {
        name: value
        for name, value in row.cells.items()
        if name not in ("id", "_id", "text") and _is_plain(value)
    }
    return Document(key, _title(row), text, metadata)


def _posed(row: Row, key: str, intake: Intake) -> Posed | None:
    text = text_of(row, "text")
    if text is None:
        intake.tally.skip("questions without text", key)
        return None
    rewrite = next((found for name in _REWRITES if (found := text_of(row, name))), None)
    return Posed(key, text, rewrite, text_of(row, "bm25_query"), _tags(row))


def _tags(row: Row) -> tuple[str, ...]:
    value = row.cells.get("tags")
    if isinstance(value, str):
        return tuple(part for piece in value.split(",") if (part := piece.strip()))
    return tuple(one for one in texts_of(row, "tags") if one)


def _title(row: Row) -> str:
    return (text_of(row, "title") or "").strip()


def _is_plain(value: Any) -> bool:
    """Whether it is worth keeping beside a passage: short, and something that JSON can hold."""
    try:
        return value is not None and value == value and len(to_json(value)) <= _LONGEST
    except (TypeError, ValueError):
        return False


def _files(source: Source) -> tuple[Input, ...]:
    return tuple(Input(origin.address, origin.digest().hex()) for origin in source.origins())


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
    from embassay.text.tokenizers import token_ends

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


SHARD = 65_536
"""Passages whose vectors are in memory at a time."""
_READ, _PACKED = 4, 5
"""Bytes in memory for each byte of a corpus in a file, and in a packed one for each of what is unpacked."""
_TABLES = 300
"""Bytes of a passage in the tables that find its vector by its text."""
_ROW = 3_000
"""Bytes of what is written of a passage that was found, beside its text."""


def searching(system: Any, passages: Sequence[str], queries: Sequence[str], depth: int) -> Footprint:
    """S2 on these passages, which are in memory: the vectors of a shard, the index of the words of the queries, and
    the `depth` best of both searches."""
    shard, dim = min(SHARD, len(passages)), dimensions(system)
    parts = {
        f"the vectors of {shard:,} passages": vectors(shard + len(queries), dim) + shard * _TABLES,
        "words": words_bytes(passages, len(passages), queries),
        "what was found": 2 * depth * len(queries) * _ROW,
    }
    return footprint(parts, "Judge a smaller corpus, or fewer questions (--limit)")


def reading(files: Iterable[Path]) -> Footprint:
    """The corpus in these files, which is held whole from beginning to end; nothing of a table of a hub is known."""
    size = sum(
        one.stat().st_size * (_READ * _PACKED if one.suffix in (".gz", ".parquet") else _READ)
        for one in files
        if one.is_file()
    )
    return Footprint({"the corpus, which a golden set holds whole": size}, "Judge a smaller corpus")
