"""The questions of a golden set and the passages that may answer them: from files or a dataset, whole or in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role, Tokenizer
from embassay.data import Dataset, open_dataset
from embassay.data.documents.passages import FolderPassageSource, WholeDocumentSource
from embassay.data.intake import SkipRecordingReader, choose_dataset_language
from embassay.data.lines import split_reading_from_mapping
from embassay.data.rows import RowSource, SourceRow, make_missing_column_error, read_text_cell, read_text_list_cell
from embassay.data.sources import prefer_path_over_catalogue
from embassay.data.tables import FORMATS, open_table_ignoring_unused_options
from embassay.data.views import FilteredRowsView, RenamedColumnsView, SmallestHashSample, TitlePrependedView
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.forecast import count_vector_dimensions, sum_memory_footprint, vector_bytes
from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.rag.golden.options import GoldenOptions, GoldenRequest
from embassay.protocols.rag.golden.stages import (
    QueryWithFolder,
    SingleQueryFolder,
    StageInputFile,
    make_query_folder_names,
)
from embassay.protocols.rag.judges import Judge, Question, is_language_model_spec, open_judge
from embassay.protocols.rag.rewriters import QuestionRewriter, open_rewriter
from embassay.protocols.rag.tradeoffs import estimate_word_index_bytes
from embassay.records import SkippedItems
from embassay.runs.folder import digest_json, format_value_as_json
from embassay.runs.memory import WorkMemoryEstimate, check_memory_fits
from embassay.systems import SYSTEMS
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer
from embassay.text.chunking import Breadcrumb, Chunking, chunk

_REWRITES = ("rewrite", "text_rewrite", "query_rewrite")
_LONGEST = 1_000
"""Characters of a value of metadata."""


@dataclass(frozen=True)
class GoldenQuestion:
    """A question of the pack; `rewrite` and `bm25_query` are None where the pack has none."""

    id: str
    text: str
    rewrite: str | None = None
    bm25_query: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class CorpusDocument:
    """A document of the corpus: `metadata` are its other columns as they are in the file."""

    id: str
    title: str
    text: str
    metadata: Mapping[str, Any]

    @property
    def title_and_text(self) -> str:
        """Title and text, as retrieval sets have it (spec sage 8)."""
        return " ".join(filter(None, (self.title, self.text)))


@dataclass(frozen=True)
class CorpusWithQuestions:
    """What was read, with what was left out, and the files that it is from."""

    questions: tuple[GoldenQuestion, ...]
    documents: tuple[CorpusDocument, ...]
    name: str
    lang: str
    fingerprint: str
    files: Mapping[str, Sequence[StageInputFile]]
    """By part: `corpus`, `queries`."""
    skipped: tuple[SkippedItems, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _CorpusAndQueries:
    """The tables of a corpus and of its queries."""

    corpus: RowSource
    queries: RowSource
    name: str
    lang: str = ""
    notes: tuple[str, ...] = ()
    skipped: tuple[SkippedItems, ...] = ()


def read_golden_inputs(request: GoldenRequest) -> CorpusWithQuestions:
    """Read the questions, as many as the request's limit draws, and the whole corpus.

    Questions need the columns `id` and `text`, and may have `rewrite`, `bm25_query` and `tags`; documents need `id` and
    `text`, and may have `title`, whatever a breadcrumb is made of, and more. UsageError where the request does not say
    what to read, DataError for what is wrong in the files.
    """
    tables = _open_corpus_and_queries(request)
    check_memory_fits(estimate_corpus_memory(Path(origin.origin_address) for origin in tables.corpus.list_origins()))
    intake = SkipRecordingReader()
    documents = intake.read(
        tables.corpus,
        tables.corpus.columns(),
        lambda row, key: _read_corpus_document(row, key, intake),
        SmallestHashSample(None, 0),
    )
    questions = intake.read(
        tables.queries,
        tables.queries.columns(),
        lambda row, key: _read_golden_question_row(row, key, intake),
        SmallestHashSample(request.limit, request.seed),
    )
    intake.note_odd_texts((document.id for _, document in documents), (document.text for _, document in documents))
    files = {
        "corpus": _list_source_origins_with_digests(tables.corpus),
        "queries": _list_source_origins_with_digests(tables.queries),
    }
    hashes = [file.sha256 for part in files.values() for file in part]
    return CorpusWithQuestions(
        tuple(question for _, question in questions), tuple(document for _, document in documents), tables.name,
        choose_dataset_language(intake.langs, tables.lang),
        digest_json([hashes, dict(request.mapping), request.split]), files,
        tables.skipped + intake.tally.skipped(), tables.notes + intake.tally.warnings()
    )  # fmt: skip


def _open_corpus_and_queries(request: GoldenRequest) -> _CorpusAndQueries:
    if request.dataset and (request.corpus or request.queries):
        raise UsageError("Both a dataset and files were given.", mend="Use either -d, or --corpus and --queries.")
    if request.dataset:
        folder = Path(request.dataset).expanduser()
        return _open_beir_folder(folder, request) if folder.is_dir() else _open_dataset(request)
    if not (request.corpus and request.queries):
        lacking = "--queries" if request.corpus else "--corpus" if request.queries else "-d"
        raise UsageError(
            f"A golden set needs documents and questions, but {lacking} is missing.",
            mend="Give a dataset with -d, or two files with --corpus and --queries.",
        )
    if request.corpus and is_document_corpus(request.corpus):
        return _open_folder_and_questions(request)
    corpus = _require_existing_file(request.corpus)
    return _open_corpus_and_query_files(
        corpus, _require_existing_file(request.queries), corpus.name.partition(".")[0], request
    )


def is_document_corpus(corpus: str) -> bool:
    """Whether a corpus is named that is a folder of documents, or one and how to cut them."""
    return Path(corpus.partition("?")[0]).expanduser().is_dir()


def open_document_passages_and_dataset(corpus: str, options: GoldenOptions) -> tuple[RowSource, Dataset]:
    """The passages of a folder of documents, and the dataset that they are; with `options.chunk` the whole documents,
    for the chunks of a golden set."""
    dataset = open_dataset(prefer_path_over_catalogue(corpus))
    source = dataset.parts.get("corpus")
    inside = source.source if isinstance(source, TitlePrependedView) else source
    if not isinstance(inside, FolderPassageSource):
        raise UsageError(
            f"{corpus} is a folder of tables, not of documents.",
            mend="Give its corpus file, or pass the folder with -d.",
        )
    return (WholeDocumentSource(inside) if options.chunk is not None else inside), dataset


def _open_folder_and_questions(request: GoldenRequest) -> _CorpusAndQueries:
    """A folder of documents, and a file of questions."""
    corpus, dataset = open_document_passages_and_dataset(request.corpus, request.options)
    queries = _open_corpus_and_query_files(None, _require_existing_file(request.queries), dataset.name, request).queries
    return _CorpusAndQueries(corpus, queries, dataset.name, "", dataset.notes, dataset.skipped)


def _open_beir_folder(folder: Path, request: GoldenRequest) -> _CorpusAndQueries:
    """A folder in BEIR's layout; it needs no judgements, which are what is to be made."""
    corpus, queries = _find_beir_file(folder, "corpus"), _find_beir_file(folder, "queries")
    return _open_corpus_and_query_files(corpus, queries, folder.resolve().name, request)


