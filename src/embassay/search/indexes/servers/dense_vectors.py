"""What Elasticsearch is sent, and how its answers are read: without a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from embassay.errors import UsageError
from embassay.search.indexes.vectors import Floats, Vectors, row_blocks

FIELD = "embedding"
MOST = 10_000
"""Candidates of a search, and what one may give back."""
_MOST_DIMENSIONS = 4096

Body = Mapping[str, Any]


@dataclass(frozen=True)
class DenseLayout:
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
                f"Elasticsearch builds no graph with m={self.m}, ef_construction={self.ef_construction}.",
                mend="m is at least 2, ef_construction from 1 to 10000.",
            )

    @property
    def has_graph(self) -> bool:
        """Whether a search is approximate, and wider with more candidates."""
        return self.kind.endswith("hnsw")

    def name(self, digest: str) -> str:
        """What the vectors of this digest are listed under."""
        graph = f"-m{self.m}-c{self.ef_construction}" if self.has_graph else ""
        return f"embassay-{digest[:32]}-{self.kind}{graph}-{self.similarity}"

    def check(self, dim: int) -> None:
        """UsageError for more dimensions than Elasticsearch indexes."""
        if dim > _MOST_DIMENSIONS:
            raise UsageError(
                f"Elasticsearch takes at most {_MOST_DIMENSIONS} dimensions, not {dim}.",
                mend="Use fewer dimensions.",
            )


@dataclass(frozen=True)
class Hit:
    """A vector that was found: its position, the server's `score`, and the `inner_product` that this stands for."""

    position: int
    score: float
    inner_product: float


def mapping(layout: DenseLayout, dim: int) -> dict[str, Any]:
    """The mappings of an index: the vectors and nothing else; the position of a vector is its document's id."""
    options: dict[str, Any] = {"type": layout.kind}
    if layout.has_graph:
        options |= {"m": layout.m, "ef_construction": layout.ef_construction}
    field = {
        "type": "dense_vector", "dims": dim, "index": True, "similarity": layout.similarity,
        "index_options": options,
    }  # fmt: skip
    return {"dynamic": "strict", "_source": {"enabled": False}, "properties": {FIELD: field}}


SETTINGS: Body = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"}
"""One shard, so that there is one graph, and nothing refreshed while it is loaded."""


def actions(index: str, vectors: Vectors) -> Iterator[dict[str, Any]]:
    """What loads each vector, in order; done twice, it is the same."""
    position = 0
    for block in row_blocks(vectors):
        for row in block.tolist():
            yield {"_index": index, "_id": str(position), FIELD: row}
            position += 1


def knn(query: Floats, k: int, ef: int) -> dict[str, Any]:
    """The search for the best k, among at least `ef` candidates. UsageError for more than it can give back."""
    if k > MOST:
        raise UsageError(f"Elasticsearch gives back at most {MOST} of a search, not {k}.")
    return {
        "field": FIELD, "query_vector": query.tolist(), "k": k, "num_candidates": min(MOST, max(ef, k)),
    }  # fmt: skip


def hits(answer: Body, similarity: str) -> list[Hit]:
    """What a search found. LookupError, TypeError or ValueError for an answer that is none, or holds only a part."""
    if answer.get("timed_out") or answer.get("_shards", {}).get("failed"):
        raise ValueError("only a part of the index was searched")
    return [
        Hit(int(hit["_id"]), float(hit["_score"]), inner_product(float(hit["_score"]), similarity))
        for hit in answer["hits"]["hits"]
    ]


def inner_product(score: float, similarity: str) -> float:
    """What a score of Elasticsearch stands for; scores there are never negative.

    (1 + s) / 2 for dot_product and cosine; for max_inner_product 1 + s, and 1 / (1 - s) where s is negative. Source:
    Elasticsearch's reference of dense_vector; RAG spec, trap T9.

    >>> inner_product(0.75, "cosine"), inner_product(1.5, "max_inner_product"), inner_product(0.5, "max_inner_product")
    (0.5, 0.5, -1.0)
    """
    if similarity != "max_inner_product":
        return 2 * score - 1
    if score <= 0:
        raise ValueError(f"a score of {score} where all are above 0")
    return score - 1 if score >= 1 else 1 - 1 / score


def kept(document: Body) -> tuple[str, float, int]:
    """Of an entry of the list: the index that holds the vectors, the seconds it took, and its bytes."""
    source = document["_source"]
    return str(source["index"]), float(source["build_seconds"]), int(source["bytes"])


def first_reason(errors: Sequence[Any]) -> str:
    """Why the first of the vectors of a bulk request was not taken."""
    for one in errors:
        for outcome in one.values():
            error = outcome.get("error", outcome)
            return str(error.get("reason", error) if isinstance(error, dict) else error)
    return "no reason"
