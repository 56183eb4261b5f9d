"""Elasticsearch as an index: the vectors lie in an index of the server, which does the searching."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal
from urllib.parse import urlsplit

from embassay.contracts import IndexFacts, RankedCandidates
from embassay.errors import ModelError, UsageError
from embassay.search.indexes.address import (
    SecretServerUrl,
    check_query_vectors,
    keep_logger_off_stderr,
    rank_found_vectors,
    resolve_server_address,
)
from embassay.search.indexes.store import Floats, Vectors, iterate_vector_blocks, measure_shards_shape

FIELD = "embedding"
MOST = 10_000
"""Candidates of a search, and what one may give back."""
_MOST_DIMENSIONS = 4096

Body = Mapping[str, Any]


@dataclass(frozen=True)
class ElasticsearchVectorIndexOptions:
    """How a `dense_vector` field lies there: `kind` is its index type, with a graph of `m` edges per node built with
    `ef_construction` candidates (`hnsw`), values in one byte (`int8_hnsw`, `int8_flat`), or all compared (`flat`).

    `similarity` is what the field is made for: by default the inner product of vectors of any length; `dot_product` and
    `cosine` as production may have it, for vectors of unit length and for any but zero.
    """

    kind: Literal["int8_hnsw", "hnsw", "int8_flat", "flat"] = "int8_hnsw"
    m: int = 16
    ef_construction: int = 100
    similarity: Literal["max_inner_product", "dot_product", "cosine"] = "max_inner_product"

    def __post_init__(self) -> None:
        if self.m < 2 or not 1 <= self.ef_construction <= MOST:
            raise UsageError(
                f"Elasticsearch cannot use m={self.m}, ef_construction={self.ef_construction}.",
                mend="Use m of at least 2, and ef_construction from 1 to 10000.",
            )

    @property
    def has_graph(self) -> bool:
        """Whether the field has a graph: then a search is approximate, and wider with more candidates."""
        return self.kind.endswith("hnsw")

    def name(self, digest: str) -> str:
        """What the vectors of this digest are listed under."""
        graph = f"-m{self.m}-c{self.ef_construction}" if self.has_graph else ""
        return f"embassay-{digest[:32]}-{self.kind}{graph}-{self.similarity}"

    def check(self, dim: int) -> None:
        """UsageError for more dimensions than Elasticsearch indexes."""
        if dim > _MOST_DIMENSIONS:
            raise UsageError(
                f"Elasticsearch takes at most {_MOST_DIMENSIONS} dimensions, not {dim}.", mend="Use fewer dimensions."
            )


@dataclass(frozen=True)
class VectorHit:
    """A vector that was found: its position, the server's `score`, and the `score_to_inner_product` that this stands
    for."""

    position: int
    score: float
    inner_product: float


def build_index_mapping(layout: ElasticsearchVectorIndexOptions, dim: int) -> dict[str, Any]:
    """The mappings of an index: the vectors and nothing else; the position of a vector is its document's id."""
    options: dict[str, Any] = {"type": layout.kind}
    if layout.has_graph:
        options |= {"m": layout.m, "ef_construction": layout.ef_construction}
    field = {
        "type": "dense_vector", "dims": dim, "index": True, "similarity": layout.similarity,
        "index_options": options
    }  # fmt: skip
    return {"dynamic": "strict", "_source": {"enabled": False}, "properties": {FIELD: field}}


SETTINGS: Body = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"}
"""One shard, so that there is one graph, and nothing refreshed while it is loaded."""


def list_bulk_load_actions(index: str, vectors: Vectors) -> Iterator[dict[str, Any]]:
    """List the actions that load each vector, in order; done twice, it is the same."""
    position = 0
    for block in iterate_vector_blocks(vectors):
        for row in block.tolist():
            yield {"_index": index, "_id": str(position), FIELD: row}
            position += 1


def build_knn_request(query: Floats, k: int, ef: int) -> dict[str, Any]:
    """The search for the best k, among at least `ef` candidates. UsageError for more than it can give back."""
    if k > MOST:
        raise UsageError(f"Elasticsearch returns at most {MOST} results per search, not {k}.")
    return {
        "field": FIELD, "query_vector": query.tolist(), "k": k, "num_candidates": min(MOST, max(ef, k))
    }  # fmt: skip


