"""What work will hold in memory at most, from the sizes of its data: the parts that all protocols share.

Each figure counts the arrays that are there at once where the work holds most, as they were found by measuring
(docs/memory.md); windows of constant size are in `PROGRAM`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from embassay.contracts import Similarity
from embassay.errors import ModelError
from embassay.runs.memory import Footprint, resident

PROGRAM, WINDOWS = 384 * 2**20, 96 * 2**20
"""What a process holds once all libraries are loaded (numba, scipy, the model's), and what comes on top of it: windows
of search and distances, and memory that is free and was not given back."""
_SAMPLED = 1000
_COPIES = 4
"""As the encoder gives them, in the order of the texts, at length 1, and one on the way."""
_REMEMBERED = 600
"""Bytes of the tables that find a text's vector again: by the text, by its place, and what Python needs for a row."""
_PER_CHARACTER = 20
"""Bytes of tokens, of their bags and of the indices over these, for each character of a text."""


def footprint(parts: Mapping[str, int], mend: str) -> Footprint:
    """The parts, and what every work takes: libraries that are still to be loaded, and windows."""
    libraries = max(0, PROGRAM - (resident() or 0))
    return Footprint({**parts, "the program": libraries + WINDOWS}, mend)


def largest(needs: Iterable[Footprint]) -> Footprint:
    """The one that takes most."""
    return max(needs, key=lambda need: need.bytes, default=Footprint())


def dimensions(system: Similarity) -> int:
    """Of the vectors that its encoder gives, before any transform; 0 for a system without, and where only a request
    could tell."""
    part: Any = getattr(system, "encoder", None)
    most = 0
    while part is not None:
        with suppress(AttributeError, ModelError):
            most = max(most, int(part.dim))
        part = getattr(part, "encoder", None)
    return most


def vectors(texts: int, dim: int) -> int:
    """So many vectors while they are encoded and compared."""
    return _COPIES * 4 * texts * dim


def distances(texts: int) -> int:
    """The distances of every two texts, once."""
    return 2 * texts * (texts - 1)


def remembered(texts: int, dim: int) -> int:
    """So many vectors as they are encoded, remembered by their texts, and compared."""
    return vectors(texts, dim) + texts * (4 * dim + _REMEMBERED)


def read_bytes(texts: Sequence[str], copies: int = 3) -> int:
    """What the texts take while they are worked on: what lies in a file is read as often as it is asked for, and
    `copies` of it are there at once; what is in memory is there already."""
    return 0 if isinstance(texts, tuple | list) else copies * text_bytes(texts)


def text_bytes(texts: Sequence[str], n: int | None = None) -> int:
    """What `n` of the texts (by default all) take as Python's strings: by a sample, and a quarter more."""
    n = len(texts) if n is None else n
    return round(1.25 * n * _mean(sys.getsizeof(text) + 8 for text in sampled(texts)))


def token_bytes(texts: Sequence[str], n: int | None = None) -> int:
    """What `n` of the texts (by default all) take as tokens and bags of tokens."""
    n = len(texts) if n is None else n
    return round(1.25 * n * _PER_CHARACTER * _mean(map(len, sampled(texts))))


def replicates(items: int, columns: int, resamples: int) -> int:
    """The values of items, and their bootstrap replicates."""
    return 4 * 8 * columns * (items + resamples)


def sampled(texts: Sequence[str]) -> list[str]:
    """Every so many of the texts, 1,000 at most."""
    return [texts[i] for i in range(0, len(texts), max(1, -(-len(texts) // _SAMPLED)))]


def _mean(sizes: Iterable[int]) -> float:
    every = list(sizes)
    return sum(every) / max(1, len(every))