def _find_beir_file(folder: Path, part: str) -> Path:
    for path in (folder / f"{part}{suffix}" for suffix in FORMATS):
        if path.is_file():
            return path
    raise DataError(
        f"the folder has no {part} file", path=folder, expected=f"{part}.jsonl, .csv, .tsv or .parquet",
        found=", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing",
        mend="Give two files with --corpus and --queries."
    )  # fmt: skip


def _open_corpus_and_query_files(
    corpus: Path | None, queries: Path, name: str, request: GoldenRequest
) -> _CorpusAndQueries:
    """Both tables; without a corpus, the questions in its place too."""
    reading, columns = split_reading_from_mapping(request.mapping)
    raw = {
        "corpus": open_table_ignoring_unused_options(corpus or queries, reading),
        "queries": open_table_ignoring_unused_options(queries, reading),
    }
    for target, column in columns.items():
        if column and not any(column in source.columns() for source in raw.values()):
            raise make_missing_column_error(raw["corpus"], column, target=target)
    named = {part: _rename_columns(source, columns) for part, source in raw.items()}
    if request.split is not None:
        named["queries"] = FilteredRowsView(named["queries"], {"split": frozenset({request.split})})
    return _CorpusAndQueries(named["corpus"], named["queries"], name)


def _open_dataset(request: GoldenRequest) -> _CorpusAndQueries:
    dataset: Dataset = open_dataset(
        prefer_path_over_catalogue(request.dataset), mapping=request.mapping, split=request.split
    )
    lacking = [part for part in ("corpus", "queries") if part not in dataset.parts]
    if lacking:
        raise UsageError(
            f"The dataset {request.dataset!r} has no {' and no '.join(lacking)}.",
            mend="Choose a retrieval dataset, or give two files with --corpus and --queries.",
        )
    corpus, queries = dataset.parts["corpus"], dataset.parts["queries"]
    if request.split is not None and "split" in queries.columns():
        queries = FilteredRowsView(queries, {"split": frozenset({request.split})})
    # The title is wanted by itself: a chunk has it in its breadcrumb.
    corpus = corpus.source if isinstance(corpus, TitlePrependedView) else corpus
    return _CorpusAndQueries(corpus, queries, dataset.name, dataset.declared_lang, dataset.notes)