def read_vector_hits(answer: Body, similarity: str) -> list[VectorHit]:
    """What a search found. LookupError, TypeError or ValueError for an answer that is none, or holds only a part."""
    if answer.get("timed_out") or answer.get("_shards", {}).get("failed"):
        raise ValueError("only part of the index was searched")
    return [
        VectorHit(int(hit["_id"]), float(hit["_score"]), score_to_inner_product(float(hit["_score"]), similarity))
        for hit in answer["hits"]["hits"]
    ]


def score_to_inner_product(score: float, similarity: str) -> float:
    """Convert a score of Elasticsearch, which is never negative, to the inner product.

    (1 + s) / 2 for dot_product and cosine; for max_inner_product 1 + s, and 1 / (1 - s) where s is negative. Source:
    Elasticsearch's reference of dense_vector; RAG spec, trap T9.

    >>> (score_to_inner_product(0.75, "cosine"), score_to_inner_product(1.5, "max_inner_product"),
    ... score_to_inner_product(0.5, "max_inner_product"))
    (0.5, 0.5, -1.0)
    """
    if similarity != "max_inner_product":
        return 2 * score - 1
    if score <= 0:
        raise ValueError(f"a score of {score}, although all must be above 0")
    return score - 1 if score >= 1 else 1 - 1 / score


def parse_stored_index_entry(document: Body) -> tuple[str, float, int]:
    """Of an entry of the list: the index that holds the vectors, the seconds it took, and its bytes."""
    source = document["_source"]
    return str(source["index"]), float(source["build_seconds"]), int(source["bytes"])


def find_first_bulk_error(errors: Sequence[Any]) -> str:
    """Why the first of the vectors of a bulk request was not taken."""
    for item in errors:
        for outcome in item.values():
            error = outcome.get("error", outcome)
            return str(error.get("reason", error) if isinstance(error, dict) else error)
    return "no reason"


_PORTS = {"http": 9200, "https": 443}
_SECONDS = 60
_AGAIN = "Restart the server and repeat the command: finished work is kept."


class ElasticsearchServer:
    """The server at `address`; `key` names the environment variable that holds an API key, `ca_certs` is the file of
    the authority that a server's own certificate is signed by.

    `client` is elasticsearch's own, safe to share between threads; it connects when it is first used.
    """

    def __init__(self, address: SecretServerUrl, key: str | None = None, ca_certs: str | None = None) -> None:
        elasticsearch = _import_elasticsearch()
        keep_logger_off_stderr("elastic_transport")
        self._address, api_key = _read_api_key_from_environment(address, key)
        url, self.place = _split_url_and_server_place(address)
        options = {"api_key": api_key, "ca_certs": ca_certs}
        with self.explain_server_errors():
            self.client = elasticsearch.Elasticsearch(
                url, request_timeout=_SECONDS, max_retries=1,
                **{name: value for name, value in options.items() if value is not None}
            )  # fmt: skip

    @contextmanager
    def explain_server_errors(self) -> Iterator[None]:
        """Explain the server's errors inside as a ModelError that names the server, and no secret."""
        from elasticsearch import ApiError, TransportError, UnsupportedProductError
        from elasticsearch.helpers import BulkIndexError

        try:
            yield
        except UnsupportedProductError as error:
            raise ModelError(f"The server at {self.place} is not Elasticsearch.") from error
        except BulkIndexError as error:
            raise self._make_refusal_error(find_first_bulk_error(error.errors)) from error
        except ApiError as error:
            raise self._make_refusal_error(_read_server_reason(error), error.status_code) from error
        except TransportError as error:
            reason = self._address.redact_secrets(error)
            raise ModelError(f"Elasticsearch at {self.place} does not answer: {reason}.", mend=_AGAIN) from error
        except (LookupError, TypeError, ValueError) as error:
            # Its message may repeat the address, password and all.
            raise self._make_refusal_error(str(error)) from None

    def _make_refusal_error(self, reason: str, status: int = 0) -> ModelError:
        mend = ""
        if status in (401, 403):
            mend = f"Check the user and the password in {self._address.origin}, or pass key=VARIABLE."
        elif "compatible-with" in reason or "media_type" in reason:
            mend = "Install the client that matches the server's version: pip install 'elasticsearch>=8,<9'."
        return ModelError(f"Elasticsearch at {self.place} refuses: {self._address.redact_secrets(reason)}.", mend=mend)


