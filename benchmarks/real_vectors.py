"""Vectors as texts have them, as many as a benchmark asks for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from real_text import DATA, real_texts

from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.systems.encoders.minilm import MiniLMEncoder

BASE = 3_000
_LONGEST = 200
_NOISE = 0.2


def real_vectors(
    n: int, queries: int, data: Path = DATA, *, base: int = BASE, seed: int = 1
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """`n` vectors to search and `queries` to search for, 384 dimensions, length 1.

    MiniLM's vectors of `base` distinct real texts of at most 200 characters, recombined: each is w a + (1 - w) b of two
    of them, w uniform in [0.5, 1], plus noise of length 0.2 in a random direction. Queries are made in the same way,
    so each has a few dozen vectors that share its main text. The texts' vectors are kept in the user's cache.
    """
    encoder = CachedEncoder(MiniLMEncoder(), EmbeddingCache.open())
    real = encoder.encode(real_texts(base, data, longest=_LONGEST))
    real /= np.linalg.norm(real, axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    made = np.concatenate(
        [_mixed(real, min(10_000, n + queries - start), rng) for start in range(0, n + queries, 10_000)]
    )
    return made[:n], made[n:]


def _mixed(real: NDArray[np.float32], n: int, rng: np.random.Generator) -> NDArray[np.float32]:
    weight = rng.uniform(0.5, 1, (n, 1)).astype(np.float32)
    noise = rng.standard_normal((n, real.shape[1]), dtype=np.float32)
    noise *= _NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
    one, other = (real[rng.integers(0, len(real), n)] for _ in range(2))
    mixed = weight * one + (1 - weight) * other + noise
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)
