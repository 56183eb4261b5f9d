"""An encoder that answers for parts of what it was asked before.

A kept chunk of vectors serves calls with the same set of texts only (`cached_encoder`). Where a few of thousands of
texts drop out of a comparison, the others' vectors are known all the same: they are remembered as long as needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Encoder, Role


class RememberedEncoder:
    """`encoder`, which is not asked for texts whose vectors are all remembered. Attributes that it has beside its
    contract are reached through `encoder`."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._known: dict[Role | None, dict[str, NDArray[np.float32]]] = {}

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    @property
    def identity(self) -> str:
        """The encoder's identity."""
        return self.encoder.identity

    @property
    def dim(self) -> int:
        """The encoder's dimensions."""
        return self.encoder.dim

    @property
    def max_tokens(self) -> int | None:
        """The encoder's limit."""
        return self.encoder.max_tokens

    def remember(self, calls: Iterable[tuple[Sequence[str], Role | None]]) -> None:
        """Make these calls of `encode` and remember what they give; texts that failed too, as NaN."""
        for texts, role in calls:
            vectors = self.encoder.encode(texts, role=role)
            self._known.setdefault(role, {}).update(zip(texts, vectors, strict=True))

    def forget(self) -> None:
        """Remember nothing any more."""
        self._known.clear()

    def remembers(self, texts: Sequence[str], role: Role | None) -> bool:
        """Whether a call for these texts asks the encoder nothing."""
        known = self._known.get(role, {})
        return all(text in known for text in texts)

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:
        """Embeddings, (n, dim) float32: remembered where all of them are, else the encoder's."""
        if not texts or not self.remembers(texts, role):
            return self.encoder.encode(texts, role=role)
        return np.stack([self._known[role][text] for text in texts])

    def count_truncated(self, texts: Sequence[str]) -> int:
        """The encoder's count."""
        return self.encoder.count_truncated(texts)