def _require_existing_file(name: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        raise UsageError(f"There is no file {name!r}.", mend="Check its name and folder.")
    return path


def _rename_columns(source: RowSource, mapping: Mapping[str, str]) -> RowSource:
    """The table under our names. DataError where it has no column `text`; its rows are numbered without an `id`."""
    names = {target: column for target, column in mapping.items() if not column or column in source.columns()}
    view = RenamedColumnsView(source, names)
    if "text" not in view.columns():
        raise make_missing_column_error(view, "text")
    return view


def _read_corpus_document(row: SourceRow, key: str, intake: SkipRecordingReader) -> CorpusDocument | None:
    text = read_text_cell(row, "text")
    if text is None:
        intake.tally.count_skipped_item("documents without text", key)
        return None
    metadata = {
        name: value
        for name, value in row.cells.items()
        if name not in ("id", "_id", "text") and _is_storable_metadata(value)
    }
    return CorpusDocument(key, _read_title(row), text, metadata)


def _read_golden_question_row(row: SourceRow, key: str, intake: SkipRecordingReader) -> GoldenQuestion | None:
    text = read_text_cell(row, "text")
    if text is None:
        intake.tally.count_skipped_item("questions without text", key)
        return None
    rewrite = next((value for name in _REWRITES if (value := read_text_cell(row, name))), None)
    return GoldenQuestion(key, text, rewrite, read_text_cell(row, "bm25_query"), _read_question_tags(row))


def _read_question_tags(row: SourceRow) -> tuple[str, ...]:
    value = row.cells.get("tags")
    if isinstance(value, str):
        return tuple(part for piece in value.split(",") if (part := piece.strip()))
    return tuple(tag for tag in read_text_list_cell(row, "tags") if tag)


def _read_title(row: SourceRow) -> str:
    return (read_text_cell(row, "title") or "").strip()


def _is_storable_metadata(value: Any) -> bool:
    """Whether it is worth keeping beside a passage: short, and something that JSON can hold."""
    try:
        # NaN is not equal to itself, and JSON has no word for it.
        return value is not None and value == value and len(format_value_as_json(value)) <= _LONGEST
    except (TypeError, ValueError):
        return False


def _list_source_origins_with_digests(source: RowSource) -> tuple[StageInputFile, ...]:
    return tuple(
        StageInputFile(origin.origin_address, origin.compute_content_digest().hex()) for origin in source.list_origins()
    )


@dataclass(frozen=True)
class PassagesWithMetadata:
    """Passages in the order of their ids; `metadata` are the other columns of the document, for a chunk also its
    `source` (the id of the document), number and place in the text."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    metadata: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class _CorpusPassage:
    id: str
    text: str
    metadata: Mapping[str, Any]


def make_passages_from_documents(
    documents: Sequence[CorpusDocument], options: GoldenOptions, tokenizer: Tokenizer
) -> PassagesWithMetadata:
    """The documents as passages; with `options.chunk` as chunks `doc#1`, `doc#2` ... of so many tokens at most."""
    pieces = (
        _cut_chunks(documents, options, tokenizer)
        if options.chunk is not None
        else map(_make_whole_document_passage, documents)
    )
    ordered = sorted(pieces, key=lambda passage: passage.id)
    if not ordered:
        raise DataError("the corpus yields no passages", expected="at least one text")
    return PassagesWithMetadata(
        tuple(passage.id for passage in ordered),
        tuple(passage.text for passage in ordered),
        tuple(passage.metadata for passage in ordered),
    )


def _make_whole_document_passage(document: CorpusDocument) -> _CorpusPassage:
    return _CorpusPassage(document.id, document.title_and_text, document.metadata)


def _cut_chunks(
    documents: Sequence[CorpusDocument], options: GoldenOptions, tokenizer: Tokenizer
) -> Iterator[_CorpusPassage]:
    from embassay.text.tokenizers import token_ends

    assert options.chunk is not None
    chunking, ends = Chunking(options.chunk, options.overlap), token_ends(tokenizer)
    for document in documents:
        for number, piece in enumerate(chunk(document.text, _make_breadcrumb(document), chunking, ends), start=1):
            place = {"source": document.id, "chunk": number, "start": piece.start, "end": piece.end}
            yield _CorpusPassage(f"{document.id}#{number}", piece.text, {**document.metadata, **place})


def _make_breadcrumb(document: CorpusDocument) -> Any:
    """Paper > section > subsection > title, authors, date, from the columns of that name."""

    def find_first_filled_field(*names: str) -> str:
        values = (document.metadata.get(name) for name in names)
        return next((text for value in values if (text := _join_metadata_value(value))), "")

    sections = tuple(filter(None, (find_first_filled_field("section"), find_first_filled_field("subsection"))))
    return Breadcrumb(
        find_first_filled_field("paper"),
        sections,
        document.title,
        find_first_filled_field("authors", "author"),
        find_first_filled_field("date", "year", "published"),
    )


def _join_metadata_value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value if isinstance(item, str | int))
    return "" if value is None or isinstance(value, dict) else str(value).strip()


SHARD = 65_536
"""Passages whose vectors are in memory at a time."""
_READ, _PACKED = 4, 5
"""Bytes in memory for each byte of a corpus in a file, and in a packed one for each of what is unpacked."""
_TABLES = 300
"""Bytes of a passage in the tables that find its vector by its text."""
_ROW = 3_000
"""Bytes of what is written of a passage that was found, beside its text."""


def estimate_search_memory(
    system: Any, passages: Sequence[str], queries: Sequence[str], depth: int
) -> WorkMemoryEstimate:
    """S2 on these passages, which are in memory: the vectors of a shard, the index of the words of the queries, and
    the `depth` best of both searches."""
    shard, dim = min(SHARD, len(passages)), count_vector_dimensions(system)
    parts = {
        f"the vectors of {shard:,} passages": vector_bytes(shard + len(queries), dim) + shard * _TABLES,
        "words": estimate_word_index_bytes(passages, len(passages), queries),
        "search results": 2 * depth * len(queries) * _ROW,
    }
    return sum_memory_footprint(parts, "Use a smaller corpus, or fewer questions (--limit)")


def estimate_corpus_memory(files: Iterable[Path]) -> WorkMemoryEstimate:
    """The corpus in these files, which is held whole from beginning to end; nothing of a table of a hub is known."""
    size = sum(
        file.stat().st_size * (_READ * _PACKED if file.suffix in (".gz", ".parquet") else _READ)
        for file in files
        if file.is_file()
    )
    return WorkMemoryEstimate({"the corpus, which a golden set holds in memory": size}, "Use a smaller corpus")


_MOST_BYTES = 400_000
"""A context for more than so many bytes is not asked for."""


@dataclass
class GoldenRunResources:
    """A run in the making. What costs time to open is opened when it is first asked for."""

    request: GoldenRequest
    read: CorpusWithQuestions
    run: Path
    ledger: Ledger
    listener: SilentListener = field(default_factory=SilentListener)
    calls: dict[str, dict[str, int]] = field(default_factory=dict)
    """What each stage has sent in this session: requests, tokens ..."""
    warnings: list[str] = field(default_factory=list)

    @cached_property
    def place_by_passage_id(self) -> dict[str, int]:
        """The place of each passage by its id."""
        return {key: place for place, key in enumerate(self.passages.ids)}

    @cached_property
    def questions_by_id(self) -> dict[str, GoldenQuestion]:
        """The questions by id."""
        return {question.id: question for question in self.read.questions}

    @cached_property
    def queries(self) -> tuple[QueryWithFolder, ...]:
        """The questions with their folders, in the order of the file."""
        names = make_query_folder_names([question.id for question in self.read.questions])
        return tuple(
            QueryWithFolder(question.id, question.text, SingleQueryFolder(self.run, names[question.id]))
            for question in self.read.questions
        )

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Counts the tokens of chunks and candidates."""
        return open_tokenizer(self.request.tokenizer)

    @cached_property
    def passages(self) -> PassagesWithMetadata:
        """The passages that are searched."""
        return make_passages_from_documents(self.read.documents, self.request.options, self.tokenizer)

    @cached_property
    def encoder(self) -> CachedGoldenEncoder:
        """The encoder that makes vectors of texts."""
        return CachedGoldenEncoder(self.request, self.ledger, self.listener.advanced_by)

    @cached_property
    def question_rewriter(self) -> QuestionRewriter:
        """The model that puts questions in the words of a search."""
        return open_rewriter(self.request.rewriter, ledger=self.ledger, seed=self.request.seed)

    @cached_property
    def judge(self) -> Judge:
        """The judge that grades and orders passages."""
        if not is_language_model_spec(self.request.judge):
            return open_judge(self.request.judge, seed=self.request.seed)
        passage = max(len(text.encode()) for text in self.passages.texts)
        question = max(len(posed.text.encode()) for posed in self.read.questions)
        # One answer orders the whole pool; the other engines show 5 passages at a time where nothing is said.
        options, single = self.request.options, self.request.ranking.startswith("single_shot")
        shown = min(2 * options.depth, len(self.passages)) if single else options.batch or 5
        longest = min(question + passage * shown, _MOST_BYTES)
        return open_judge(self.request.judge, ledger=self.ledger, seed=self.request.seed, longest=longest)

    def question(self, asked: QueryWithFolder, rewrite: str) -> Question:
        """The question that the judge is asked."""
        original = self.request.options.judge_question == "original"
        return Question(asked.id, asked.text if original else rewrite)

    @contextmanager
    def charge_calls_to(self, stage: str, account: str) -> Iterator[None]:
        """Charge calls to the account, and note what they came to under the stage."""
        calls: dict[str, int] = {}
        try:
            with opening.charge_calls_to_account(self.ledger, account) as calls:
                yield
        finally:
            # Also of calls that ended in an error: they are paid for.
            noted = self.calls.setdefault(stage, {})
            for name, count in calls.items():
                noted[name] = noted.get(name, 0) + count


class CachedGoldenEncoder:
    """The request's encoder behind the cache. UsageError for a system that makes no vectors."""

    def __init__(self, request: GoldenRequest, ledger: Ledger, advance: Callable[[int], None]) -> None:
        SYSTEMS.parse_spec(request.encoder)
        system = opening.SystemWithCachedVectors(
            request.encoder, tokenizer=open_tokenizer("words"), seed=request.seed, cache=None,
            advance=advance, ledger=ledger
        )  # fmt: skip
        if not system.encoders:
            raise UsageError(
                f"{request.encoder!r} makes no vectors, so it cannot be the encoder.",
                mend="Use wordllama, minilm, st:ORG/MODEL or openai:NAME, for example. Lexical search always runs too.",
            )
        self.system: Any = system.system
        self.name: str = self.system.name
        self.identity: str = self.system.identity
        self._opened, self._cached = system, system.encoders[0]

    def list_noncosine_encoder_warnings(self) -> tuple[str, ...]:
        """What is to be said of a model that was made for another similarity than the cosine of the protocol; once its
        vectors are there."""
        return self._opened.describe_models_forced_to_cosine()

    @property
    def failures(self) -> dict[str, str]:
        """Texts that it could not encode, with the reason."""
        return dict(self.system.failures)

    @property
    def about(self) -> dict[str, Any]:
        """The facts of the encoder, which tell where a vector is from."""
        return {"dim": int(self.system.encoder.dim), "max_tokens": self.system.encoder.max_tokens}

    def is_text_truncated(self, text: str) -> bool:
        """Whether the text is longer than it reads."""
        return self._cached.max_tokens is not None and bool(self._cached.count_truncated([text]))

    def vectors(self, texts: list[str], role: Role) -> NDArray[np.float32]:
        """The vectors of texts, (n, dim), as the encoder gives them; NaN where it could not encode."""
        vectors: NDArray[np.float32] = self.system.vectors(texts, role)
        return vectors
