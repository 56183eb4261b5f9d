"""What the store of answers asks of a database: transactions, statements with `?` for values, a clock."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from embassay.errors import ModelError, UsageError
from embassay.runs.folder import create_private_file
from embassay.runs.store import SelfClosingConnection
from embassay.search.indexes.address import SecretServerUrl, check_no_password, resolve_server_address
from embassay.search.indexes.pgvector import PgVectorServer

if TYPE_CHECKING:
    from psycopg import Connection, Cursor


T = TypeVar("T")
Row = tuple[Any, ...]


class Transaction(Protocol):
    """Statements that happen together or not at all."""

    def run(self, statement: str, *values: Any) -> int:
        """Carry it out; how many rows it changed."""

    def all(self, statement: str, *values: Any) -> list[Row]:
        """Fetch all rows of a statement."""

    def first(self, statement: str, *values: Any) -> Row | None:
        """Fetch the first row of a statement, None where there is none."""


class StudyDatabase(Protocol):
    """A database with the tables of one study. Safe to share between threads.

    What `work` did is on disk when `write` returns. It may be done a second time where the connection was lost, so it
    must only change what is in the transaction. ModelError where the database does not answer.
    """

    place: str
    """Where it is, for messages: never with a password."""

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a transaction that may change rows, and return what it makes."""

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a transaction that only reads, and return what it makes."""

    def close(self) -> None:
        """Let go of files and connections."""


TABLES = (
    "CREATE TABLE IF NOT EXISTS study (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS links (
        role TEXT NOT NULL, id TEXT NOT NULL, generation BIGINT NOT NULL, hash TEXT NOT NULL UNIQUE,
        PRIMARY KEY (role, id))""",
    """CREATE TABLE IF NOT EXISTS annotators (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT, settings TEXT NOT NULL, made TEXT NOT NULL,
        tab TEXT NOT NULL, tab_until DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS answers (
        annotator TEXT NOT NULL REFERENCES annotators (id), item TEXT NOT NULL, value TEXT, flag TEXT NOT NULL,
        comment TEXT NOT NULL, seconds DOUBLE PRECISION, paused BIGINT NOT NULL, seq BIGINT NOT NULL,
        saved_at TEXT NOT NULL, PRIMARY KEY (annotator, item))""",
    """CREATE TABLE IF NOT EXISTS changes (
        annotator TEXT NOT NULL REFERENCES annotators (id), item TEXT NOT NULL, value TEXT, flag TEXT NOT NULL,
        comment TEXT NOT NULL, seconds DOUBLE PRECISION, paused BIGINT NOT NULL, seq BIGINT NOT NULL,
        saved_at TEXT NOT NULL, tab TEXT NOT NULL, PRIMARY KEY (annotator, item, seq))""",
    """CREATE TABLE IF NOT EXISTS finished (
        annotator TEXT NOT NULL REFERENCES annotators (id), task TEXT NOT NULL, finished_at TEXT NOT NULL,
        PRIMARY KEY (annotator, task))""",
    """CREATE TABLE IF NOT EXISTS browsers (
        browser TEXT NOT NULL, annotator TEXT NOT NULL, shown BIGINT NOT NULL, wrote BIGINT NOT NULL,
        PRIMARY KEY (browser, annotator))""",
    """CREATE TABLE IF NOT EXISTS profiles (
        annotator TEXT NOT NULL REFERENCES annotators (id), question TEXT NOT NULL, answer TEXT NOT NULL,
        saved_at TEXT NOT NULL, PRIMARY KEY (annotator, question))"""
)  # fmt: skip
"""Words that SQLite and PostgreSQL both know; numbers and times of ours are never left to a column's guess."""


def current_time_in_iso() -> str:
    """ISO 8601 in UTC with milliseconds: it sorts as text.

    >>> len(current_time_in_iso())
    24
    """
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def current_unix_seconds() -> float:
    """Seconds since 1970, for leases that outlive a process."""
    return time.time()


_BUSY_SECONDS = 20


