"""An encoder of a sweep behind the cache of vectors: texts by themselves, and passages within their document."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Index, RankedCandidates, Role
from embassay.errors import ModelError, UsageError
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.rag.sweep.collection import Ints, PassagesToIndex
from embassay.protocols.rag.sweep.config import SweepRequest
from embassay.registry import Registry
from embassay.runs.embeddings import CachedEncoder, make_chunk_cache_key
from embassay.runs.memory import WorkMemoryEstimate, check_memory_fits
from embassay.search import exact_search
from embassay.search.indexes import open_index
from embassay.systems import SYSTEMS, add_dims_to_spec
from embassay.systems.late_chunks import VERSION as LATE
from embassay.systems.late_chunks import (
    DocumentWithPassages,
    LateChunkEncoder,
    encode_late_chunks,
    explain_no_late_chunks,
)
from embassay.systems.multivector import mark_unencoded_texts
from embassay.systems.own import COSINE, find_model_own_similarity
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

Vectors = NDArray[np.float32]


class SweepEncoder:
    """An encoder of the sweep: vectors through the cache, and without it where time is taken."""

    def __init__(
        self, name: str, dims: int | None, request: SweepRequest, ledger: Ledger, advance: Callable[[int], None]
    ) -> None:
        self.name = add_dims_to_spec(name, dims)
        located = add_dims_to_spec(request.resolve_path_in_spec_target(name, SYSTEMS), dims)
        text = add_price_to_spec(located, SYSTEMS, request.prices.embed.get(name))
        self._opened = opening.SystemWithCachedVectors(
            text, tokenizer=open_tokenizer("words"), seed=request.seed, cache=None, advance=advance, ledger=ledger
        )
        self.system: Any = self._opened.system
        self._cached = self._opened.encoders[0]

    @property
    def identity(self) -> str:
        """Everything its vectors depend on, and how they are compared."""
        if self.by == COSINE:
            return str(self.system.identity)
        return f"{self.by}({self.system.encoder.identity})"

    @property
    def dim(self) -> int:
        """Dimensions of its vectors."""
        return int(self.system.encoder.dim)

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of texts encoded, and found encoded, so far."""
        return self._cached.counts.encoded, self._cached.counts.cached

    def list_vector_oddities(self) -> tuple[str, ...]:
        """List what speaks against the encoder's vectors so far."""
        odd = self._cached.conduct.warnings(self._cached.encoder)
        if self.has_many_vectors_per_text or find_model_own_similarity(self.system.encoder) in (COSINE, self.by):
            return odd
        return (*odd, f"{self.name} was made for Manhattan distance, which no index here supports, so cosine is used")

    @property
    def reason_vectors_are_useless(self) -> str:
        """The reason that the encoder's vectors say nothing; empty where they do."""
        return self._cached.conduct.explain_why_vectors_give_no_score

    def vectors(self, texts: Sequence[str], role: Role) -> Vectors:
        """Encode texts as (n, dim), zeros for an empty one, NaN for one that could not be encoded."""
        encode = self.system.rows if self.has_many_vectors_per_text else self.system.vectors
        vectors: Vectors = encode(list(texts), role)
        return vectors

    @property
    def reason_no_late_chunks(self) -> str:
        """Why it cannot read passages within their document; empty where it can."""
        return (
            "it gives several vectors per text"
            if self.has_many_vectors_per_text
            else explain_no_late_chunks(self._cached.encoder)
        )

    def embed_late_chunks(self, passages: PassagesToIndex, texts: Sequence[str]) -> Vectors:
        """Vectors of passages that are read within their documents, (n, dim), through the cache. The texts are those of
        all documents. UsageError for an encoder that cannot (`no_late_chunks`)."""
        if reason := self.reason_no_late_chunks:
            raise UsageError(f"{self.name} makes no late chunks: {reason}.", mend="Remove context=late.")
        vectors = embed_late_chunks_in_groups(self._cached, _group_passages_by_document(passages, texts))
        transform = getattr(self.system.encoder, "transform", None)
        return vectors if transform is None else np.asarray(transform(vectors), dtype=np.float32)

    @property
    def has_many_vectors_per_text(self) -> bool:
        """Whether a text has many vectors, which stand then in an array of objects (`contracts.Ragged`)."""
        return hasattr(self.system, "rows")

    @property
    def by(self) -> str:
        """The similarity for its vectors: the model's own, where an index can search so; else cosine."""
        own = COSINE if self.has_many_vectors_per_text else find_model_own_similarity(self.system.encoder)
        return COSINE if own == "manhattan" else own

    def index(self, spec: str, vectors: Vectors, folder: Path) -> Index:
        """Open the index of passages, built or found in the folder."""
        return (
            self.system.index(vectors, spec)
            if self.has_many_vectors_per_text
            else open_index(spec, vectors, folder=folder)
        )

    def search_passages_exactly(self, queries: Vectors, passages: Vectors, k: int) -> RankedCandidates:
        """The best k passages of each query, exactly."""
        if self.has_many_vectors_per_text:
            ranked: RankedCandidates = self.system.index(passages).search(queries, k)
            return ranked
        return exact_search(queries, passages, k)

    def lost(self, vectors: Vectors) -> Ints:
        """Blank the vectors of texts that could not be encoded by zeros, and return the texts' places."""
        # A text that was lost is NaN in every value: the first one tells.
        gone = np.flatnonzero(
            mark_unencoded_texts(vectors) if self.has_many_vectors_per_text else np.isnan(vectors[:, 0])
        )
        for place in gone.tolist():
            vectors[place] = np.zeros_like(vectors[place])
        return gone

    def encode_query_without_cache(self, text: str) -> Vectors:
        """Encode a query as its vector, (1, dim), whatever the cache has."""
        encoded = self._cached.encoder.encode([text], role="query")
        transform = getattr(self.system.encoder, "transform", None)
        if self.has_many_vectors_per_text:
            return encoded
        vector: Vectors = np.asarray(encoded if transform is None else transform(encoded), dtype=np.float32)
        return vector


