"""What the store of answers asks of a database: transactions, statements with `?` for values, a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Row = tuple[Any, ...]


class Transaction(Protocol):
    """Statements that happen together or not at all."""

    def run(self, statement: str, *values: Any) -> int:
        """Carry it out; how many rows it changed."""

    def all(self, statement: str, *values: Any) -> list[Row]:
        """Its rows."""

    def first(self, statement: str, *values: Any) -> Row | None:
        """Its first row, None where there is none."""


class Database(Protocol):
    """A database with the tables of one study. Safe to share between threads.

    What `work` did is on disk when `write` returns. It may be done a second time where the connection was lost, so it
    must only change what is in the transaction. ModelError where the database does not answer.
    """

    place: str
    """Where it is, for messages: never with a password."""

    def write(self, work: Callable[[Transaction], T]) -> T:
        """What `work` makes of a transaction that may change rows."""

    def read(self, work: Callable[[Transaction], T]) -> T:
        """What `work` makes of a transaction that only reads."""

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
)  # fmt: skip
"""Words that SQLite and PostgreSQL both know; numbers and times of ours are never left to a column's guess."""


def now() -> str:
    """ISO 8601 in UTC with milliseconds: it sorts as text.

    >>> len(now())
    24
    """
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds() -> float:
    """Seconds since 1970, for leases that outlive a process."""
    return time.time()