def _import_elasticsearch() -> Any:
    try:
        import elasticsearch
    except ImportError as error:
        raise ModelError(
            f"elasticsearch needs the package {error.name}, which is not installed.",
            mend="Install it: pip install 'embassay[elastic]'",
        ) from error
    return elasticsearch


def _read_api_key_from_environment(address: SecretServerUrl, key: str | None) -> tuple[SecretServerUrl, str | None]:
    if key is None:
        return address, None
    if not re.fullmatch("[A-Z_][A-Z0-9_]*", key):
        raise UsageError(
            "`key=` takes the NAME of an environment variable in capitals, not the key itself.",
            mend="Put the key into a variable (export MY_KEY=...) and write key=MY_KEY.",
        )
    value = os.environ.get(key, "").strip()
    if not value:
        raise ModelError(f"elasticsearch needs a key, but {key} is not set.", mend=f"export {key}=...")
    return replace(address, secrets=(*address.secrets, value)), value


def _split_url_and_server_place(address: SecretServerUrl) -> tuple[str, str]:
    """The URL with a port, which the client wants, and host and port."""
    try:
        parts = urlsplit(address.url)
        port = parts.port or _PORTS[parts.scheme]
        host = parts.hostname
    except ValueError:
        host = None
    if not host:
        raise UsageError(
            f"{address.origin} is not the address of a server.", mend="Write it like http://localhost:9200."
        )
    user, at, _ = parts.netloc.rpartition("@")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{user}{at}{shown}:{port}{parts.path}", f"{shown}:{port}"


def _read_server_reason(error: Any) -> str:
    """The server's own words, where its answer has any."""
    body = error.body if isinstance(error.body, dict) else {}
    reason = body.get("error", "")
    if isinstance(reason, dict):
        causes = reason.get("root_cause") or [reason]
        reason = causes[0].get("reason") or reason.get("reason")
    return str(reason or f"{error.message} ({error.status_code})")


VARIABLE = "EMBASSAY_ELASTICSEARCH"
SCHEMES = ("http", "https")
LIST = "embassay-indexes"
_LONG = 3600
"""Seconds for building a graph in one piece."""


