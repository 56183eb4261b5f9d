"""PostgreSQL with pgvector as an index: vectors in tables, named by content, loaded whole or not at all."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from embassay.contracts import IndexFacts, RankedCandidates
from embassay.errors import ModelError, UsageError
from embassay.search.indexes.address import (
    Found,
    SecretServerUrl,
    check_query_vectors,
    keep_logger_off_stderr,
    rank_found_vectors,
    resolve_server_address,
)
from embassay.search.indexes.store import Floats, Vectors, iterate_vector_blocks, measure_shards_shape

if TYPE_CHECKING:
    import psycopg
    from psycopg import Connection
    from psycopg.sql import Composed


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
_AGAIN = "Restart the server and repeat the command: finished work is kept."


class PgVectorServer:
    """The server at `address`. `prepare` is called with every new connection, before any work. `client` is who asks,
    for messages, and `needs` the module without which it cannot.

    A connection is made when a thread first has work, and once more when that finds it broken: a server that was
    restarted between two searches is not noticed. What goes wrong is a ModelError in one line that names the server and
    no password.
    """

    def __init__(
        self,
        address: SecretServerUrl,
        prepare: Work[None],
        *,
        client: str = "pgvector",
        needs: str = "pgvector.psycopg",
    ) -> None:
        keep_logger_off_stderr("psycopg")
        self._address = address
        self._parameters = _connection_settings(address, client, needs)
        self._prepare = prepare
        self.place = _format_server_place(self._parameters)
        self._own = threading.local()
        self._all: list[Connection[Any]] = []
        self._lock = threading.Lock()

    def do(self, work: Work[T]) -> T:
        """What `work` makes of this thread's connection. It is done a second time, on a new one, where the first is
        lost, so it is one transaction or changes nothing."""
        import psycopg

        before = getattr(self._own, "connection", None)
        connection = before
        try:
            connection = before or self._connect_to_server()
            return work(connection)
        except psycopg.Error as error:
            if connection is not None and isinstance(error, psycopg.errors.UndefinedTable):
                # Somebody removed what this connection was prepared for.
                connection.close()
            if connection is None or not connection.closed:
                raise self._make_database_error(error) from error
            self._drop_connection(connection)
            if before is None:
                raise self._make_database_error(error) from error
        return self.do(work)

    def close(self) -> None:
        """Close the connections of all threads; work after that makes new ones."""
        with self._lock:
            connections, self._all = self._all, []
            self._own = threading.local()
        for connection in connections:
            connection.close()

    def _connect_to_server(self) -> Connection[Any]:
        import psycopg

        connection = psycopg.connect(**self._parameters, autocommit=True)
        try:
            self._prepare(connection)
        except BaseException:
            # An interrupt must not leave a connection open either.
            connection.close()
            raise
        self._own.connection = connection
        with self._lock:
            self._all.append(connection)
        return connection

    def _drop_connection(self, connection: Connection[Any]) -> None:
        self._own.connection = None
        with self._lock:
            if connection in self._all:
                self._all.remove(connection)

    def _make_database_error(self, error: psycopg.Error) -> ModelError:
        reason = self._address.redact_secrets(error)
        away = _is_server_away(error, reason)
        reason = _WHERE.sub("", reason)
        return ModelError(
            f"PostgreSQL at {self.place} {'does not answer' if away else 'refuses'}: {reason}.",
            mend=self._suggest_mend(reason) or (_AGAIN if away else ""),
        )

    def _suggest_mend(self, reason: str) -> str:
        if "authentication failed" in reason or "no password" in reason:
            return f"Check the user and the password in {self._address.origin}."
        if "database" in reason and "does not exist" in reason:
            return f"Create the database, or use another in {self._address.origin}."
        return _suggest_mend_for_rights_or_extension(reason)


def _is_server_away(error: psycopg.Error, reason: str) -> bool:
    """Whether the server is down, going down or coming up, or cannot be reached; not that it answers with a no."""
    from psycopg import OperationalError

    if not isinstance(error, OperationalError):
        return False
    if error.sqlstate is not None:
        return error.sqlstate.startswith(("08", "57P"))
    return "FATAL:" not in reason or "the database system is" in reason


def _suggest_mend_for_rights_or_extension(reason: str) -> str:
    if "vector" in reason and ("extension" in reason or "control file" in reason):
        return "Install pgvector on the server, then run CREATE EXTENSION vector once as its administrator."
    if "permission denied" in reason:
        return "Let the user create schemas there, or create one: CREATE SCHEMA embassay AUTHORIZATION user."
    return ""


def _connection_settings(address: SecretServerUrl, client: str, needs: str) -> dict[str, Any]:
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
            f"{address.origin} is not a valid PostgreSQL address.",
            mend="Write it like postgresql://USER@HOST:5432/DATABASE, with special characters as %40 etc.",
        ) from None


def _format_server_place(parameters: dict[str, Any]) -> str:
    host = parameters.get("host") or parameters.get("hostaddr") or "localhost"
    return f"{host}:{parameters.get('port') or 5432}"


SCHEMA = "embassay"
EXTENSION = "vector"
_LIST = "indexes"
_PAGE = 8000
"""Bytes of a row that stays in its page: larger values go to a table of their own, which a scan reads far slower."""
# An index of pgvector takes no longer vectors.
_MOST = {"vector": 2000, "halfvec": 4000}
# The signature of PostgreSQL's binary COPY, no flags, and no extension of the header.
_COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END = b"\xff\xff"
_MEMORY_MOST = 2**31 - 2**20
_EDGE_BYTES = 16


@dataclass(frozen=True)
class PgVectorLayout:
    """How vectors lie in the server: all compared (`flat`) or in an HNSW graph of `m` edges per node, built with
    `ef_construction` candidates; as float32 (`vector`) or float16 (`halfvec`).

    UsageError for what pgvector does not take: m from 2 to 100, ef_construction from 2 m to 1000.
    """

    kind: Literal["flat", "hnsw"] = "flat"
    m: int = 16
    ef_construction: int = 64
    type: Literal["vector", "halfvec"] = "vector"

    def __post_init__(self) -> None:
        if self.kind == "hnsw" and not (2 <= self.m <= 100 and 2 * self.m <= self.ef_construction <= 1000):
            raise UsageError(
                f"pgvector cannot use m={self.m}, ef_construction={self.ef_construction}.",
                mend="Use m from 2 to 100, and ef_construction from 2 * m to 1000.",
            )

    def table(self, digest: str) -> str:
        """The name of the table with the vectors of this digest: at most 63 characters, PostgreSQL's limit."""
        graph = "flat" if self.kind == "flat" else f"m{self.m}_c{self.ef_construction}"
        return f"v_{digest[:32]}_{self.type[0]}_{graph}"

    def check(self, dim: int) -> None:
        """UsageError for more dimensions than pgvector indexes."""
        most = 16_000 if self.kind == "flat" else _MOST[self.type]
        if dim > most:
            raise UsageError(
                f"pgvector supports {most} dimensions of type {self.type} for kind={self.kind}, not {dim}.",
                mend="Use fewer dimensions, type=halfvec (4000) or kind=flat.",
            )


