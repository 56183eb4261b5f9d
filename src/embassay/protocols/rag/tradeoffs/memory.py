"""How much memory an index takes, estimated from its size (spec rag 3.6)."""

from __future__ import annotations

from embassay.errors import UsageError


def vector_bytes(n: int, dim: int, *, bytes_per_value: int = 4) -> int:
    """The vectors themselves: 4 bytes a value for float32, 1 for int8.

    >>> vector_bytes(1_000_000, 1024) / 2**30
    3.814697265625
    """
    return n * dim * bytes_per_value


def graph_bytes(n: int, *, m: int = 16, id_bytes: int = 4) -> float:
    """The links of an HNSW graph of `n` vectors: 2m on the lowest level, m on each above, where one of m vectors goes
    on; and 24 bytes of administration each. int8 vectors do not shrink it. UsageError for m below 2.

    >>> round(graph_bytes(1_000_000) / 2**30, 6)
    0.145535
    """
    if m < 2:
        raise UsageError(f"A graph with {m} links per vector has no levels.", mend="m is 2 or more.")
    return n * (id_bytes * (2 * m + m / (m - 1)) + 24)


def product_bytes(n: int, dim: int, *, m: int, rotated: bool = False) -> int:
    """Product quantisation: `m` bytes a vector and m codebooks of 256 parts each, with OPQ (`rotated`) a matrix too.
    UsageError where m does not divide the dimensions.

    >>> product_bytes(1_000_000, 384, m=48)
    48393216
    """
    if m < 1 or dim % m:
        raise UsageError(f"{dim} dimensions cannot be cut into {m} equal parts.", mend="m must divide them.")
    return n * m + 256 * dim * 4 + (dim * dim * 4 if rotated else 0)