class SqliteStudyDatabase:
    """A study database in an SQLite file, made where it is absent.

    One connection writes and others read beside it (write-ahead log). Every transaction is forced to the disk before it
    is acknowledged (`synchronous = FULL`): it survives a killed process, and a power cut too where the disk keeps what
    it says it has kept. What waits while the disk is busy goes into the next transaction together: many who save at
    once wait for two turns of the disk, not for one each. A `read_only` one is opened as it is, also in a folder that
    cannot be written.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.place = str(path)
        self._path = path
        self._read_only = read_only
        self._turn = Lock()
        self._waiting: SimpleQueue[_TransactionWork] = SimpleQueue()
        self._readers: SimpleQueue[sqlite3.Connection] = SimpleQueue()
        self._writer: sqlite3.Connection | None = None
        if read_only:
            return
        with self._translate_file_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Who answered what is between them and the owner of the study.
            create_private_file(path)
            self._writer = self._open_database_connection()
            self._writer.execute("BEGIN IMMEDIATE")
            for table in TABLES:
                self._writer.execute(table)
            self._writer.execute("COMMIT")

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a transaction, together with that of all others who wait for their turn."""
        mine = _TransactionWork(work)
        self._waiting.put(mine)
        with self._turn:
            if not mine.is_done:
                self._run_works_in_one_transaction(_drain_waiting_works(self._waiting))
        with self._translate_file_errors():
            return cast("T", mine.outcome())

    def _run_works_in_one_transaction(self, works: Sequence[_TransactionWork]) -> None:
        """Run works in one transaction, of which a work that fails leaves nothing."""
        try:
            with _open_sqlite_transaction(self._require_writing_connection(), "BEGIN IMMEDIATE") as transaction:
                for work in works:
                    work.do(transaction)
        except (sqlite3.Error, ModelError) as error:
            for work in works:
                work.mark_transaction_work_as_failed(error)

    def _require_writing_connection(self) -> sqlite3.Connection:
        if self._writer is None:
            raise ModelError(f"{self.place} is not open for writing.", mend="Serve the study to write answers.")
        return self._writer

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` on a connection that no other thread uses meanwhile."""
        with self._translate_file_errors():
            try:
                connection = self._readers.get_nowait()
            except Empty:
                connection = self._open_database_connection()
            try:
                with _open_sqlite_transaction(connection, "BEGIN") as transaction:
                    return work(transaction)
            finally:
                self._readers.put(connection)

    def close(self) -> None:
        """Close all connections; the last one puts the log into the file."""
        while not self._readers.empty():
            self._readers.get().close()
        with self._turn:
            if self._writer is not None:
                self._writer.close()
            self._writer = None

    def _open_database_connection(self) -> sqlite3.Connection:
        if self._read_only:
            return self._connect_read_only()
        connection = _open_sqlite(str(self._path))
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _connect_read_only(self) -> sqlite3.Connection:
        """Beside a log that holds answers it is read with that. Without one nobody has it open, and it is read as it
        lies there: then nothing is made beside it, and the folder need not be writable."""
        log = self._path.with_name(self._path.name + "-wal")
        alone = not log.exists() or not log.stat().st_size
        connection = _open_sqlite(f"{self._path.absolute().as_uri()}?mode=ro{'&immutable=1' * alone}")
        # What an earlier version did not have yet is empty, and nothing is written to say so.
        held = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in TABLES if held else ():
            if table.split()[5] not in held:
                connection.execute(table.replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
        return connection

    @contextmanager
    def _translate_file_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise ModelError(
                f"The answers in {self.place} cannot be read or written: {error}.",
                mend="Free up disk space, or check the file and its permissions. Acknowledged answers are kept.",
            ) from error


class _TransactionWork:
    """Something to do in a transaction, and what became of it."""

    def __init__(self, work: Callable[[Transaction], Any]) -> None:
        self._work = work
        self._value: Any = None
        self._error: BaseException | None = None
        self.is_done = False

    def do(self, transaction: Transaction) -> None:
        """Run the work as a step of its own of the transaction."""
        transaction.run("SAVEPOINT work")
        try:
            self._value = self._work(transaction)
        except BaseException as error:
            # Kept for whoever wants it: the other works of the transaction go on.
            self._error = error
            transaction.run("ROLLBACK TO work")
        transaction.run("RELEASE work")
        self.is_done = True

    def mark_transaction_work_as_failed(self, error: BaseException) -> None:
        """Mark the work as failed, as its transaction came to nothing."""
        self._error, self.is_done = error, True

    def outcome(self) -> Any:
        """Return what the work made, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._value


def _drain_waiting_works(waiting: SimpleQueue[_TransactionWork]) -> list[_TransactionWork]:
    works: list[_TransactionWork] = []
    while True:
        try:
            works.append(waiting.get_nowait())
        except Empty:
            return works


def _open_sqlite(address: str) -> sqlite3.Connection:
    return sqlite3.connect(
        address, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False,
        uri=address.startswith("file:"), factory=SelfClosingConnection
    )  # fmt: skip


class _SqliteStatementRunner:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, statement: str, *values: Any) -> int:
        return self._connection.execute(statement, values).rowcount

    def all(self, statement: str, *values: Any) -> list[Row]:
        return self._connection.execute(statement, values).fetchall()

    def first(self, statement: str, *values: Any) -> Row | None:
        row: Row | None = self._connection.execute(statement, values).fetchone()
        return row


@contextmanager
def _open_sqlite_transaction(connection: sqlite3.Connection, begin: str) -> Iterator[Transaction]:
    connection.execute(begin)
    try:
        yield _SqliteStatementRunner(connection)
        connection.execute("COMMIT")
    except BaseException:
        # SQLite may have rolled back by itself, as it does on a full disk.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


VARIABLE = "EMBASSAY_ANSWERS"
_SCHEMES = ("postgresql", "postgres")
_TITLE = "PostgreSQL"
_EXAMPLE = "postgresql://USER@HOST/DATABASE"
_NAME = re.compile(r"\$?([A-Z_][A-Z0-9_]*)")


class PostgresStudyDatabase:
    """A study database in a schema of a Postgres server, made where it is absent.

    A connection for each thread. `synchronous_commit` is on: what is acknowledged survives a crash of this process, of
    the server, and a power cut.
    """

    def __init__(self, address: SecretServerUrl, schema: str) -> None:
        self._schema = schema
        self._server = PgVectorServer(address, self._prepare_connection, client=_TITLE, needs="psycopg")
        self.place = f"PostgreSQL schema {schema} at {self._server.place}"
        # Nothing is asked: a connection is made, which tells at once where it cannot be.
        try:
            self._server.do(lambda _: None)
        except ModelError as error:
            mend = f"Let the user create schemas, or create this one: CREATE SCHEMA {schema} AUTHORIZATION user."
            raise ModelError(
                error.message, mend=mend if "permission denied" in error.message else error.mend
            ) from error

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in one transaction; those of one annotator take turns by the lock of their row."""
        return self._server.do(lambda connection: _run_work_in_transaction(connection, work))

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a transaction: reading needs no other connection here."""
        return self.write(work)

    def close(self) -> None:
        """Close the connections of all threads."""
        self._server.close()

    def _prepare_connection(self, connection: Connection[Any]) -> None:
        from psycopg.sql import SQL, Identifier

        schema = Identifier(self._schema)
        connection.execute("SET synchronous_commit = on")
        with connection.transaction():
            # Two processes that start at once would both make it.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self._schema])
            if connection.execute("SELECT to_regnamespace(%s)", [self._schema]).fetchone() == (None,):
                connection.execute(SQL("CREATE SCHEMA {}").format(schema))
            connection.execute(SQL("SET LOCAL search_path TO {}").format(schema))
            for table in TABLES:
                connection.execute(table)
        connection.execute(SQL("SET search_path TO {}").format(schema))


def open_postgres_database(address: str, schema: str) -> PostgresStudyDatabase:
    """Open the database at a URL, or at the one that an environment variable holds.

    Raises UsageError for what is neither, and for a URL with a password, which everyone on the machine could read in
    the list of processes; ModelError where it does not answer, or the extra is missing.
    """
    name = _NAME.fullmatch(address)
    if name and not os.environ.get(name[1], "").strip():
        raise UsageError(f"The environment variable {name[1]} is not set.", mend=f"export {name[1]}={_EXAMPLE}")
    if not name and not address.startswith(tuple(f"{scheme}://" for scheme in _SCHEMES)):
        raise UsageError(
            "The database address is neither a URL nor the name of an environment variable.",
            mend=f"Write it like {_EXAMPLE}, or omit it to use a file in the study's folder.",
        )
    try:
        check_no_password(f"{_TITLE}:{address}")
    except UsageError:
        raise UsageError(
            "The database address contains a password, and other users of this machine can see command lines.",
            mend=f"Put the address in an environment variable (export {VARIABLE}=...) and pass --database {VARIABLE}.",
        ) from None
    return PostgresStudyDatabase(resolve_server_address(_TITLE, address, schemes=_SCHEMES, variable=VARIABLE), schema)


def _run_work_in_transaction(connection: Connection[Any], work: Callable[[Transaction], T]) -> T:
    with connection.transaction():
        return work(_PostgresStatementRunner(connection))


class _PostgresStatementRunner:
    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    def run(self, statement: str, *values: Any) -> int:
        return self._execute_statement(statement, values).rowcount

    def all(self, statement: str, *values: Any) -> list[Row]:
        return self._execute_statement(statement, values).fetchall()

    def first(self, statement: str, *values: Any) -> Row | None:
        row: Row | None = self._execute_statement(statement, values).fetchone()
        return row

    def _execute_statement(self, statement: str, values: tuple[Any, ...]) -> Cursor[Any]:
        return self._connection.execute(statement.replace("?", "%s"), values)