@dataclass(frozen=True)
class BuiltVectorTable:
    """A table that is complete: the seconds that loading and indexing took, its bytes, and whether it was `found`."""

    seconds: float
    bytes: int
    found: bool


def format_full_table_name(table: str) -> Composed:
    """The table's full name, quoted."""
    from psycopg.sql import SQL, Identifier

    return SQL(".").join([Identifier(SCHEMA), Identifier(table)])


def ensure_vector_table(
    connection: Connection[Any], table: str, layout: PgVectorLayout, vectors: Vectors
) -> BuiltVectorTable:
    """The table, loaded and indexed now where it is not there.

    One transaction does it all, so a table that can be seen is complete. Of several clients that want the same one, the
    first loads it and the others wait.
    """
    built = _find_complete_vector_table(connection, table)
    if built is not None:
        return built
    with connection.transaction():
        # Committed on its own: the schema is not kept locked while a table loads.
        _lock_name_until_transaction_end(connection, f"{SCHEMA} schema")
        _set_up_schema(connection)
    with connection.transaction():
        _lock_name_until_transaction_end(connection, table)
        # Another client may have built it while this one waited.
        built = _find_complete_vector_table(connection, table)
        if built is None:
            seconds = _load_table_and_measure_seconds(connection, table, layout, vectors)
            built = BuiltVectorTable(seconds, _table_size(connection, table), found=False)
            _write_vector_table_entry(connection, table, measure_shards_shape(vectors), seconds)
    return built


