"""Cosine similarity of an encoder's vectors: what makes an embedding model a similarity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import (
    CellPartExecutor,
    Encoder,
    EncoderFactsWrapper,
    RankedCandidates,
    Role,
    ShardedCorpusSearcher,
)
from embassay.errors import UsageError
from embassay.search import exact_search
from embassay.search.exact import iterate_results_of_shards

Vectors = NDArray[np.float32]
_LONG = 1e30
"""Lengths from here on, and below its inverse, are not those of embeddings."""


@dataclass(frozen=True)
class VectorTransformOptions:
    """Options of the vectors; its fields are the parameters that every encoder's spec string can have."""

    dims: int | None = None
    normalize: bool = False
    quantize: Literal["float32", "float16", "int8", "binary"] = "float32"

    @property
    def is_changing_vectors(self) -> bool:
        """Whether it does anything."""
        return self != VectorTransformOptions()

    def __call__(self, vectors: Vectors) -> Vectors:
        """The vectors, (n, d), as (n, dims): float32, whatever the precision their values are rounded to."""
        shorter = vectors[:, : self.dims]
        if self.normalize:
            shorter = scale_rows_to_unit_length(shorter)
        if self.quantize == "float16":
            return scale_rows_to_unit_length(shorter).astype(np.float16).astype(np.float32)
        if self.quantize == "int8":
            # A scale for each text, as no collection is at hand to fit one to; the cosine does not mind scales.
            scaled = _divide_rows_by_scale(shorter, np.abs(shorter).max(axis=1, initial=0)) * np.float32(127)
            return np.asarray(np.rint(scaled), dtype=np.float32)
        if self.quantize == "binary":
            # A zero vector has no direction, and NaN marks a text that could not be encoded: both stay.
            signs = np.where(shorter > 0, np.float32(1), np.float32(-1))
            return np.where(shorter.any(axis=1, keepdims=True) & ~np.isnan(shorter), signs, shorter)
        return np.ascontiguousarray(shorter)


PARAMETERS = tuple(field.name for field in fields(VectorTransformOptions))


class TransformedEncoder(EncoderFactsWrapper):
    """`encoder` with `transform` done to its vectors. UsageError when it has fewer dimensions than are asked for.

    What else the encoder says of itself (its failures, its price) is said here too; only its vectors are not
    to be had untransformed.
    """

    def __init__(self, encoder: Encoder, transform: VectorTransformOptions) -> None:
        if transform.dims is not None and not 1 <= transform.dims <= encoder.dim:
            raise UsageError(
                f"{encoder.name!r} has {encoder.dim} dimensions, so dims={transform.dims} is impossible.",
                mend=f"Use 1 to {encoder.dim}.",
            )
        self.encoder = encoder
        self.transform = transform

    @property
    def identity(self) -> str:
        """The encoder's identity and what is done to its vectors."""
        done = ",".join(f"{name}={getattr(self.transform, name)}" for name in PARAMETERS)
        return f"{self.encoder.identity}>{done}"

    @property
    def dim(self) -> int:
        """Dimensions after the transform."""
        return self.transform.dims or self.encoder.dim

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> Vectors:
        """Transformed vectors, (n, dim) float32."""
        return self.transform(self.encoder.encode(texts, role=role))

    def __getattr__(self, name: str) -> Any:
        # `encoder` while it is unpickled; the others would give vectors past the transform.
        if name in ("encoder", "encode_chunks", "encode_token_vectors"):
            raise AttributeError(name)
        return getattr(self.encoder, name)


