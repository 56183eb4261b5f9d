"""Fewer dimensions, unit length, fewer bits: what is done to any encoder's vectors before they are compared.

The steps come in this order. `dims` keeps the first dimensions. `normalize` scales to length 1. `quantize`
rounds, each vector by itself, so that what a text becomes depends on no other text and nothing is calibrated:

    float16   the vector at length 1, each value as a half-precision number (pgvector's halfvec)
    int8      each value times 127 / the vector's largest magnitude, rounded to an integer (half to even)
    binary    1 where the value is positive, -1 elsewhere; their cosine is 1 - 2 * Hamming distance / dims

The scale of an int8 vector is not kept: the cosine does not need it. A zero vector stays zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Encoder, Role
from embassay.errors import UsageError

Vectors = NDArray[np.float32]
_LONG = 1e30
"""Lengths from here on, and below its inverse, are not those of embeddings."""


@dataclass(frozen=True)
class Transform:
    """What is asked for; its fields are the parameters that every encoder's spec string can have."""

    dims: int | None = None
    normalize: bool = False
    quantize: Literal["float32", "float16", "int8", "binary"] = "float32"

    @property
    def changes(self) -> bool:
        """Whether it does anything."""
        return self != Transform()

    def __call__(self, vectors: Vectors) -> Vectors:
        """The vectors, (n, d), as (n, dims): float32, whatever the precision their values are rounded to."""
        kept = vectors[:, : self.dims]
        if self.normalize:
            kept = unit(kept)
        if self.quantize == "float16":
            return unit(kept).astype(np.float16).astype(np.float32)
        if self.quantize == "int8":
            scaled = _divided(kept, np.abs(kept).max(axis=1, initial=0)) * np.float32(127)
            return np.asarray(np.rint(scaled), dtype=np.float32)
        if self.quantize == "binary":
            # A zero vector has no direction, and NaN marks a text that could not be encoded: both stay.
            signs = np.where(kept > 0, np.float32(1), np.float32(-1))
            return np.where(kept.any(axis=1, keepdims=True) & ~np.isnan(kept), signs, kept)
        return np.ascontiguousarray(kept)


PARAMETERS = tuple(field.name for field in fields(Transform))


class Transformed:
    """`encoder` with `transform` done to its vectors. UsageError when it has fewer dimensions than are asked for.

    What else the encoder says of itself (its failures, its price) is said here too; only its vectors are not
    to be had untransformed.
    """

    def __init__(self, encoder: Encoder, transform: Transform) -> None:
        if transform.dims is not None and not 1 <= transform.dims <= encoder.dim:
            raise UsageError(
                f"{encoder.name!r} has {encoder.dim} dimensions, so dims={transform.dims} cannot be had.",
                mend=f"Ask for 1 to {encoder.dim}.",
            )
        self.encoder = encoder
        self.transform = transform

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    @property
    def identity(self) -> str:
        """The encoder's identity and what is done to its vectors."""
        done = ",".join(f"{name}={getattr(self.transform, name)}" for name in PARAMETERS)
        return f"{self.encoder.identity}>{done}"

    @property
    def dim(self) -> int:
        """Dimensions after the transform."""
        return self.transform.dims or self.encoder.dim

    @property
    def max_tokens(self) -> int | None:
        """The encoder's limit."""
        return self.encoder.max_tokens

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> Vectors:
        """Transformed vectors, (n, dim) float32."""
        return self.transform(self.encoder.encode(texts, role=role))

    def count_truncated(self, texts: Sequence[str]) -> int:
        """The encoder's count."""
        return self.encoder.count_truncated(texts)

    def __getattr__(self, name: str) -> Any:
        if name in ("encoder", "encode_chunks", "encode_tokens"):
            raise AttributeError(name)
        return getattr(self.encoder, name)


def unit(vectors: Vectors) -> Vectors:
    """Each row (n, d) at length 1; zero rows stay zero, NaN stays NaN.

    >>> unit(np.array([[3.0, 4.0]], dtype=np.float32)).round(2).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    lengths = _lengths(vectors)
    # A length that float32 cannot hold, or holds with few digits: by a power of two, which costs no digit.
    for beyond, factor in ((lengths > _LONG, 2.0**-64), ((lengths > 0) & (lengths < 1 / _LONG), 2.0**64)):
        if beyond.any():
            vectors = np.where(beyond[:, None], vectors * np.float32(factor), vectors)
            lengths = _lengths(vectors)
    return _divided(vectors, lengths.astype(np.float32))


def _lengths(vectors: Vectors) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)))


def _divided(vectors: Vectors, scales: Vectors) -> Vectors:
    """Each row over its scale; zero rows stay zero."""
    return np.asarray(vectors / np.where(scales == 0, 1, scales)[:, None], dtype=np.float32)