def _find_complete_vector_table(connection: Connection[Any], table: str) -> BuiltVectorTable | None:
    """The table, if it is there and complete."""
    if _find_table_oid(connection, _LIST) is None or _find_table_oid(connection, table) is None:
        return None
    row = connection.execute(f"SELECT build_seconds FROM {SCHEMA}.{_LIST} WHERE name = %s", [table]).fetchone()
    return None if row is None else BuiltVectorTable(float(row[0]), _table_size(connection, table), found=True)


def _find_table_oid(connection: Connection[Any], table: str) -> int | None:
    """Find the oid of a table of ours, None where there is none."""
    # From the catalogue: `to_regclass` may answer from a cache of before the wait for a lock.
    row = connection.execute(
        "SELECT pg_class.oid FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "WHERE nspname = %s AND relname = %s",
        [SCHEMA, table],
    ).fetchone()
    return None if row is None else int(row[0])


def _set_up_schema(connection: Connection[Any]) -> None:
    """pgvector, our schema and the list of tables, each only where it is missing: making one takes a right that whoever
    uses them need not have."""
    connection.execute(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}")
    there = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", [SCHEMA]).fetchone()
    if there is None or there[0] == 0:
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {SCHEMA}.{_LIST} (name text PRIMARY KEY, n bigint NOT NULL, "
        "dim integer NOT NULL, build_seconds double precision NOT NULL, built_at timestamptz DEFAULT now())"
    )


def _load_table_and_measure_seconds(
    connection: Connection[Any], table: str, layout: PgVectorLayout, vectors: Vectors
) -> float:
    """Load and index; the seconds from the first row sent to a table that can be searched."""
    from psycopg.sql import SQL, Identifier

    dim, name = measure_shards_shape(vectors)[1], format_full_table_name(table)
    kind = Identifier(layout.type)
    connection.execute(SQL("DROP TABLE IF EXISTS {}").format(name))
    connection.execute(SQL("CREATE TABLE {} (id integer NOT NULL, embedding {}({}) NOT NULL)").format(name, kind, dim))
    if _estimate_row_bytes(layout, dim) <= _PAGE:
        connection.execute(SQL("ALTER TABLE {} ALTER COLUMN embedding SET STORAGE PLAIN").format(name))
    started = perf_counter()
    with connection.cursor() as cursor, cursor.copy(SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(name)) as copy:
        copy.write(_COPY_HEAD)
        for rows in encode_copy_rows(vectors, layout.type):
            copy.write(rows)
        copy.write(_COPY_END)
    if layout.kind == "hnsw":
        _create_pgvector_index(connection, table, layout, measure_shards_shape(vectors))
    connection.execute(SQL("ANALYZE {}").format(name))
    return perf_counter() - started