def add_price_to_spec(text: str, registry: Registry[Any], usd: float | None) -> str:
    """Add the config's price to a spec string that can have one and has none, for limits of cost."""
    spec = registry.parse_spec(text)
    if usd is None or "price" in spec.params or "price" not in registry.parameters(spec.name):
        return text
    return registry.format(replace(spec, params={**spec.params, "price": usd}))


def _group_passages_by_document(passages: PassagesToIndex, texts: Sequence[str]) -> list[DocumentWithPassages]:
    """Group passages by document: the documents and where their passages stand, in order."""
    assert passages.spans is not None
    # Passages stand document by document.
    ends = np.searchsorted(passages.documents, np.arange(1, len(texts)))
    places = [tuple(map(tuple, spans.tolist())) for spans in np.split(passages.spans, ends)]
    return list(map(DocumentWithPassages, texts, places))


_LATE_GROUP = 32
"""Documents that are read together, and kept together."""


def embed_late_chunks_in_groups(cached: CachedEncoder, documents: Sequence[DocumentWithPassages]) -> Vectors:
    """The vectors of all passages of the documents as late chunks, (n, dim), through the cache of an encoder that makes
    them. Groups follow from the order of the documents, so a run that resumes has the same vectors.

    ModelError when the encoder fails or gives values that are not finite; what is done is kept.
    """
    passages = sum(len(document.passages) for document in documents)
    check_memory_fits(WorkMemoryEstimate({f"the vectors of {passages:,} passages": 8 * passages * cached.dim}))
    parts = [np.empty((0, cached.dim), dtype=np.float32)]
    for first in range(0, len(documents), _LATE_GROUP):
        group = documents[first : first + _LATE_GROUP]
        parts.append(_embed_late_chunk_group(cached, group, sum(len(document.passages) for document in group)))
    return np.concatenate(parts)


def _embed_late_chunk_group(cached: CachedEncoder, group: Sequence[DocumentWithPassages], n: int) -> Vectors:
    texts = [json.dumps([document.text, document.passages]) for document in group]
    key = make_chunk_cache_key(f"{LATE} {cached.identity}", "document", texts)
    vectors = cached.cache.read(key, (n, cached.dim))
    cached.counts.cached += 0 if vectors is None else n
    if vectors is None:
        vectors = np.concatenate(encode_late_chunks(cast("LateChunkEncoder", cached.encoder), group))
        if vectors.shape != (n, cached.dim) or not np.isfinite(vectors).all():
            raise ModelError(f"{cached.name} returned unusable vectors for late chunks.")
        cached.cache.write(key, cached.identity, vectors)
        cached.counts.encoded += n
    if cached.progress is not None:
        cached.progress(n)
    return vectors
