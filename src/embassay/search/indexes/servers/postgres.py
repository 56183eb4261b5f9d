"""Connections to a PostgreSQL server, one for each thread, that come back after it was away."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from embassay.errors import ModelError, UsageError
from embassay.search.indexes.servers.address import ServerAddress, keep_quiet

if TYPE_CHECKING:
    import psycopg
    from psycopg import Connection

T = TypeVar("T")
Work = Callable[["Connection[Any]"], T]

_USUAL = {
    "application_name": "embassay",
    "connect_timeout": 10,
    # Without these a machine that vanished would be waited for until the system's own limit, of hours.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
_WHERE = re.compile(r"^connection failed: connection to server (?:at|on) .*? failed: (?:FATAL: +)?")
"""What the client puts before the reason, and our message has said."""
_AGAIN = "Start it again and repeat the command: what is finished is kept."


class Postgres:
    """The server at `address`. `prepare` is called with every new connection, before any work. `client` is who asks,
    for messages, and `needs` the module without which it cannot.

    A connection is made when a thread first has work, and once more when that finds it broken: a server that was
    restarted between two searches is not noticed. What goes wrong is a ModelError in one line that names the server and
    no password.
    """

    def __init__(
        self,
        address: ServerAddress,
        prepare: Work[None],
        *,
        client: str = "pgvector",
        needs: str = "pgvector.psycopg",
    ) -> None:
        keep_quiet("psycopg")
        self._address = address
        self._parameters = _parameters(address, client, needs)
        self._prepare = prepare
        self.place = _place(self._parameters)
        self._own = threading.local()
        self._all: list[Connection[Any]] = []
        self._lock = threading.Lock()

    def do(self, work: Work[T]) -> T:
        """What `work` makes of this thread's connection. It is done a second time, on a new one, where the first is
        lost, so it is one transaction or changes nothing."""
        import psycopg

        kept = getattr(self._own, "connection", None)
        connection = kept
        try:
            connection = kept or self._connect()
            return work(connection)
        except psycopg.Error as error:
            if connection is not None and isinstance(error, psycopg.errors.UndefinedTable):
                # Somebody removed what this connection was prepared for.
                connection.close()
            if connection is None or not connection.closed:
                raise self._told(error) from error
            self._drop(connection)
            if kept is None:
                raise self._told(error) from error
        return self.do(work)

    def close(self) -> None:
        """Close the connections of all threads; work after that makes new ones."""
        with self._lock:
            connections, self._all = self._all, []
            self._own = threading.local()
        for connection in connections:
            connection.close()

    def _connect(self) -> Connection[Any]:
        import psycopg

        connection = psycopg.connect(**self._parameters, autocommit=True)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._own.connection = connection
        with self._lock:
            self._all.append(connection)
        return connection

    def _drop(self, connection: Connection[Any]) -> None:
        self._own.connection = None
        with self._lock:
            if connection in self._all:
                self._all.remove(connection)

    def _told(self, error: psycopg.Error) -> ModelError:
        said = self._address.redacted(error)
        away = _is_away(error, said)
        said = _WHERE.sub("", said)
        return ModelError(
            f"PostgreSQL at {self.place} {'does not answer' if away else 'refuses'}: {said}.",
            mend=self._mend(said) or (_AGAIN if away else ""),
        )

    def _mend(self, said: str) -> str:
        if "authentication failed" in said or "no password" in said:
            return f"Check the user and the password in {self._address.origin}."
        if "database" in said and "does not exist" in said:
            return f"Create the database, or name another in {self._address.origin}."
        return _of_rights(said)


def _is_away(error: psycopg.Error, said: str) -> bool:
    """Whether the server is down, going down or coming up, or cannot be reached; not that it answers with a no."""
    from psycopg import OperationalError

    if not isinstance(error, OperationalError):
        return False
    if error.sqlstate is not None:
        return error.sqlstate.startswith(("08", "57P"))
    return "FATAL:" not in said or "the database system is" in said


def _of_rights(said: str) -> str:
    if "vector" in said and ("extension" in said or "control file" in said):
        return "Install pgvector on the server; its administrator runs CREATE EXTENSION vector once."
    if "permission denied" in said:
        return "Let the user create a schema in the database, or make one: CREATE SCHEMA embassay AUTHORIZATION user."
    return ""


def _parameters(address: ServerAddress, client: str, needs: str) -> dict[str, Any]:
    try:
        import_module(needs)
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise ModelError(
            f"{client} needs the package {error.name}, which is not installed.",
            mend="Install it: pip install 'embassay[pg]'",
        ) from error
    try:
        return {**_USUAL, **conninfo_to_dict(address.url)}
    except ProgrammingError:
        # Its message repeats the address, password and all.
        raise UsageError(
            f"{address.origin} is not an address that PostgreSQL's clients understand.",
            mend="Write it like postgresql://USER@HOST:5432/DATABASE, special characters as %40 and the like.",
        ) from None


def _place(parameters: dict[str, Any]) -> str:
    host = parameters.get("host") or parameters.get("hostaddr") or "localhost"
    return f"{host}:{parameters.get('port') or 5432}"
