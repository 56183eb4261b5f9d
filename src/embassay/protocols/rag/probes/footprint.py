"""What a cell of a probe will hold in memory at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embassay.contracts import Similarity
from embassay.protocols.footprint import (
    dimensions,
    footprint,
    read_bytes,
    remembered,
    token_bytes,
)
from embassay.runs.promise import Footprint

_PER_PLACE = 4_000
"""Bytes of a wording's values, its ten passages and their ids, twice: its own and those of the clean question."""
_DRAWS = 3 * 8
"""Bytes of a query in a draw that all statistics of a cell share."""
_MOST_DRAWN = 5_000_000


@dataclass(frozen=True)
class Sizes:
    """Of a probe: `pairs` that are compared, `places` where a wording stands, `queries`, and `resamples` of them."""

    pairs: int
    places: int
    queries: int
    resamples: int


def needed(
    system: Similarity, asked: Sequence[str], stored: Sequence[str], sizes: Sizes, mend: str
) -> Footprint:
    """The estimate for one system that gets the texts `asked` as queries and those `stored` as passages."""
    dim = dimensions(system)
    parts = {
        "texts": read_bytes(stored),
        "values": _PER_PLACE * sizes.places,
        "replicates": _DRAWS * min(sizes.queries * sizes.resamples, _MOST_DRAWN),
    }
    if dim:
        parts["vectors"] = remembered(len(asked) + len(stored), dim)
    else:
        both = token_bytes(asked, sizes.pairs) + token_bytes(stored, sizes.pairs)
        parts["tokens"] = max(token_bytes(asked) + token_bytes(stored), both)
    return footprint(parts, mend)