class ElasticsearchIndex:
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
        layout: ElasticsearchVectorIndexOptions = ElasticsearchVectorIndexOptions(),
        ef: int = 100,
        key: str | None = None,
        ca_certs: str | None = None,
    ) -> None:
        n, dim = measure_shards_shape(vectors)
        layout.check(dim)
        if not 1 <= ef <= MOST:
            raise UsageError(f"Elasticsearch supports ef from 1 to {MOST}, not ef={ef}.", mend="Use 50 to 1000.")
        self.name = (name or "elasticsearch").replace("elasticsearch:%24", "elasticsearch:", 1)
        self._vectors, self._layout, self._ef = vectors, layout, ef
        self._listed = layout.name(digest)
        address = resolve_server_address("elasticsearch", target, schemes=SCHEMES, variable=VARIABLE)
        self._server = ElasticsearchServer(address, key, ca_certs)
        index = self._find_stored_index_of_vectors()
        self._index, seconds, size = index or self._build_and_list_index()
        self.facts = IndexFacts(n, dim, seconds, size, memory_bytes=None, found=index is not None)

    def search(self, queries: Floats, k: int) -> RankedCandidates:
        """The best k vectors of each query."""
        check_query_vectors(queries, self.facts.dim, k)
        answers = [self.find(query, k) for query in queries]
        return rank_found_vectors([[(hit.position, hit.inner_product) for hit in answer] for answer in answers], k)

    def find(self, query: Floats, k: int) -> list[VectorHit]:
        """The best k of one query (d,) with the server's own scores, best first. An index that somebody removed is
        loaded again."""
        from elasticsearch import NotFoundError

        for _ in range(2):
            try:
                with self._server.explain_server_errors():
                    answer = self._server.client.search(
                        index=self._index, knn=build_knn_request(query, k, self._ef), size=k, source=False,
                        filter_path="timed_out,_shards.failed,hits.hits._id,hits.hits._score"
                    )  # fmt: skip
                    return read_vector_hits({"hits": {"hits": []}, **answer}, self._layout.similarity)
            except ModelError as error:
                if not isinstance(error.__cause__, NotFoundError):
                    raise
                last = error
                self._index = (self._find_stored_index_of_vectors() or self._build_and_list_index())[0]
        raise last

    def close(self) -> None:
        """Close the connections. The index stays."""
        self._server.client.close()

    def _find_stored_index_of_vectors(self) -> tuple[str, float, int] | None:
        """The index that is listed for these vectors, with its seconds and bytes, if it is there."""
        client = self._server.client.options(ignore_status=404)
        with self._server.explain_server_errors():
            listed: Any = client.get(index=LIST, id=self._listed)
            if not listed.get("found"):
                return None
            index = parse_stored_index_entry(listed)
            if client.indices.exists(index=index[0]):
                return index
            # The index is gone: the next client must not be sent to it.
            client.delete(index=LIST, id=self._listed, refresh=True)
        return None

    def _build_and_list_index(self) -> tuple[str, float, int]:
        """Make an index, and list it when it is complete. Whatever stops this before, it is removed or never used."""
        from secrets import token_hex

        # A name of its own, because several clients may load at once.
        index = f"{self._listed}-{token_hex(4)}"
        client = self._server.client
        try:
            with self._server.explain_server_errors():
                started = perf_counter()
                client.indices.create(
                    index=index,
                    settings=SETTINGS,
                    mappings=build_index_mapping(self._layout, measure_shards_shape(self._vectors)[1]),
                )
                self._fill_index(index)
                return self._list_index_unless_other_was_first(index, perf_counter() - started)
        except BaseException:
            self._delete_elasticsearch_index(index)
            raise

    def _fill_index(self, index: str) -> None:
        from elasticsearch.helpers import bulk

        client = self._server.client.options(request_timeout=_LONG)
        n, _ = bulk(client, list_bulk_load_actions(index, self._vectors), stats_only=False)
        client.indices.refresh(index=index)
        # One segment, so that there is one graph: a graph for each would be searched better and more slowly.
        client.indices.forcemerge(index=index, max_num_segments=1)
        client.indices.refresh(index=index)
        counted = client.count(index=index)["count"]
        wanted = measure_shards_shape(self._vectors)[0]
        if not n == counted == wanted:
            raise ValueError(f"it contains {counted} of {wanted} vectors")

    def _list_index_unless_other_was_first(self, index: str, seconds: float) -> tuple[str, float, int]:
        """Put the index on the list, or remove it where another client was faster, whose index it then is."""
        from elasticsearch import ConflictError

        stats = self._server.client.indices.stats(index=index, metric="store")
        size = int(stats["_all"]["primaries"]["store"]["size_in_bytes"])
        n, dim = measure_shards_shape(self._vectors)
        entry = {"index": index, "n": n, "dim": dim, "build_seconds": seconds, "bytes": size}
        try:
            self._server.client.create(index=LIST, id=self._listed, document=entry, refresh=True)
        except ConflictError:
            other = self._find_stored_index_of_vectors()
            if other is None:
                raise
            self._delete_elasticsearch_index(index)
            return other
        return index, seconds, size

    def _delete_elasticsearch_index(self, index: str) -> None:
        """Remove the index, as far as it can be; what stays behind is not listed, and so never used."""
        from elasticsearch import ApiError, TransportError

        with suppress(ApiError, TransportError):
            self._server.client.options(ignore_status=404).indices.delete(index=index)
