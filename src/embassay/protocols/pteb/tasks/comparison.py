"""What a task asks a system for: how similar pairs of texts are, or the vectors of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role, Similarity

DECIMALS = 6
"""Similarities are rounded before they are ranked, so that float noise decides nothing."""


@runtime_checkable
class Embedding(Protocol):
    """A similarity that has vectors: `systems.cosine.Cosine`, and what stands in for it."""

    def vectors(self, texts: Sequence[str], role: Role | None = None) -> NDArray[np.float32]:
        """The texts' vectors, (n, dim)."""
        ...

    def between(
        self, texts: Sequence[str], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Similarity of `texts[left[i]]` and `texts[right[i]]`, (n,)."""
        ...


def similarity(system: Similarity, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
    """Similarity of `first[i]` and `second[i]`, (n,), to 1e-6; NaN where a text could not be encoded.

    One call, so one batch to metrics that compare within a batch; an encoder sees every distinct text once.
    """
    if not isinstance(system, Embedding):
        return _rounded(system.pairs(first, second))
    place = {text: row for row, text in enumerate(dict.fromkeys((*first, *second)))}
    left, right = (np.array([place[text] for text in side], dtype=np.int64) for side in (first, second))
    return _rounded(system.between(list(place), left, right))


def nearest(
    system: Similarity, anchors: Sequence[Sequence[str]], texts: Sequence[Sequence[str]]
) -> list[NDArray[np.float64]]:
    """Of every item, each text's highest similarity to any of the item's anchors, (texts,); NaN where the text, or
    all of the anchors, could not be encoded."""
    first = [anchor for group, others in zip(anchors, texts, strict=True) for anchor in group for _ in others]
    second = [text for group, others in zip(anchors, texts, strict=True) for _ in group for text in others]
    sizes = [(len(group), len(others)) for group, others in zip(anchors, texts, strict=True)]
    cuts = np.cumsum([rows * columns for rows, columns in sizes], dtype=np.int64)
    parts = np.split(similarity(system, first, second), cuts)[:-1]
    # fmax, and not max: an anchor that was lost leaves the others.
    return [np.fmax.reduce(part.reshape(size), axis=0) for part, size in zip(parts, sizes, strict=True)]


def _rounded(values: NDArray[np.float32]) -> NDArray[np.float64]:
    # Zero has one sign, and equal values compare equal.
    return np.asarray(np.round(values.astype(np.float64), DECIMALS) + 0.0)
