"""Answers on a PostgreSQL server, in a schema of the study's own: for a team."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from embassay.errors import ModelError, UsageError
from embassay.protocols.hume.answers.database import TABLES, Row, Transaction
from embassay.search.indexes.servers.address import ServerAddress, check_no_password, find_address
from embassay.search.indexes.servers.pgvector import Postgres

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

T = TypeVar("T")
VARIABLE = "EMBASSAY_ANSWERS"
_SCHEMES = ("postgresql", "postgres")
_TITLE = "PostgreSQL"
_EXAMPLE = "postgresql://USER@HOST/DATABASE"
_NAME = re.compile(r"\$?([A-Z_][A-Z0-9_]*)")


class PostgresServer:
    """The schema `schema` of the server at `address`, made where it is absent.

    A connection for each thread. `synchronous_commit` is on: what is acknowledged survives a crash of this process, of
    the server, and a power cut.
    """

    def __init__(self, address: ServerAddress, schema: str) -> None:
        self._schema = schema
        self._server = Postgres(address, self._prepare, client=_TITLE, needs="psycopg")
        self.place = f"schema {schema} of PostgreSQL at {self._server.place}"
        try:
            self._server.do(lambda _: None)
        except ModelError as error:
            mend = f"Let the user create a schema, or make it: CREATE SCHEMA {schema} AUTHORIZATION user."
            raise ModelError(
                error.message, mend=mend if "permission denied" in error.message else error.mend
            ) from error

    def write(self, work: Callable[[Transaction], T]) -> T:
        """One transaction; those of one annotator take turns by the lock of their row."""
        return self._server.do(lambda connection: _carried_out(connection, work))

    def read(self, work: Callable[[Transaction], T]) -> T:
        """The same: reading needs no other connection here."""
        return self.write(work)

    def close(self) -> None:
        """Close the connections of all threads."""
        self._server.close()

    def _prepare(self, connection: Connection[Any]) -> None:
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


def open_server(address: str, schema: str) -> PostgresServer:
    """The server at a URL, or at the one that an environment variable of this name holds.

    Raises UsageError for what is neither, and for a URL with a password, which everyone on the machine could read in
    the list of processes; ModelError where it does not answer, or the extra is missing.
    """
    name = _NAME.fullmatch(address)
    if name and not os.environ.get(name[1], "").strip():
        raise UsageError(
            f"The environment variable {name[1]} is not set.", mend=f"export {name[1]}={_EXAMPLE}"
        )
    if not name and not address.startswith(tuple(f"{scheme}://" for scheme in _SCHEMES)):
        raise UsageError(
            "The address of the database is neither a URL nor the name of an environment variable.",
            mend=f"Write it like {_EXAMPLE}, or leave it out for a file in the study's folder.",
        )
    try:
        check_no_password(f"{_TITLE}:{address}")
    except UsageError:
        raise UsageError(
            "The address of the database holds a password, and everyone on this machine sees commands.",
            mend=f"Put it into an environment variable, export {VARIABLE}=..., and write --database {VARIABLE}.",
        ) from None
    return PostgresServer(find_address(_TITLE, address, schemes=_SCHEMES, variable=VARIABLE), schema)


def _carried_out(connection: Connection[Any], work: Callable[[Transaction], T]) -> T:
    with connection.transaction():
        return work(_Statements(connection))


class _Statements:
    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    def run(self, statement: str, *values: Any) -> int:
        return self._execute(statement, values).rowcount

    def all(self, statement: str, *values: Any) -> list[Row]:
        return self._execute(statement, values).fetchall()

    def first(self, statement: str, *values: Any) -> Row | None:
        row: Row | None = self._execute(statement, values).fetchone()
        return row

    def _execute(self, statement: str, values: tuple[Any, ...]) -> Cursor[Any]:
        return self._connection.execute(statement.replace("?", "%s"), values)