def _create_pgvector_index(
    connection: Connection[Any], table: str, layout: PgVectorLayout, shape: tuple[int, int]
) -> None:
    from psycopg.sql import SQL, Identifier

    # A graph that outgrows this memory is finished on disk, many times slower; workers would share it, and a container
    # may have no more than 64 MB to share.
    needed = min(_MEMORY_MOST, shape[0] * (_estimate_row_bytes(layout, shape[1]) + 3 * _EDGE_BYTES * layout.m) + 2**24)
    connection.execute(
        "SELECT set_config('maintenance_work_mem', greatest(%s, setting::bigint) || 'kB', true), "
        "set_config('max_parallel_maintenance_workers', '0', true) "
        "FROM pg_settings WHERE name = 'maintenance_work_mem'",
        [needed // 1024],
    )
    connection.execute(
        SQL("CREATE INDEX ON {} USING hnsw (embedding {}) WITH (m = {}, ef_construction = {})").format(
            format_full_table_name(table), Identifier(f"{layout.type}_ip_ops"), layout.m, layout.ef_construction
        )
    )


def encode_copy_rows(vectors: Vectors, kind: Literal["vector", "halfvec"]) -> Iterator[bytes]:
    """Rows of (position, vector) in PostgreSQL's binary COPY format, many at a time: numpy lays them out, where the
    client's adapter would make an object of each."""
    dim, start = measure_shards_shape(vectors)[1], 0
    values = np.dtype((">f4" if kind == "vector" else ">f2", (dim,)))
    row = np.dtype(
        [
            *(("fields", ">i2"), ("id_bytes", ">i4"), ("id", ">i4")),
            *(("bytes", ">i4"), ("dim", ">i2"), ("unused", ">i2"), ("values", values)),
        ]
    )
    for block in iterate_vector_blocks(vectors):
        rows = np.zeros(len(block), dtype=row)
        # Two fields: 4 bytes of an id, and a vector with 4 bytes before its values.
        rows["fields"], rows["id_bytes"], rows["bytes"], rows["dim"] = 2, 4, 4 + values.itemsize, dim
        rows["id"] = np.arange(start, start + len(block))
        rows["values"] = _round_vector_block(block, kind)
        start += len(block)
        yield rows.tobytes()


def _round_vector_block(block: Floats, kind: str) -> Any:
    if kind == "vector":
        return block
    # What is too large for float16 becomes infinite, which the server refuses with words of its own.
    with np.errstate(over="ignore"):
        return block.astype(np.float16)


def _estimate_row_bytes(layout: PgVectorLayout, dim: int) -> int:
    return dim * (4 if layout.type == "vector" else 2) + 64


def _table_size(connection: Connection[Any], table: str) -> int:
    row = connection.execute("SELECT pg_total_relation_size(%s::oid)", [_find_table_oid(connection, table)]).fetchone()
    return int(row[0] or 0) if row else 0


def _write_vector_table_entry(connection: Connection[Any], table: str, shape: tuple[int, int], seconds: float) -> None:
    connection.execute(
        f"INSERT INTO {SCHEMA}.{_LIST} (name, n, dim, build_seconds) VALUES (%s, %s, %s, %s) ON CONFLICT (name) DO "
        "UPDATE SET n = excluded.n, dim = excluded.dim, build_seconds = excluded.build_seconds, built_at = now()",
        [table, *shape, seconds],
    )


def _lock_name_until_transaction_end(connection: Connection[Any], name: str) -> None:
    """Lock by a name, waiting for whoever makes the same thing, until the transaction ends."""
    number = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [number])


VARIABLE = "EMBASSAY_POSTGRES"
SCHEMES = ("postgresql", "postgres")
_EF_MOST = 1000


