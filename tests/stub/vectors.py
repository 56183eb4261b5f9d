"""Vectors that follow from the text alone, so that every answer can be checked."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

DIM = 64


def vector(text: str, dim: int = DIM) -> NDArray[np.float32]:
    """A unit vector of the text: its SHAKE-128 stream as numbers. Other lengths are other vectors."""
    stream = hashlib.shake_128(text.encode("utf-8", "surrogatepass")).digest(2 * dim)
    values = np.frombuffer(stream, dtype="<i2").astype(np.float32)
    return np.asarray(values / np.linalg.norm(values), dtype=np.float32)


def vectors(texts: list[str], dim: int = DIM, spoilt: str = "") -> NDArray[np.float32]:
    """The texts' vectors, (n, dim); `spoilt` makes them too short or puts NaN into the last."""
    found = np.array([vector(text, dim) for text in texts], dtype=np.float32).reshape(len(texts), dim)
    if spoilt == "wrong_dimensions":
        return found[:, :-1]
    if spoilt == "not_a_number" and len(found):
        found[-1, 0] = np.nan
    return found


def tokens(text: str) -> int:
    """What the stub counts as tokens: words, at least one."""
    return max(1, len(text.split()))
