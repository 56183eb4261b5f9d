"""Vectors laid out for search by inner product, found by spec string."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from embassay.contracts import Index
from embassay.registry import Registry
from embassay.spec import Spec

if TYPE_CHECKING:
    from embassay.search.indexes.store import Vectors

__all__ = ["INDEXES", "open_index"]


class _IndexRegistry(Registry[Index]):
    """Indexes by name; a spec string with a password in its address is refused before anybody writes it down."""

    def parse_spec(self, text: str) -> Spec:
        """The spec of `text`. UsageError for a name that is none, and for a password."""
        from embassay.search.indexes.address import check_no_password

        check_no_password(text)
        return super().parse_spec(text)


INDEXES = _IndexRegistry("index", makes=[["facts", "search", "close"]])
"""Every kind of index by name; other packages join through the entry-point group `embassay.indexes`.

A factory is called with what it asks for by name: `vectors`, `digest` (of the vectors, to keep what is built under),
`folder` (where that may be kept; None keeps nothing), `memory` (bytes that it should hold at once; None sets no limit)
and `name` (its canonical spec string). It checks neither shape nor values of the vectors.
"""

INDEXES.add(
    "flat",
    "embassay.search.indexes.faiss_index:FlatIndex",
    "exact: compares every vector; has no dependencies",
    kind="exact",
)
INDEXES.add(
    "hnsw-f32",
    "embassay.search.indexes.faiss_index:open_hnsw_f32_index",
    "HNSW graph of uncompressed vectors: hnsw-f32?m=16&ef_construction=100&ef=64 (or ef=auto)",
    kind="approximate",
    needs="embassay[ann]",
)
INDEXES.add(
    "hnsw-int8",
    "embassay.search.indexes.faiss_index:open_hnsw_int8_index",
    "HNSW graph of vectors with one byte per value: hnsw-int8?m=16&ef_construction=100&ef=64 (or ef=auto)",
    kind="approximate",
    needs="embassay[ann]",
)
INDEXES.add(
    "pq",
    "embassay.search.indexes.faiss_index:pq",
    "product quantization, with a short code for each part of a vector: pq?m=48&nbits=8&sample=16384",
    kind="approximate",
    needs="embassay[ann]",
)
INDEXES.add(
    "opq",
    "embassay.search.indexes.faiss_index:open_opq_index",
    "like pq, after a rotation that makes the parts independent: opq?m=48&nbits=8&sample=16384",
    kind="approximate",
    needs="embassay[ann]",
)
INDEXES.add(
    "pgvector",
    "embassay.search.indexes.pgvector:PgVectorIndex",
    "PostgreSQL with pgvector: pgvector:postgresql://localhost/postgres?kind=hnsw, or pgvector:VARIABLE",
    kind="server",
    needs="embassay[pg], EMBASSAY_POSTGRES",
)
INDEXES.add(
    "elasticsearch",
    "embassay.search.indexes.elasticsearch:ElasticsearchIndex",
    "Elasticsearch: elasticsearch:http://localhost:9200?kind=hnsw, or elasticsearch:VARIABLE",
    kind="server",
    needs="embassay[elastic], EMBASSAY_ELASTICSEARCH",
)


def open_index(
    text: str, vectors: Vectors, *, folder: Path | str | None = None, digest: str = "", memory: int | None = None
) -> Index:
    """The index of `vectors` that a spec string names (`flat`, `hnsw-f32?m=32`), called by its canonical spec string.

    `vectors` are float32 (n, d), in memory or a memory map, or a sequence of such shards that are searched as if they
    were stacked; they need not be of unit length. What takes time to build is kept in `folder` and found there when the
    same vectors are asked for in the same way. `digest` is that of the vectors (`digest_of`), computed when it is not
    given: hand it over to open several indexes of the same vectors. `memory` is a limit in bytes on what `flat` holds
    of vectors and products at once; what is approximate has to be in memory as a whole.

    UsageError for unknown names and parameters and for vectors that are none, ModelError for values that are not
    finite, a library that is missing and a server that does not answer.
    """
    from embassay.search.indexes.store import check_vectors, hash_vectors

    spec = INDEXES.parse_spec(text)
    vectors = check_vectors(vectors)
    if not digest and "digest" in INDEXES.parameters(spec.name):
        digest = hash_vectors(vectors)
    return INDEXES.build(
        spec,
        vectors=vectors,
        digest=digest,
        folder=None if folder is None else Path(folder),
        memory=memory,
        name=INDEXES.format(spec),
    )