class PgVectorIndex:
    """`pgvector:postgresql://HOST/DATABASE?kind=hnsw`, or `pgvector:NAME` of an environment variable with the address,
    by default EMBASSAY_POSTGRES.

    `layout` says how the vectors lie there; `ef` is how many candidates a search of the graph keeps, from 1 to 1000.
    Where more than `ef` are asked for, pgvector 0.8 goes on through the graph in order of distance (an iterative scan);
    before it, `ef` is raised to as many.

    The table is made once for the content of the vectors and the layout, and stays in the server. Queries go one at a
    time over one connection per thread, each one round trip. A scan's scores are inner products in float32, rounded to
    1e-6 for ties like those of `flat`. ModelError, naming the server, when it does not answer; the next call tries
    again, and loads what is no longer there.
    """

    def __init__(
        self,
        target: str = "",
        *,
        vectors: Vectors,
        digest: str,
        name: str = "",
        layout: PgVectorLayout = PgVectorLayout(),
        ef: int = 40,
    ) -> None:
        n, dim = measure_shards_shape(vectors)
        layout.check(dim)
        if not 1 <= ef <= _EF_MOST:
            raise UsageError(f"pgvector supports ef from 1 to {_EF_MOST}, not ef={ef}.", mend="Use 40 to 400.")
        self.name = (name or "pgvector").replace("pgvector:%24", "pgvector:", 1)
        self._vectors, self._layout, self._ef = vectors, layout, ef
        self._table = layout.table(digest)
        self._built: list[BuiltVectorTable] = []
        self._iterates = False
        address = resolve_server_address("pgvector", target, schemes=SCHEMES, variable=VARIABLE)
        self._server = PgVectorServer(address, self._ensure_table_on_connection)
        built = self._server.do(lambda _: self._built[0])
        self.facts = IndexFacts(n, dim, built.seconds, built.bytes, memory_bytes=None, found=built.found)

    def search(self, queries: Floats, k: int) -> RankedCandidates:
        """The best k vectors of each query."""
        check_query_vectors(queries, self.facts.dim, k)
        return rank_found_vectors(
            [self._server.do(partial(self._search_once, query=query, k=k)) for query in queries], k
        )

    def close(self) -> None:
        """Close the connections. The table stays."""
        self._server.close()

    def _ensure_table_on_connection(self, connection: Connection[Any]) -> None:
        from pgvector.psycopg import register_vector

        self._built.append(ensure_vector_table(connection, self._table, self._layout, self._vectors))
        register_vector(connection)
        # Loads the server's library: settings of before it are only noted, and the first search would take the time.
        connection.execute("SELECT '[1]'::vector")
        row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
        major, minor = (int(part) for part in str(row[0] if row else "0.0").split(".")[:2])
        self._iterates = (major, minor) >= (0, 8)

    def _search_once(self, connection: Connection[Any], *, query: Floats, k: int) -> Found:
        # One round trip; the settings hold for this transaction and no other.
        with connection.pipeline(), connection.transaction():
            if self._layout.kind == "hnsw":
                connection.execute(*self._build_search_settings_statement(k))
            cursor = connection.execute(self._build_search_statement(k), [query])
        return [(int(position), -float(distance)) for position, distance in cursor.fetchall()]

    def _build_search_settings_statement(self, k: int) -> tuple[str, list[str]]:
        """List the settings that make a search use the graph, though the planner would read a small table."""
        ef = self._ef if self._iterates else min(_EF_MOST, max(self._ef, k))
        wanted = {"hnsw.ef_search": str(ef), "enable_seqscan": "off"}
        if self._iterates:
            wanted["hnsw.iterative_scan"] = "strict_order" if k > ef else "off"
        calls = ", ".join(["set_config(%s, %s, true)"] * len(wanted))
        return f"SELECT {calls}", [value for pair in wanted.items() for value in pair]

    def _build_search_statement(self, k: int) -> Any:
        from psycopg.sql import SQL, Identifier

        # Ties by position; of a graph only the distance may be asked for, or it is not used.
        order = SQL("distance, id") if self._layout.kind == "flat" else SQL("distance")
        return SQL("SELECT id, embedding <#> %b::{} AS distance FROM {} ORDER BY {} LIMIT {}").format(
            Identifier(self._layout.type), format_full_table_name(self._table), order, k
        )
