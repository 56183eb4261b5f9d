"""What a cell of a sweep will hold in memory at most: the vectors of an encoder, an index of them, words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from embassay.contracts import Tokenizer
from embassay.protocols.footprint import dimensions, footprint, read_bytes, sampled, text_bytes, vectors
from embassay.protocols.rag.sweep.collection import Collection, passages_of
from embassay.protocols.rag.sweep.configuration import NONE, Configuration
from embassay.protocols.rag.words_footprint import words_bytes
from embassay.runs.promise import Footprint
from embassay.search.indexes import INDEXES

_TABLES = 300
"""Bytes of a passage in the tables that find its vector by its text."""
_LINKS = 256
"""Bytes of a passage in an index beside its vector: links of a graph, its number."""
_CHUNK = 200
"""Bytes of a chunk beside its text: its id, its number and that of its document."""
_SHARE = 200
"""Documents that are cut to learn how many chunks there are."""


@dataclass(frozen=True)
class Sizes:
    """Passages of a dataset cut in one way: how many, and bytes of their texts and of the index of words."""

    passages: int
    texts: int
    words: int


@dataclass
class Room:
    """Estimates for the cells of a sweep; each way of cutting a dataset is tried once, on some documents."""

    tokenizer: Tokenizer
    _sizes: dict[tuple[str, str], Sizes] = field(default_factory=dict)

    def needed(
        self,
        collection: Collection,
        configurations: Sequence[Configuration],
        system: Any,
        *,
        made: Sequence[str] = (),
    ) -> Footprint:
        """The estimate for configurations on one index; what is `made` (`passages`, `words`) is held already."""
        head, sizes = configurations[0], self._of(collection, configurations[0].chunk)
        dim, queries = dimensions(system), len(collection.queries)
        n = sizes.passages
        hybrid = any(one.mode == "hybrid" or one.boost for one in configurations)
        parts = {
            f"the vectors of {n:,} passages": vectors(n + 2 * queries, dim) + n * _TABLES,
            "passages": read_bytes(collection.texts) + ("passages" not in made) * sizes.texts,
            "the index": self._index(head, n, dim),
            "words": hybrid * ("words" not in made) * sizes.words,
        }
        return footprint(parts, _mend(head))

    def _index(self, head: Configuration, n: int, dim: int) -> int:
        kind = dict(INDEXES.get(INDEXES.parse(head.index).name).facts).get("kind", "")
        return n * (4 * (head.dims or dim) + _LINKS) if kind == "approximate" else 0

    def _of(self, one: Collection, chunk: str) -> Sizes:
        if (one.name, chunk) not in self._sizes:
            self._sizes[one.name, chunk] = _sizes(one, chunk, self.tokenizer)
        return self._sizes[one.name, chunk]


def _sizes(one: Collection, chunk: str, tokenizer: Tokenizer) -> Sizes:
    if chunk == NONE:
        return Sizes(len(one.texts), 0, words_bytes(one.texts, len(one.texts), one.queries))
    some = sampled(one.texts)[:: max(1, min(len(one.texts), 1000) // _SHARE)]
    cut = passages_of(replace(one, ids=[str(i) for i in range(len(some))], texts=some), chunk, tokenizer)
    n = round(1.1 * len(cut) / max(1, len(some)) * len(one.texts))
    return Sizes(n, text_bytes(cut.texts, n) + _CHUNK * n, words_bytes(cut.texts, n, one.queries))


def _mend(head: Configuration) -> str:
    """What makes this cell smaller."""
    ways = ["Sweep a smaller corpus", "an encoder of fewer dimensions"]
    ways += ["longer chunks"] if head.chunk != NONE else []
    ways += ["the index flat, which needs no second copy"] if head.index != "flat" else []
    return f"{', '.join(ways[:-1])} or {ways[-1]}"
