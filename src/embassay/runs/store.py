"""A SQLite file of the user's that runs and processes share, and that never stops the work.

What cannot be read or written costs time, never the run: it warns once and the work goes on without it. What it was
to keep then lies in a temporary file until the process closes it, so that nothing is paid for twice in one session.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from time import monotonic, perf_counter, sleep
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import ChatMessage, ChatModel, Completion, Reranker, SamplingSettings, Usage
from embassay.errors import ModelError, Unanswered, Why
from embassay.machine import find_cache_folder
from embassay.runs.execution import CallFailure, run_concurrent_jobs
from embassay.runs.folder import create_private_file, create_private_folder

_BUSY_SECONDS = 60


def find_kept_indexes_folder() -> Path:
    """Where built indexes are kept between runs."""
    return find_cache_folder() / "indexes"


def compute_keyed_content_hash(key: bytes, content: bytes | memoryview) -> bytes:
    """16 bytes that hold for this content under this key only."""
    return hashlib.blake2b(content, digest_size=16, key=key).digest()


class SelfClosingConnection(sqlite3.Connection):
    """A connection that is closed when the last who used it is gone: caches live as long as what remembers them, and
    from Python 3.13 on one that was left open is a warning."""

    def __del__(self) -> None:
        # Of one that was never opened there is nothing to close.
        with suppress(sqlite3.ProgrammingError):
            self.close()


class BaseSqliteFileStore:
    """One file, its first table the main one. Safe to share between threads, and between processes that open it
    each. A subclass says what it is called, its file and its tables, and which column of the `main` one has the
    identity of the model that a row is of (`owner`)."""

    title: ClassVar[str]
    file: ClassVar[str]
    tables: ClassVar[tuple[str, ...]]
    main: ClassVar[str]
    owner: ClassVar[str]

    def __init__(self, path: Path, connection: sqlite3.Connection | None) -> None:
        self.path = path
        self._connection = connection
        self._spare: sqlite3.Connection | None = None
        self._lock = Lock()
        self._warned = self._closed = False

    @classmethod
    def open(cls, path: Path | str | None = None) -> Self:
        """The store in the file `path`, made when absent; by default in `find_cache_folder()`."""
        file = Path(path) if path is not None else find_cache_folder() / cls.file
        try:
            create_private_folder(file.parent)
            return cls(file, cls._connect_to_file(create_private_file(file)))
        # SQLite words its complaint of a damaged file with what it found there, which need be no text.
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            store = cls(file, cls._connect_read_only(file))
            store._warn_of_store_failure("opened for writing", error)
            return store

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_store_once_by_path, (type(self), self.path)

    def drop(self, key: bytes) -> None:
        """Forget what is kept under `key`."""
        self._execute_change(f"DELETE FROM {self.main} WHERE key = ?", key)

    def has_entries_of_model(self, owner: str) -> bool:
        """Whether anything is kept of the model with this identity, or its beginning up to a colon."""
        return (
            self._fetch_first_row(f"SELECT 1 FROM {self.main} WHERE {self._build_owner_condition()} LIMIT 1", owner)
            is not None
        )

    def clear(self, owner: str | None = None) -> int:
        """Drop what is kept of the model with this identity, or its beginning up to a colon; or all. The bytes
        freed on disk."""
        before = self._measure_file_size()
        if owner is None:
            self._execute_change(f"DELETE FROM {self.main}")
        else:
            self._execute_change(f"DELETE FROM {self.main} WHERE {self._build_owner_condition()}", owner)
        self._delete_orphan_rows()
        return max(0, before - self._shrink_file())

    @classmethod
    def _build_owner_condition(cls) -> str:
        # Not LIKE, to which the _ and % of an identity are wildcards.
        return f"({cls.owner} = ?1 OR substr({cls.owner}, 1, length(?1) + 1) = ?1 || ':')"

    def _delete_orphan_rows(self) -> None:
        """Drop what other tables say of rows of the main one that are gone."""

    def close(self) -> None:
        """Release the file; the store then holds nothing and keeps nothing."""
        with self._lock:
            for connection in (self._connection, self._spare):
                if connection is not None:
                    connection.close()
            self._connection = self._spare = None
            self._closed = True

    def _shrink_file(self) -> int:
        """Give unused room back to the disk; the bytes of the file then."""
        self._execute_change("VACUUM")
        self._fetch_all_rows("PRAGMA wal_checkpoint(TRUNCATE)")
        return self._measure_file_size()

    def _measure_file_size(self) -> int:
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def _fetch_first_row(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        rows = self._fetch_all_rows(statement, *values)
        return rows[0] if rows else None

    def _fetch_all_rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The statement's rows; none, with a warning, when the file cannot be read."""
        with self._lock:
            # What was kept last lies in the spare one.
            for connection in (self._spare, self._connection):
                if connection is not None and (rows := self._fetch_rows_or_warn(connection, "read", statement, values)):
                    return rows
        return []

    def _execute_change(self, statement: str, *values: Any) -> None:
        """Run the statement as one transaction of its own; with a warning, in the spare file, when the file cannot be
        written."""
        with self._lock:
            connection = self._connection
            if self._closed or (
                connection and self._fetch_rows_or_warn(connection, "written", statement, values) is not None
            ):
                return
            try:
                # "" is SQLite's name of a file that goes as it is closed.
                self._spare = self._spare or self._open_prepared_connection("")
            except sqlite3.Error as error:
                self._warn_of_store_failure("written", error)
                return
            self._fetch_rows_or_warn(self._spare, "written", statement, values)

    def _fetch_rows_or_warn(
        self, connection: sqlite3.Connection, what: str, statement: str, values: Sequence[Any]
    ) -> list[tuple[Any, ...]] | None:
        """The statement's rows; None, with a warning, where it fails."""
        try:
            return connection.execute(statement, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._warn_of_store_failure(what, error)
            return None

    def _warn_of_store_failure(self, what: str, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"The {self.title} {self.path} cannot be {what} ({error}); continuing without it. "
                "Free disk space, or set EMBASSAY_CACHE to a writable folder.",
                RuntimeWarning,
                stacklevel=2,
            )

    @classmethod
    def _connect_to_file(cls, file: Path) -> sqlite3.Connection:
        deadline = monotonic() + _BUSY_SECONDS
        while True:
            try:
                return cls._open_prepared_connection(file)
            except sqlite3.OperationalError as error:
                # SQLite's own patience does not cover two processes that make the same file at once.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > deadline:
                    raise
                sleep(0.02)

    @classmethod
    def _open_prepared_connection(cls, file: Path | str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            # Every statement commits by itself: sqlite3's own transactions would stay open, and lock others out.
            file,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=SelfClosingConnection,
        )
        try:
            # Large pages suit rows of 100 kB and more; only a new file takes the setting.
            connection.execute("PRAGMA page_size = 16384")
            connection.execute("PRAGMA journal_mode = WAL")
            # A power cut may lose the last rows, never damage the file; a killed process loses nothing.
            connection.execute("PRAGMA synchronous = NORMAL")
            for table in cls.tables:
                connection.execute(table)
        except (sqlite3.Error, UnicodeDecodeError):
            connection.close()
            raise
        return connection

    @classmethod
    def _connect_read_only(cls, file: Path) -> sqlite3.Connection | None:
        """A file that cannot be changed is still read; None when it cannot be read either."""
        try:
            connection = sqlite3.connect(
                # Immutable: without that, SQLite would have to write files of its own beside it.
                f"{file.absolute().as_uri()}?mode=ro&immutable=1",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                factory=SelfClosingConnection,
            )
            connection.execute(f"SELECT 1 FROM {cls.main} LIMIT 1")
        except (sqlite3.Error, UnicodeDecodeError):
            return None
        return connection


@lru_cache(maxsize=4)
def _open_store_once_by_path(kind: type[BaseSqliteFileStore], path: Path) -> BaseSqliteFileStore:
    """The store that was sent to this process as its path, opened once."""
    return kind.open(path)


_SCORES = """
CREATE TABLE IF NOT EXISTS scores (
    key BLOB NOT NULL UNIQUE,
    reranker TEXT NOT NULL,
    checksum BLOB NOT NULL,
    scores BLOB NOT NULL
)
"""
# Four values a row, of which SQLite takes 32,766 in a statement.
_PER_STATEMENT = 1000

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class RerankCacheInfo:
    """What a cache holds: `bytes` on disk, `entries`, and the scores of each reranker identity."""

    path: Path
    bytes: int
    entries: int
    rerankers: Mapping[str, int]


class RerankScoreCache(BaseSqliteFileStore):
    """Scores by key. Safe to share between threads, and between processes that open it each."""

    title = "cache of rerankers' scores"
    file = "pairs.sqlite"
    tables = (_SCORES,)
    main = "scores"
    owner = "reranker"

    def read(self, keys: Sequence[bytes], n: int = 1) -> dict[bytes, Scores]:
        """The scores kept under those of the keys that have any, (n,) each; damaged ones are dropped, not given."""
        scores: dict[bytes, Scores] = {}
        for start in range(0, len(keys), _PER_STATEMENT):
            part = keys[start : start + _PER_STATEMENT]
            marks = ",".join("?" * len(part))
            for key, checksum, content in self._fetch_all_rows(
                f"SELECT key, checksum, CAST(scores AS BLOB) FROM scores WHERE key IN ({marks})", *part
            ):
                if checksum == compute_keyed_content_hash(key, content) and len(content) == 4 * n:
                    scores[key] = np.frombuffer(content, dtype="<f4")
                else:
                    self.drop(key)
        return scores

    def write(self, reranker: str, scores: Mapping[bytes, Scores]) -> None:
        """Keep scores of the reranker with this identity; a key that is already there keeps what it has.

        At most 1000 keys are written together, all or none of them.
        """
        rows = list(scores.items())
        for start in range(0, len(rows), _PER_STATEMENT):
            values: list[bytes | str] = []
            part = rows[start : start + _PER_STATEMENT]
            for key, row in part:
                content = np.ascontiguousarray(row, dtype="<f4").tobytes()
                values += [key, reranker, compute_keyed_content_hash(key, content), content]
            marks = ",".join(["(?, ?, ?, ?)"] * len(part))
            self._execute_change(f"INSERT OR IGNORE INTO scores VALUES {marks}", *values)

    def summarise_cache_contents(self) -> RerankCacheInfo:
        """What the cache holds now; zeros where it cannot be read."""
        rows = self._fetch_all_rows(
            "SELECT reranker, COUNT(*), SUM(length(scores)) / 4 FROM scores GROUP BY reranker ORDER BY reranker"
        )
        return RerankCacheInfo(
            path=self.path,
            bytes=self._measure_file_size(),
            entries=sum(entries for _, entries, _ in rows),
            rerankers={reranker: scores for reranker, _, scores in rows},
        )


def make_rerank_score_key(identity: str, query: str, documents: Sequence[str]) -> bytes:
    """32 bytes that name the scores of documents in this order: of one alone, or of a whole list."""
    digest = hashlib.blake2b(digest_size=32)
    for part in (identity, query, *documents):
        # Texts may hold lone surrogates, which UTF-8 has no bytes for.
        content = part.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.digest()


_CHUNK_SIZE = 64


@dataclass
class RerankCounts:
    """What happened so far: documents that the reranker scored, documents whose score the cache had, and seconds
    spent in the reranker. A document that stands twice in a call counts once."""

    computed: int = 0
    found: int = 0
    seconds: float = 0.0


class CachedReranker:
    """`reranker` behind `cache`: it is asked only for what is missing.

    The reranker may have attributes beside its contract: `pairwise` (see above); `chunk_size`, documents per call (64
    without it), each chunk kept the moment it is scored, so that an error, a budget or a kill loses at most one; and
    `skips_blank`, True where a blank document is not scored but put 1 below the lowest, which is then done here.
    Rerankers that pay by the call set `chunk_size` to what one call may hold.
    """

    def __init__(self, reranker: Reranker, cache: RerankScoreCache) -> None:
        self.reranker = reranker
        self.cache = cache
        self.counts = RerankCounts()
        self.pairwise: bool = getattr(reranker, "pairwise", False)
        self._chunk_size: int = getattr(reranker, "chunk_size", _CHUNK_SIZE)
        self._skips_blank: bool = getattr(reranker, "skips_blank", False)

    @property
    def name(self) -> str:
        """The reranker's name."""
        return self.reranker.name

    @property
    def identity(self) -> str:
        """The reranker's identity."""
        return self.reranker.identity

    def score(self, query: str, documents: Sequence[str]) -> Scores:
        """The reranker's scores, (n,), kept or new. Errors are the reranker's; ModelError where it does not give one
        finite score for each document. What was scored before an error is kept."""
        if not documents:
            return np.empty(0, dtype=np.float32)
        if not self.pairwise:
            return self._score_documents_through_cache(query, documents)
        sent = [text for text in dict.fromkeys(documents) if self._is_sent_to_reranker(text)]
        scores = self._score_pairs(query, sent)
        # What was not sent stands below all that was.
        lowest = min(scores.values(), default=np.float32(1))
        return np.array([scores.get(text, lowest - 1) for text in documents], dtype=np.float32)

    def missing(self, query: str, documents: Sequence[str]) -> int:
        """How many distinct documents are missing: `score` would ask the reranker for them."""
        if not self.pairwise:
            key = make_rerank_score_key(self.identity, query, documents)
            return 0 if self.cache.read([key], len(documents)) else len(documents)
        keys = {
            make_rerank_score_key(self.identity, query, [text]) for text in documents if self._is_sent_to_reranker(text)
        }
        return len(keys) - len(self.cache.read(list(keys)))

    def _is_sent_to_reranker(self, text: str) -> bool:
        return bool(text.strip()) or not self._skips_blank

    def _score_pairs(self, query: str, documents: Sequence[str]) -> dict[str, np.float32]:
        """The scores of distinct documents by their text."""
        keys = {text: make_rerank_score_key(self.identity, query, [text]) for text in documents}
        cached = self.cache.read(list(keys.values()))
        scores = {text: cached[key][0] for text, key in keys.items() if key in cached}
        self.counts.found += len(scores)
        waiting = [text for text in documents if text not in scores]
        for start in range(0, len(waiting), self._chunk_size):
            chunk = waiting[start : start + self._chunk_size]
            new = self._ask_reranker(query, chunk)
            self.cache.write(self.identity, {keys[text]: new[i : i + 1] for i, text in enumerate(chunk)})
            scores |= zip(chunk, new, strict=True)
        return scores

    def _score_documents_through_cache(self, query: str, documents: Sequence[str]) -> Scores:
        """The scores of documents that were scored together."""
        key = make_rerank_score_key(self.identity, query, documents)
        cached = self.cache.read([key], len(documents)).get(key)
        if cached is not None:
            self.counts.found += len(documents)
            return cached
        new = self._ask_reranker(query, documents)
        self.cache.write(self.identity, {key: new})
        return new

    def _ask_reranker(self, query: str, documents: Sequence[str]) -> Scores:
        started = perf_counter()
        try:
            scores = np.asarray(self.reranker.score(query, documents), dtype=np.float32)
        finally:
            self.counts.seconds += perf_counter() - started
        if scores.shape != (len(documents),) or not np.isfinite(scores).all():
            raise ModelError(
                f"The reranker {self.name!r} did not return one finite score for each of {len(documents)} documents."
            )
        self.counts.computed += len(documents)
        return scores


_ANSWERS = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB NOT NULL UNIQUE,
    model TEXT NOT NULL,
    checksum BLOB NOT NULL,
    answer BLOB NOT NULL
)
"""


@dataclass(frozen=True)
class AnswerCacheInfo:
    """What a cache holds: `bytes` on disk, `entries` (answers), and the answers of each model identity."""

    path: Path
    bytes: int
    entries: int
    models: Mapping[str, int]


class ChatAnswerCache(BaseSqliteFileStore):
    """Answers by key. Safe to share between threads, and between processes that open it each."""

    title = "answer cache"
    file = "answers.sqlite"
    tables = (_ANSWERS,)
    main = "answers"
    owner = "model"

    def read(self, key: bytes) -> Completion | None:
        """The answer kept under `key`, without its parsed object; None when there is none, or a damaged one."""
        row = self._fetch_first_row("SELECT checksum, CAST(answer AS BLOB) FROM answers WHERE key = ?", key)
        if row is None:
            return None
        checksum, content = row
        if checksum != compute_keyed_content_hash(key, content):
            self.drop(key)
            return None
        try:
            return _parse_cached_completion(json.loads(content))
        except (ValueError, LookupError, TypeError, RecursionError):
            self.drop(key)  # sealed by something that is not this class
            return None

    def write(self, key: bytes, model: str, answer: Completion) -> None:
        """Keep `answer` of the model with this identity; a key that is already there keeps what it has."""
        plain = {"text": answer.text, "model": answer.model, "finish": answer.finish, "usage": asdict(answer.usage)}
        content = json.dumps(plain).encode()
        self._execute_change(
            "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)",
            key,
            model,
            compute_keyed_content_hash(key, content),
            content,
        )

    def summarise_cache_contents(self) -> AnswerCacheInfo:
        """What the cache holds now; zeros where it cannot be read."""
        rows = self._fetch_all_rows("SELECT model, COUNT(*) FROM answers GROUP BY model ORDER BY model")
        return AnswerCacheInfo(self.path, self._measure_file_size(), sum(n for _, n in rows), dict(rows))


def _parse_cached_completion(kept: Any) -> Completion:
    """The answer that was written; LookupError, TypeError or ValueError for anything else."""
    words = kept["text"], kept["model"], kept["finish"]
    if not all(isinstance(word, str) for word in words):
        raise TypeError("not an answer")
    return Completion(words[0], None, Usage(**kept["usage"]), *words[1:])


def make_answer_cache_key(
    identity: str, messages: Sequence[ChatMessage], sampling: SamplingSettings, schema: Any, attempt: int
) -> bytes:
    """32 bytes that name a draw: a hash of the model, the sampling, the schema (a pydantic model class), the
    messages, and the number of the draw."""
    # What came later is named where it is set alone, so that answers kept before it stay theirs.
    drawn = {name: value for name, value in asdict(sampling).items() if name != "top_k" or value is not None}
    parts = [
        identity,
        drawn,
        None if schema is None else schema.model_json_schema(),
        [[message.role, message.content] for message in messages],
        attempt,
    ]
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=32).digest()


_UNANSWERED = "unanswered:"
"""Before the reason why there is no answer, where a kept answer has why it ended."""


@dataclass(frozen=True)
class ChatQuestion:
    """What is asked: as `ChatModel.complete`, and `attempt`, the number of the draw."""

    messages: Sequence[ChatMessage]
    sampling: SamplingSettings = SamplingSettings()  # noqa: RUF009 - frozen
    schema: Any = None
    attempt: int = 0


@dataclass
class ChatCallCounts:
    """What happened so far: answers that the model gave, that the cache had, and calls that failed for good."""

    asked: int = 0
    cached: int = 0
    failed: int = 0


class CachedChatModel:
    """`model` behind `cache`: an answer is kept the moment it arrives. So is that a model gave none (Unanswered) where
    it was asked with a seed, which says what is drawn; other failures are tried again by the next run."""

    def __init__(self, model: ChatModel, cache: ChatAnswerCache) -> None:
        self.model = model
        self.cache = cache
        self.counts = ChatCallCounts()
        self._asking: dict[bytes, asyncio.Future[None]] = {}

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def identity(self) -> str:
        """The model's identity."""
        return self.model.identity

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        sampling: SamplingSettings = SamplingSettings(),  # noqa: B008 - frozen
        schema: Any = None,
        attempt: int = 0,
    ) -> Completion:
        """Complete the messages: the kept draw number `attempt`, which costs nothing, or a new one.

        ModelError when the call fails for good (Unanswered, kept too, where the model gave no answer), BudgetExceeded
        when the money is used up.
        """
        key = make_answer_cache_key(self.identity, messages, sampling, schema, attempt)
        while (asking := self._asking.get(key)) is not None:
            # The same draw is in flight. Then the cache is asked, since that one may fail; waiting on the future itself
            # would cancel it with this task.
            await asyncio.wait([asking])
        cached = self._read_cached_completion(key, schema)
        if cached is not None:
            self.counts.cached += 1
            if isinstance(cached, Unanswered):
                raise cached
            return cached
        return await self._ask_model_and_cache_answer(key, ChatQuestion(messages, sampling, schema, attempt))

    def is_answer_cached(self, question: ChatQuestion) -> bool:
        """Whether the cache has the answer, or that there is none."""
        return self.find_cached_answer(question) is not None

    def find_cached_answer(self, question: ChatQuestion) -> Completion | Unanswered | None:
        """The answer that the cache has, or that there is none; None where it was not asked for yet."""
        key = make_answer_cache_key(
            self.identity, question.messages, question.sampling, question.schema, question.attempt
        )
        return self._read_cached_completion(key, question.schema)

    async def _ask_model_and_cache_answer(self, key: bytes, question: ChatQuestion) -> Completion:
        # Whoever asks the same meanwhile waits for this.
        asking = self._asking[key] = asyncio.get_running_loop().create_future()
        try:
            answer = await self.model.complete(question.messages, sampling=question.sampling, schema=question.schema)
            self.cache.write(key, self.identity, answer)
        except ModelError as error:
            self.counts.failed += 1
            # Only with a seed would the same question come to nothing again.
            if isinstance(error, Unanswered) and question.sampling.seed is not None:
                self.cache.write(key, self.identity, _make_unanswered_completion(error))
            raise
        finally:
            del self._asking[key]
            asking.set_result(None)
        self.counts.asked += 1
        return answer

    def _read_cached_completion(self, key: bytes, schema: Any) -> Completion | Unanswered | None:
        answer = self.cache.read(key)
        if answer is None:
            return None
        if answer.finish.startswith(_UNANSWERED):
            return Unanswered(answer.text, cast(Why, answer.finish.removeprefix(_UNANSWERED)))
        free = replace(answer.usage, requests=0, usd=0.0, possible_usd=0.0, estimated=0)
        if schema is None:
            return replace(answer, usage=free)
        try:
            return replace(answer, usage=free, parsed=schema.model_validate_json(answer.text))
        except ValueError:
            # What the schema's own code accepts may have changed since.
            self.cache.drop(key)
            return None


def _make_unanswered_completion(error: Unanswered) -> Completion:
    return Completion(error.message, None, Usage(), "", f"{_UNANSWERED}{error.why}")


async def ask_all_questions(
    chat: CachedChatModel,
    questions: Iterable[ChatQuestion],
    *,
    at_once: int = 256,
    progress: Callable[[int], None] | None = None,
) -> AsyncIterator[tuple[int, Completion | CallFailure]]:
    """Ask all, at most `at_once` of them at a time (the model's own pace decides how many are really sent), and
    yield (position, outcome) of each as it comes. `progress` is called with 1 for each.

    A call that fails is a Failure and the others go on. BudgetExceeded and other errors, and the ModelError of a
    model that cannot be had (8 since the last answer that are no matter of their question), are raised after what is in
    flight has been yielded.
    """
    jobs = (partial(_request_chat_completion, chat, question) for question in questions)
    async for position, outcome in run_concurrent_jobs(jobs, at_once=at_once, progress=progress):
        yield position, outcome


async def _request_chat_completion(chat: CachedChatModel, question: ChatQuestion) -> Completion:
    return await chat.complete(
        question.messages, sampling=question.sampling, schema=question.schema, attempt=question.attempt
    )
