"""One point of a sweep: what a retrieval stack is made of."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

Mode = Literal["dense", "hybrid"]
NONE = "none"
"""Of an axis where nothing is done."""


@dataclass(frozen=True)
class Configuration:
    """A retrieval stack.

    `dims` None are all of the encoder's. `k` are the candidates that are retrieved, and given to the reranker where
    there is one. `deduplicate` is the similarity from which a candidate counts as a copy of an earlier one (0: none are
    removed), `boost` the weight of the words' score beside the reranker's. `chunk` names how documents were cut
    (`none`: they are what they are). Source: spec rag 3.4 and 9.
    """

    encoder: str
    dims: int | None = None
    index: str = "flat"
    k: int = 50
    reranker: str = NONE
    mode: Mode = "dense"
    rewrite: str = NONE
    deduplicate: float = 0.0
    boost: float = 0.0
    chunk: str = NONE

    @property
    def id(self) -> str:
        """What sets it apart, in the order of the axes, without what is as usual.

        >>> Configuration("wordllama", 64, "hnsw-f32", 100, mode="hybrid").id
        'wordllama/64d/hnsw-f32/k100/hybrid'
        """
        usual = Configuration(self.encoder)
        parts = [self.encoder, f"{self.dims}d" if self.dims else "", self.index, f"k{self.k}", self.mode]
        if self.reranker != NONE:
            parts.append(self.reranker)
        for field in fields(self)[6:]:
            value = getattr(self, field.name)
            if value != getattr(usual, field.name):
                parts.append(f"{field.name}={value}")
        return "/".join(part for part in parts if part)
