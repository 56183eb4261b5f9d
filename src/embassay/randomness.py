"""Randomness that depends only on a seed and a name.

Every random choice derives its own stream from the run's seed and what it is for, so a result depends neither
on order nor on how many workers there are.
"""

from __future__ import annotations

import hashlib

import numpy as np


def draw_random_bytes(n: int, seed: int, *names: str) -> bytes:
    """`n` bytes of the stream named by `seed` and `names`: SHAKE-128, the same in every version of everything.

    >>> draw_random_bytes(4, 1337, "word_shuffle", "doc-1") == draw_random_bytes(4, 1337, "word_shuffle", "doc-1")
    True
    """
    return hashlib.shake_128(_encode_stream_key(seed, names)).digest(n)


def make_seeded_generator(seed: int, *names: str) -> np.random.Generator:
    """A numpy generator for `seed` and `names`, for resampling (not for perturbing texts)."""
    return np.random.Generator(np.random.PCG64(int.from_bytes(draw_random_bytes(16, seed, *names), "little")))


def _encode_stream_key(seed: int, names: tuple[str, ...]) -> bytes:
    return "\x1f".join((str(seed), *names)).encode("utf-8", "surrogatepass")
