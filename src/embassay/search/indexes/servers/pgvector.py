"""PostgreSQL with pgvector as an index: the vectors lie in a table of the server, which does the searching."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from embassay.contracts import IndexFacts, Ranked
from embassay.errors import UsageError
from embassay.search.indexes.servers.address import find_address
from embassay.search.indexes.servers.answers import Found, check_queries, ranked
from embassay.search.indexes.servers.postgres import Postgres
from embassay.search.indexes.servers.tables import Built, Layout, ensure, qualified
from embassay.search.indexes.vectors import Floats, Vectors, shape_of

if TYPE_CHECKING:
    from psycopg import Connection

VARIABLE = "EMBASSAY_POSTGRES"
SCHEMES = ("postgresql", "postgres")
_EF_MOST = 1000


class PgVector:
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
        layout: Layout = Layout(),  # noqa: B008 - frozen
        ef: int = 40,
    ) -> None:
        n, dim = shape_of(vectors)
        layout.check(dim)
        if not 1 <= ef <= _EF_MOST:
            raise UsageError(
                f"pgvector keeps from 1 to {_EF_MOST} candidates, not ef={ef}.", mend="Use 40 to 400."
            )
        self.name = (name or "pgvector").replace("pgvector:%24", "pgvector:", 1)
        self._vectors, self._layout, self._ef = vectors, layout, ef
        self._table = layout.table(digest)
        self._built: list[Built] = []
        self._iterates = False
        address = find_address("pgvector", target, schemes=SCHEMES, variable=VARIABLE)
        self._server = Postgres(address, self._prepare)
        built = self._server.do(lambda _: self._built[0])
        self.facts = IndexFacts(n, dim, built.seconds, built.bytes, memory_bytes=None, found=built.found)

    def search(self, queries: Floats, k: int) -> Ranked:
        """The best k vectors of each query."""
        check_queries(queries, self.facts.dim, k)
        return ranked([self._server.do(partial(self._asked, query=query, k=k)) for query in queries], k)

    def close(self) -> None:
        """Close the connections. The table stays."""
        self._server.close()

    def _prepare(self, connection: Connection[Any]) -> None:
        from pgvector.psycopg import register_vector

        self._built.append(ensure(connection, self._table, self._layout, self._vectors))
        register_vector(connection)
        # Loads the server's library: settings of before it are only noted, and the first search would take the time.
        connection.execute("SELECT '[1]'::vector")
        row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
        major, minor = (int(part) for part in str(row[0] if row else "0.0").split(".")[:2])
        self._iterates = (major, minor) >= (0, 8)

    def _asked(self, connection: Connection[Any], *, query: Floats, k: int) -> Found:
        # One round trip; the settings hold for this transaction and no other.
        with connection.pipeline(), connection.transaction():
            if self._layout.kind == "hnsw":
                connection.execute(*self._settings(k))
            cursor = connection.execute(self._statement(k), [query])
        return [(int(position), -float(distance)) for position, distance in cursor.fetchall()]

    def _settings(self, k: int) -> tuple[str, list[str]]:
        """Search through the graph, though the planner would rather read a small table."""
        ef = self._ef if self._iterates else min(_EF_MOST, max(self._ef, k))
        wanted = {"hnsw.ef_search": str(ef), "enable_seqscan": "off"}
        if self._iterates:
            wanted["hnsw.iterative_scan"] = "strict_order" if k > ef else "off"
        calls = ", ".join(["set_config(%s, %s, true)"] * len(wanted))
        return f"SELECT {calls}", [one for pair in wanted.items() for one in pair]

    def _statement(self, k: int) -> Any:
        from psycopg.sql import SQL, Identifier

        # Ties by position; of a graph only the distance may be asked for, or it is not used.
        order = SQL("distance, id") if self._layout.kind == "flat" else SQL("distance")
        return SQL("SELECT id, embedding <#> %b::{} AS distance FROM {} ORDER BY {} LIMIT {}").format(
            Identifier(self._layout.type), qualified(self._table), order, k
        )
