"""Queries that a system has no vector for, or for one of whose passages it has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from embassay.contracts import Similarity
from embassay.protocols.lost import Lost


def lost_queries(system: Similarity, ids: Sequence[str], texts: Callable[[int], Iterable[str]]) -> Lost:
    """The lost ones among the queries; `texts` are all those of a query, by its place."""
    lost = Lost(system, ids, "queries")
    failures = getattr(system, "failures", {})
    if failures:
        lost.see_texts([next((one for one in texts(q) if one in failures), "") for q in range(len(ids))])
    return lost
