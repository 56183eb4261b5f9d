"""Vectors of which a text has many: the tokens of a multi-vector model, the terms of a sparse one, through the cache.

What such an encoder promises: `contracts.RaggedEncoder`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Encoder, Ragged, Role, ragged
from embassay.errors import ModelError
from embassay.runs.embeddings import CachedEncoder, Conduct
from embassay.runs.memory import Footprint, check

Floats = NDArray[np.float32]


def packed(rows: Ragged) -> Floats:
    """Ragged vectors as one array (n, floats of one text on average): how many rows each text has, all rows, and
    zeros."""
    counts = np.array([len(one) for one in rows], dtype=np.float32)
    flat = np.concatenate([counts, *(np.ravel(one) for one in rows)])
    width = -(-len(flat) // len(rows))
    whole = np.zeros(len(rows) * width, dtype=np.float32)
    whole[: len(flat)] = flat
    return whole.reshape(len(rows), width)


def unpacked(kept: Floats, width: int) -> Ragged | None:
    """What `packed` was made of, with rows of this width; None where it cannot be."""
    n = len(kept)
    flat = kept.ravel()
    counts = flat[:n].astype(np.int64)
    ends = n + width * np.cumsum(counts)
    if (counts < 0).any() or (n and not len(flat) - n < ends[-1] <= len(flat)):
        return None
    return ragged(
        [flat[end - width * c : end].reshape(c, width) for c, end in zip(counts, ends, strict=True)]
    )


def outlined(rows: Ragged) -> Floats:
    """The mean row of each text, (n, width): enough to see whether two answers are the same."""
    return np.array([one.sum(axis=0) / max(1, len(one)) for one in rows], dtype=np.float32)


class _Outlined:
    """An encoder that gives the outline of each text."""

    def __init__(self, encoder: Any) -> None:
        self.name, self._encoder = encoder.name, encoder

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> Floats:
        return outlined(self._encoder.encode(texts, role=role))


class RaggedConduct(Conduct):
    """What is said against an encoder of ragged vectors, by their outlines."""

    def saw(self, texts: Sequence[str], vectors: Any) -> None:
        """The rows of distinct texts."""
        super().saw(texts, outlined(vectors))

    def made(self, texts: Sequence[str], role: Role | None, vectors: Any) -> None:
        """What one call of `encode` gave."""
        super().made(texts, role, outlined(vectors))

    def warnings(self, encoder: Encoder) -> tuple[str, ...]:
        """In words, as of other encoders."""
        return super().warnings(_Outlined(encoder))  # type: ignore[arg-type]


class CachedRagged(CachedEncoder):
    """An encoder of ragged vectors behind the cache. `stream` gives them as they come, so that they need not be in
    memory all at once."""

    def __init__(self, *parts: Any, **hears: Any) -> None:
        super().__init__(*parts, **hears)
        self.conduct = RaggedConduct()

    @property
    def width(self) -> int:
        """Values of a row."""
        return int(self.encoder.width)  # type: ignore[attr-defined]

    @property
    def floats(self) -> int:
        """Values of a text, about."""
        return int(self.encoder.floats)  # type: ignore[attr-defined]

    def stream(self, texts: Sequence[str], role: Role | None = None) -> Iterator[tuple[list[int], Ragged]]:
        """Places of some of the texts and what these have, chunk by chunk, until all have been given. A text that could
        not be encoded has one row of NaN. Errors are those of `encode`."""
        role = role if self.uses_roles else None
        places: dict[str, list[int]] = defaultdict(list)
        for place, text in enumerate(texts):
            places[text].append(place)
        _, chunks = self._chunks(texts)
        for position, found in self._vectors(chunks, role):
            rows = [
                (place, one)
                for text, one in zip(chunks[position], found, strict=True)
                for place in places[text]
            ]
            yield [place for place, _ in rows], ragged([one for _, one in rows])

    def _room(self, distinct: int, texts: int) -> Ragged:
        check(Footprint({f"the vectors of {texts:,} texts": 4 * distinct * self.floats}))
        return np.empty(distinct, dtype=object)

    def _read(self, key: bytes, n: int) -> Ragged | None:
        kept = self.cache.read(key, (n, None))
        return None if kept is None else unpacked(kept, self.width)

    def _write(self, key: bytes, vectors: Ragged) -> None:
        self.cache.write(key, self.identity, packed(vectors))

    def _lost(self) -> Ragged:
        return ragged([np.full((1, self.width), np.nan, dtype=np.float32)])

    def _checked(self, vectors: Any, n: int) -> Ragged:
        if len(vectors) != n or any(one.ndim != 2 or one.shape[1] != self.width for one in vectors):
            raise ModelError(f"The encoder {self.name!r} gave no rows of {self.width} values for {n} texts.")
        if not all(np.isfinite(one).all() for one in vectors):
            raise ModelError(f"The encoder {self.name!r} gave values that are not finite.")
        return ragged([np.ascontiguousarray(one, dtype=np.float32) for one in vectors])