def scale_rows_to_unit_length(vectors: Vectors) -> Vectors:
    """Each row (n, d) at length 1; zero rows stay zero, NaN stays NaN.

    >>> scale_rows_to_unit_length(np.array([[3.0, 4.0]], dtype=np.float32)).round(2).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    lengths = compute_row_lengths(vectors)
    # A length that float32 cannot hold, or holds with few digits: by a power of two, which costs no digit.
    for beyond, factor in ((lengths > _LONG, 2.0**-64), ((lengths > 0) & (lengths < 1 / _LONG), 2.0**64)):
        if beyond.any():
            vectors = np.where(beyond[:, None], vectors * np.float32(factor), vectors)
            lengths = compute_row_lengths(vectors)
    return _divide_rows_by_scale(vectors, lengths.astype(np.float32))


def compute_row_lengths(vectors: Vectors) -> NDArray[np.float64]:
    """The length of each row, (n,)."""
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)))


def _divide_rows_by_scale(vectors: Vectors, scales: Vectors) -> Vectors:
    """Each row over its scale; zero rows stay zero."""
    return np.asarray(vectors / np.where(scales == 0, 1, scales)[:, None], dtype=np.float32)


_BLOCK = 256


class Cosine(ShardedCorpusSearcher):
    """The cosine of two texts' vectors, in [-1, 1]; higher is more similar.

    Equal texts have exactly 1, two empty ones too; an empty text, or one whose vector is zero, has 0 with
    every other (SAGE spec, section 2). `pairs`, `between` and `distances` give the encoder no role, `search` tells it
    queries from documents.

    A text among `failures` has NaN with every text, itself too; as a document it is never found, as a query it
    finds nothing.
    """

    kind: Literal["embedding"] = "embedding"

    def __init__(self, encoder: Encoder, *, name: str | None = None) -> None:
        self.encoder = encoder
        self.name = name or encoder.name
        self.identity = f"cosine({encoder.identity})"

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def failures(self) -> Mapping[str, str]:
        """The failures so far: texts that could not be encoded, with the reason."""
        return find_encoding_failure_reasons(self.encoder)

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Cosine of `a[i]` and `b[i]`, shape (n,). UsageError when their numbers differ."""
        if len(a) != len(b):
            raise UsageError(f"pairs() needs the same number of texts in a and b, found {len(a)} and {len(b)}.")
        # Two calls, so that originals compared with many variants are the same chunks to the cache each time.
        left, right = self._encode_unit_vectors(a), self._encode_unit_vectors(b)
        equal = np.array([x == y for x, y in zip(a, b, strict=True)], dtype=bool)
        return _multiply_row_pairs(left, right, np.arange(len(a)), np.arange(len(b)), equal)

    def compare_indexed_pairs(
        self, texts: Sequence[str], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Cosine of `texts[left[i]]` and `texts[right[i]]`, shape (n,), as `pairs` has it; each of the texts, which
        are distinct, is encoded once, however many pairs it is in."""
        vectors = self._encode_unit_vectors(texts)
        return _multiply_row_pairs(vectors, vectors, left, right, left == right)

    def vectors(self, texts: Sequence[str], role: Role | None = None) -> NDArray[np.float32]:
        """The texts' vectors as the encoder gives them, (n, dim), not normalised: what a classifier learns from. Zeros
        for an empty text, NaN for one among `failures`."""
        vectors = np.array(self.encoder.encode(texts, role=role), dtype=np.float32)
        vectors[np.array([not text for text in texts], dtype=bool)] = 0
        return vectors

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - cosine of every two texts, in [0, 2], condensed; equal texts have exactly 0.

        Written block by block into the result: beside it only the vectors and a few hundred rows are held.
        """
        vectors = self._encode_unit_vectors(texts)
        n = len(vectors)
        distances = np.empty(n * (n - 1) // 2, dtype=np.float32)
        for start in range(0, n, _BLOCK):
            block = np.clip(1 - vectors[start : start + _BLOCK] @ vectors[start:].T, 0, 2)
            for row, values in enumerate(block, start):
                first = _find_condensed_row_start(row, n)
                distances[first : first + n - 1 - row] = values[row - start + 1 :]
        for rows in _group_rows_of_repeated_texts(texts):
            # A text that was lost is not even near to itself.
            if np.isnan(vectors[rows[0], 0]):
                continue
            for position, row in enumerate(rows[:-1]):
                distances[_find_condensed_row_start(int(row), n) + rows[position + 1 :] - row - 1] = 0
        return distances

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int, *, spread: CellPartExecutor | None = None
    ) -> Iterator[RankedCandidates]:
        """The k texts of the highest cosine in each shard, in order (see `exact_search` for ties); a shard is one call
        of the encoder, and only one shard's vectors are in memory at a time."""
        work = _ShardEncodingAndSearch(self, self._encode_unit_vectors(queries, "query"), k)
        # Found by the name of its method, because encoders wrap encoders.
        accounts = find_encoder_part_with("add_encoding_counts", self.encoder)
        for ranked, account in iterate_results_of_shards(work, shards, spread):
            if account is not None and accounts is not None:
                accounts.add_encoding_counts(account)
            yield ranked

    def _encode_unit_vectors(self, texts: Sequence[str], role: Role | None = None) -> NDArray[np.float32]:
        """The texts' vectors at length 1; zero vectors, and those of empty texts, are zero; NaN where it failed."""
        vectors = np.asarray(self.encoder.encode(texts, role=role), dtype=np.float32)
        units = scale_rows_to_unit_length(vectors)
        units[np.array([not text for text in texts], dtype=bool)] = 0
        return units


@dataclass(frozen=True)
class _ShardEncodingAndSearch:
    """Encode a shard and search it for the `queries` (q, dim): what is done where the shard is."""

    system: Cosine
    queries: NDArray[np.float32]
    k: int

    def __call__(self, shard: Sequence[str]) -> tuple[RankedCandidates, Any]:
        """The best k of the shard; what its encoder counted, unless it counted at home (`CachedEncoder.account`)."""
        ranked = _search_rows_without_nan(
            self.queries, self.system._encode_unit_vectors(list(shard), "document"), self.k
        )
        accounts = find_encoder_part_with("add_encoding_counts", self.system.encoder)
        return ranked, None if accounts is None else accounts.account()


def find_encoding_failure_reasons(encoder: Any) -> dict[str, str]:
    """The texts that an encoder could not encode so far, with the reason; an empty text needs none."""
    part = find_encoder_part_with("failures", encoder)
    failed: Mapping[str, str] = {} if part is None else part.failures
    return {text: reason for text, reason in failed.items() if text}


def find_encoder_part_with(name: str, encoder: Any) -> Any:
    """The outermost part of an encoder that has an attribute called `name`; None where no part has."""
    while encoder is not None and not hasattr(encoder, name):
        encoder = getattr(encoder, "encoder", None)
    return encoder


def _multiply_row_pairs(
    left: NDArray[np.float32],
    right: NDArray[np.float32],
    rows_left: NDArray[np.int64],
    rows_right: NDArray[np.int64],
    equal: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """Products of these rows of unit vectors, (n,), block by block; 1 where the texts are equal and have a vector."""
    similarity = np.empty(len(rows_left), dtype=np.float32)
    for start in range(0, len(similarity), _BLOCK):
        part = slice(start, start + _BLOCK)
        similarity[part] = (left[rows_left[part]] * right[rows_right[part]]).sum(axis=1)
    np.clip(similarity, -1, 1, out=similarity)
    # A product of a unit vector with itself is 1 but for rounding.
    similarity[equal & ~np.isnan(similarity)] = 1
    return similarity


def _search_rows_without_nan(queries: NDArray[np.float32], corpus: NDArray[np.float32], k: int) -> RankedCandidates:
    """`exact_search` among the rows that are not NaN, as a ranking of all of them."""
    # The sum of a row is NaN where any of its values is.
    left, right = (np.flatnonzero(~np.isnan(np.einsum("nd->n", rows))) for rows in (queries, corpus))
    if len(left) == len(queries) and len(right) == len(corpus):
        return exact_search(queries, corpus, k)
    return add_unranked_queries_to_ranking(exact_search(queries[left], corpus[right], k), left, right, len(queries))


def add_unranked_queries_to_ranking(
    ranked: RankedCandidates, left: NDArray[np.int64], right: NDArray[np.int64], queries: int
) -> RankedCandidates:
    """A ranking of the documents `right` for the queries `left` as one of all: the other queries find nothing."""
    indices = np.full((queries, ranked.indices.shape[1]), -1, dtype=np.int64)
    scores = np.full(indices.shape, -np.inf)
    # The -1 at the end is what the index -1, nothing found, points at.
    indices[left] = np.append(right, -1)[ranked.indices]
    scores[left] = ranked.scores
    return RankedCandidates(indices, scores)


def _find_condensed_row_start(row: int, n: int) -> int:
    """Where the distances of `row` to the rows after it begin in the condensed order."""
    return row * (2 * n - row - 1) // 2


def _group_rows_of_repeated_texts(texts: Sequence[str]) -> list[NDArray[np.int64]]:
    """The rows of each text that occurs more than once, ascending."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(texts):
        rows[text].append(row)
    return [np.array(equal, dtype=np.int64) for equal in rows.values() if len(equal) > 1]
