"""Corpora that are too large for memory: texts that lie in a file and are read from there.

    corpus = open_dataset("my_beir_folder").load("retrieval").data.corpus
    corpus.texts[5], corpus.texts[100:200], len(corpus)

A large corpus is read once, written as columns to the cache folder, and used from there by this run, its workers, and
later runs.

A corpus as it is read: what tells it from another, small ones in memory, large ones in a file that is kept.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from embassay.data import column
from embassay.data.column import (
    CorpusOnDisk,
    KeptCorpusDescription,
    PickedTexts,
    SeenIds,
    TextColumn,
    TextColumnWriter,
    count_empty_long_and_repeated_texts,
    make_corpus_scratch_folder,
)
from embassay.data.intake import SkipRecordingReader, make_no_usable_rows_error
from embassay.data.rows import (
    RowSource,
    RowSourceFileOrigin,
    SourceRow,
    is_collecting_faults,
    raise_or_collect_fault,
    read_label_cell,
)
from embassay.data.views import draw_seeded_positions
from embassay.errors import UsageError
from embassay.machine import find_corpus_folder
from embassay.records import Documents, SkippedItems

__all__ = ["PickedTexts", "TextColumn", "TextColumnWriter", "are_texts_read_from_file"]


def are_texts_read_from_file(texts: Sequence[str]) -> bool:
    """Whether the texts are read from a file when they are asked for, so that nobody should copy all of them."""
    return isinstance(texts, TextColumn | PickedTexts)


LAYOUT = 2
"""Of what is kept: another one is another key."""
PACKED = 8
"""How many times its size a packed file is thought to hold."""


def make_corpus_key(source: RowSource, settings: Mapping[str, Any], what: str) -> str | None:
    """Make a corpus's key of 32 hexadecimal digits; None for a source that reads in unknown ways.

    `settings` is what besides the bytes decides what is read, `what` how rows become texts. Where files lie and what
    they are called doesn't matter.
    """
    try:
        how = json.dumps([LAYOUT, dict(settings), what, _convert_view_to_json(source)], sort_keys=True)
    except TypeError:
        return None
    digest = hashlib.sha256(how.encode())
    for origin in source.list_origins():
        digest.update(origin.compute_content_digest())
    return digest.hexdigest()[:32]


def estimate_source_bytes(source: RowSource) -> int | None:
    """Estimate the bytes of text that the files of `source` may hold; None where it has none."""
    origins = source.list_origins()
    if not all(isinstance(origin, RowSourceFileOrigin) for origin in origins):
        return None
    files = [origin.path for origin in origins if isinstance(origin, RowSourceFileOrigin)]
    return sum(
        file.stat().st_size * (PACKED if file.suffix.lower() in (".gz", ".parquet") else 1)
        for file in files
        if file.exists()
    )


def _convert_view_to_json(value: Any) -> Any:
    """A view and what it is a view of, as JSON takes it; TypeError for what is no record."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        inside = {field.name: _convert_view_to_json(getattr(value, field.name)) for field in fields(value)}
        # A view that is called otherwise is another one: its corpus is read anew.
        return [f"{kind.__module__}.{kind.__qualname__}", inside]
    if isinstance(value, Path):
        return None  # its bytes count, and its format is the class that reads it
    if isinstance(value, Mapping):
        return [[str(key), _convert_view_to_json(item)] for key, item in value.items()]
    if isinstance(value, frozenset | set):
        return sorted(map(str, value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_convert_view_to_json(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(type(value).__name__)


IN_MEMORY = 2**26
"""Characters of ids and texts up to which a corpus stays in memory."""


@dataclass
class SpillingCorpusBuilder:
    """Takes the documents of a corpus one by one; past `IN_MEMORY` they go to a folder on `shelf`.

    Within it, `ids`, `texts` and `langs` hold what has been taken while that is in memory (`folder` is None then), and
    the columns in `folder` after `finish`; languages only `with_langs`. `spilled` is called once, when the corpus turns
    out to be large. UsageError where the folder cannot be written.
    """

    shelf: Path
    spilled: Callable[[], None]
    with_langs: bool = False

    def __post_init__(self) -> None:
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.langs: list[str] = []
        self.folder: Path | None = None
        self.count = 0
        self._size = 0
        self._writers: Sequence[TextColumnWriter] = ()
        self._held = ExitStack()

    def __enter__(self) -> SpillingCorpusBuilder:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None) -> None:
        self._held.__exit__(kind, e, t)

    def add(self, key: str, text: str, lang: str = "") -> None:
        """Take a document."""
        self.count += 1
        try:
            if self._writers:
                self._write_document(key, text, lang)
                return
            self.ids.append(key)
            self.texts.append(text)
            self.langs.append(lang)
            self._size += len(key) + len(text)
            if self._size > IN_MEMORY:
                self._move_gathered_rows_to_disk()
        except OSError as error:
            raise make_unwritable_folder_error(self.shelf, error) from error

    def finish(self) -> None:
        """Complete the columns, where there are any."""
        try:
            for writer in self._writers:
                writer.finish()
        except OSError as error:
            raise make_unwritable_folder_error(self.shelf, error) from error

    def keep_columns_until_process_ends(self) -> None:
        """Leave the columns where they are until this process ends."""
        held, process = self._held.pop_all(), os.getpid()
        # A forked child has the same list of what to do at its end.
        atexit.register(lambda: held.close() if os.getpid() == process else None)

    def _move_gathered_rows_to_disk(self) -> None:
        self.folder = self._held.enter_context(make_corpus_scratch_folder(self.shelf))
        names = ("ids", "texts", "langs")[: 2 + self.with_langs]
        self._writers = [self._held.enter_context(TextColumnWriter(self.folder / name)) for name in names]
        columns = (self.ids, self.texts, self.langs)
        for row in zip(*columns, strict=True):
            self._write_document(*row)
        for values in columns:
            values.clear()
        self.spilled()

    def _write_document(self, *row: str) -> None:
        for writer, value in zip(self._writers, row, strict=False):
            writer.append(value)


def make_unwritable_folder_error(shelf: Path, error: OSError) -> UsageError:
    """The error for a folder that cannot be written."""
    return UsageError(
        f"A corpus of over {IN_MEMORY / 2**20:,.0f} MiB is cached in {shelf}, but that folder cannot be "
        f"written: {error.strerror or error}.",
        mend="Free disk space, or set EMBASSAY_CACHE to a writable folder.",
    )


Parse = Callable[[SourceRow, str, SkipRecordingReader], str | None]


@dataclass(frozen=True)
class Corpus:
    """All documents of a source, the languages that its rows state, where there is such a column; `noted` is what is
    odd about them, where that is known already."""

    ids: Sequence[str]
    texts: Sequence[str]
    langs: Sequence[str] | None = None
    noted: tuple[SkippedItems, ...] | None = None


def read_corpus(source: RowSource, parse: Parse, intake: SkipRecordingReader, what: str) -> Corpus:
    """The documents that `parse` makes of the rows of `source`; it gives None for a row to leave out, and `what` names
    what it does.

    A large corpus is read from the cache folder where it is kept already, else kept there; one that is read while
    faults are collected lies there for this process only. Ids are checked for repeats, and rows left out are counted
    in `intake`. DataError for an id that appears twice and when no row is usable, UsageError where a large corpus
    cannot be kept.
    """
    # The key reads every byte, so it is made only where the corpus may be kept.
    size = estimate_source_bytes(source)
    key = None
    if size is not None and size > IN_MEMORY:
        key = make_corpus_key(source, intake.settings, what)
    with ExitStack() as held:
        corpus = _find_or_lock_kept_corpus(key, held) if key else None
        return _load_kept_corpus(corpus, intake) if corpus else _read_corpus_rows(source, parse, intake, what)


def limit_corpus(corpus: Corpus, limit: int | None, seed: int, required: Container[str] = ()) -> Corpus:
    """Limit a corpus to `limit` documents, drawn with `seed`; `required` ids stay in any case."""
    if limit is None:
        return corpus
    places = draw_seeded_positions(corpus.ids, limit, seed, required)
    if len(places) == len(corpus.ids):
        return corpus
    columns = (corpus.ids, corpus.texts, corpus.langs)
    if isinstance(corpus.ids, TextColumn):
        picks = [PickedTexts(col, places) if isinstance(col, TextColumn) else None for col in columns]
        picked = Corpus(*picks)  # type: ignore[arg-type]
        return _load_corpus_into_memory(picked) or picked
    positions = places.tolist()
    return Corpus(*(col and tuple(col[i] for i in positions) for col in columns))  # type: ignore[arg-type]


def make_documents_record_of_corpus(corpus: Corpus, intake: SkipRecordingReader) -> Documents:
    """Convert the corpus to a record, what is odd about it told to `intake`."""
    odd = count_empty_long_and_repeated_texts(corpus.ids, corpus.texts) if corpus.noted is None else corpus.noted
    intake.tally.add_earlier_counts(noted=odd)
    return Documents(corpus.ids, corpus.texts, langs=corpus.langs)


def _find_or_lock_kept_corpus(key: str, held: ExitStack) -> CorpusOnDisk | None:
    """The corpus that is kept under `key`; where there is none, it is this process's to make while `held`."""
    try:
        held.enter_context(column.lock_corpus_key(find_corpus_folder(), key))
    except OSError as error:
        # A folder that cannot be written may still hold it.
        if kept := column.find_kept_corpus(find_corpus_folder(), key):
            return kept
        raise make_unwritable_folder_error(find_corpus_folder(), error) from error
    return column.find_kept_corpus(find_corpus_folder(), key)


def _load_kept_corpus(kept: CorpusOnDisk, intake: SkipRecordingReader) -> Corpus:
    intake.langs.update(kept.about.langs)
    intake.tally.add_earlier_counts(skipped=kept.about.skipped)
    return Corpus(kept.ids, kept.texts, kept.langs, kept.about.noted)


def _read_corpus_rows(source: RowSource, parse: Parse, intake: SkipRecordingReader, what: str) -> Corpus:
    ids, inner = SeenIds(), SkipRecordingReader(intake.settings)
    stated = "lang" in source.columns()

    def document(row: SourceRow, key: str) -> tuple[str, str] | None:
        text = parse(row, key, inner)
        return None if text is None else (text, (read_label_cell(row, "lang") or "") if stated else "")

    with SpillingCorpusBuilder(find_corpus_folder(), ids.discard_ids_and_keep_hashes, stated) as gathered:
        for key, (text, lang) in inner.iterate_parsed_usable_rows(source, ["text"], document, ids):
            gathered.add(key, text, lang)
        intake.tally.add_earlier_counts(skipped=inner.tally.skipped())
        if not gathered.count:
            raise make_no_usable_rows_error(source, ids.count, intake.tally.skipped())
        gathered.finish()
        for error in ids.make_errors_for_repeated_ids(source):
            raise_or_collect_fault(error)
        intake.langs |= inner.langs
        if gathered.folder is None:
            langs = tuple(gathered.langs) if stated else None
            return Corpus(tuple(gathered.ids), tuple(gathered.texts), langs)
        return _store_written_corpus(gathered, gathered.folder, source, inner, what)


def _store_written_corpus(
    gathered: SpillingCorpusBuilder, folder: Path, source: RowSource, inner: SkipRecordingReader, what: str
) -> Corpus:
    """Store the corpus written in `folder`, by moving it to where it stays."""
    ids, texts, langs = column.open_corpus_columns(folder)
    origins = tuple(origin.origin_address for origin in source.list_origins())
    noted = count_empty_long_and_repeated_texts(ids, texts)
    about = KeptCorpusDescription(origins, len(ids), tuple(sorted(inner.langs)), inner.tally.skipped(), noted)
    # Rows with faults are missing from what was read now: no later run may find that.
    key = None if is_collecting_faults() else make_corpus_key(source, inner.settings, what)
    if key is None:
        gathered.keep_columns_until_process_ends()
        return Corpus(ids, texts, langs, noted)
    try:
        kept = column.move_corpus_into_place(folder, about, find_corpus_folder() / key)
    except OSError as error:
        raise make_unwritable_folder_error(find_corpus_folder(), error) from error
    return Corpus(kept.ids, kept.texts, kept.langs, noted)


def _load_corpus_into_memory(corpus: Corpus) -> Corpus | None:
    """Load the documents as tuples; None where they are too large for that."""
    rows: list[tuple[str, str]] = []
    size = 0
    for key, text in zip(corpus.ids, corpus.texts, strict=True):
        rows.append((key, text))
        size += len(key) + len(text)
        if size > IN_MEMORY:
            return None
    langs = corpus.langs and tuple(corpus.langs)
    return Corpus(tuple(key for key, _ in rows), tuple(text for _, text in rows), langs)
