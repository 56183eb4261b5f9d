"""Elasticsearch as an index: the vectors lie in an index of the server, which does the searching."""

from __future__ import annotations

from contextlib import suppress
from time import perf_counter
from typing import Any

from embassay.contracts import IndexFacts, Ranked
from embassay.errors import ModelError, UsageError
from embassay.search.indexes.servers.address import find_address
from embassay.search.indexes.servers.answers import check_queries, ranked
from embassay.search.indexes.servers.dense_vectors import (
    MOST,
    SETTINGS,
    DenseLayout,
    Hit,
    actions,
    hits,
    kept,
    knn,
    mapping,
)
from embassay.search.indexes.servers.elastic import Elastic
from embassay.search.indexes.vectors import Floats, Vectors, shape_of

VARIABLE = "EMBASSAY_ELASTICSEARCH"
SCHEMES = ("http", "https")
LIST = "embassay-indexes"
_LONG = 3600
"""Seconds for building a graph in one piece."""


class ElasticSearch:
    """`elasticsearch:http://HOST:9200?kind=hnsw`, or `elasticsearch:NAME` of an environment variable with the address,
    by default EMBASSAY_ELASTICSEARCH.

    `layout` says how the vectors lie there; `ef` is how many candidates a search of the graph looks at (its
    num_candidates), at least as many as are asked for. `key` names a variable with an API key.

    An index is made once for the content of the vectors and the layout, merged into one segment, and stays in the
    server. It is listed when it is complete, and what is not listed is not used: of two clients that load the same
    vectors at once, the first to finish is kept. Scores are inner products, got back from the server's own, which
    `find` also gives. ModelError, naming the server, when it does not answer; the next call tries again.
    """

    def __init__(
        self,
        target: str = "",
        *,
        vectors: Vectors,
        digest: str,
        name: str = "",
        layout: DenseLayout = DenseLayout(),  # noqa: B008 - frozen
        ef: int = 100,
        key: str | None = None,
        ca_certs: str | None = None,
    ) -> None:
        n, dim = shape_of(vectors)
        layout.check(dim)
        if not 1 <= ef <= MOST:
            raise UsageError(
                f"Elasticsearch looks at 1 to {MOST} candidates, not ef={ef}.", mend="Use 50 to 1000."
            )
        self.name = (name or "elasticsearch").replace("elasticsearch:%24", "elasticsearch:", 1)
        self._vectors, self._layout, self._ef = vectors, layout, ef
        self._listed = layout.name(digest)
        address = find_address("elasticsearch", target, schemes=SCHEMES, variable=VARIABLE)
        self._server = Elastic(address, key, ca_certs)
        found = self._find()
        self._index, seconds, size = found or self._load()
        self.facts = IndexFacts(n, dim, seconds, size, memory_bytes=None, found=found is not None)

    def search(self, queries: Floats, k: int) -> Ranked:
        """The best k vectors of each query."""
        check_queries(queries, self.facts.dim, k)
        answers = [self.find(query, k) for query in queries]
        return ranked([[(hit.position, hit.inner_product) for hit in answer] for answer in answers], k)

    def find(self, query: Floats, k: int) -> list[Hit]:
        """The best k of one query (d,) with the server's own scores, best first. An index that somebody removed is
        loaded again."""
        from elasticsearch import NotFoundError

        for _ in range(2):
            try:
                with self._server.told():
                    answer = self._server.client.search(
                        index=self._index, knn=knn(query, k, self._ef), size=k, source=False,
                        filter_path="timed_out,_shards.failed,hits.hits._id,hits.hits._score",
                    )  # fmt: skip
                    return hits({"hits": {"hits": []}, **answer}, self._layout.similarity)
            except ModelError as error:
                if not isinstance(error.__cause__, NotFoundError):
                    raise
                last = error
                self._index = (self._find() or self._load())[0]
        raise last

    def close(self) -> None:
        """Close the connections. The index stays."""
        self._server.client.close()

    def _find(self) -> tuple[str, float, int] | None:
        """The index that is listed for these vectors, with its seconds and bytes, if it is there."""
        client = self._server.client.options(ignore_status=404)
        with self._server.told():
            listed: Any = client.get(index=LIST, id=self._listed)
            if not listed.get("found"):
                return None
            found = kept(listed)
            if client.indices.exists(index=found[0]):
                return found
            client.delete(index=LIST, id=self._listed, refresh=True)
        return None

    def _load(self) -> tuple[str, float, int]:
        """Make an index, and list it when it is complete. Whatever stops this before, it is removed or never used."""
        from secrets import token_hex

        index = f"{self._listed}-{token_hex(4)}"
        client = self._server.client
        try:
            with self._server.told():
                started = perf_counter()
                client.indices.create(
                    index=index, settings=SETTINGS, mappings=mapping(self._layout, shape_of(self._vectors)[1])
                )
                self._fill(index)
                return self._list(index, perf_counter() - started)
        except BaseException:
            self._remove(index)
            raise

    def _fill(self, index: str) -> None:
        from elasticsearch.helpers import bulk

        client = self._server.client.options(request_timeout=_LONG)
        n, _ = bulk(client, actions(index, self._vectors), stats_only=False)
        client.indices.refresh(index=index)
        # One segment, so that there is one graph: a graph for each would be searched better and more slowly.
        client.indices.forcemerge(index=index, max_num_segments=1)
        client.indices.refresh(index=index)
        counted = client.count(index=index)["count"]
        wanted = shape_of(self._vectors)[0]
        if not n == counted == wanted:
            raise ValueError(f"it holds {counted} of {wanted} vectors")

    def _list(self, index: str, seconds: float) -> tuple[str, float, int]:
        """Put the index on the list, or remove it where another client was faster, whose index it then is."""
        from elasticsearch import ConflictError

        stats = self._server.client.indices.stats(index=index, metric="store")
        size = int(stats["_all"]["primaries"]["store"]["size_in_bytes"])
        n, dim = shape_of(self._vectors)
        entry = {"index": index, "n": n, "dim": dim, "build_seconds": seconds, "bytes": size}
        try:
            self._server.client.create(index=LIST, id=self._listed, document=entry, refresh=True)
        except ConflictError:
            other = self._find()
            if other is None:
                raise
            self._remove(index)
            return other
        return index, seconds, size

    def _remove(self, index: str) -> None:
        """Best effort: what stays behind is not listed, and so never used."""
        from elasticsearch import ApiError, TransportError

        with suppress(ApiError, TransportError):
            self._server.client.options(ignore_status=404).indices.delete(index=index)
