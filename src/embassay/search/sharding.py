"""A corpus in shards: how it is cut, and how work on the shards is spread.

The cut depends on the corpus alone, never on memory, engine or machine, because what an encoder sees in one call is a
shard: so the same corpus gives the same vectors, and the same bytes, wherever it is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from embassay.contracts import Spread
from embassay.search.blockwise import blocks

A = TypeVar("A")
B = TypeVar("B")

SHARD = 32_768
"""Documents of a shard, in the order of the corpus; the last one has what is left."""


def cut(documents: int) -> list[slice]:
    """The shards of a corpus: one, of nothing, where it is empty.

    >>> cut(40_000)
    [slice(0, 32768, None), slice(32768, 40000, None)]
    """
    return list(blocks(documents, SHARD)) or [slice(0, 0)]


def over_shards(work: Callable[[A], B], shards: Iterable[A], spread: Spread | None) -> Iterator[B]:
    """`work` of each shard, in order; in this process, one after the other, without a `spread`."""
    return map(work, shards) if spread is None else spread.map(work, shards)
