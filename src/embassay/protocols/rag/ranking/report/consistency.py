"""Whether a judge contradicts itself: pairs that it put both ways, and circles of three."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking.report.judged import Judged, over_queries, ratio
from embassay.stats import Estimate


@dataclass(frozen=True)
class Consistency:
    """Of `pairs` shown together twice or more, `contradicted` were put both ways: `share` of them. Of `triads`, three
    candidates each pair of which was shown and has a majority, `circles` go round (a over b over c over a): `circular`
    is their share. Both shares are 0 for a judge without noise, and None where there is nothing to count.

    Engines show together what is hard to tell apart, so a share compares judges within one engine only.
    """

    pairs: int
    contradicted: int
    share: Estimate | None
    triads: int
    circles: int
    circular: Estimate | None


def consistency(queries: Sequence[Judged], *, seed: int = 0) -> Consistency:
    """Count both over all queries; intervals resample queries."""
    pairs, triads = [], []
    for query in queries:
        wins = query.wins()
        pairs.append(_repeated(wins))
        triads.append(_triads(wins))
    found = [(sum(bad for bad, _ in rows), sum(all_ for _, all_ in rows), rows) for rows in (pairs, triads)]
    estimates = [
        over_queries(rows, ratio, total, name, seed) if total else None
        for (_, total, rows), name in zip(found, ("pairs", "triads"), strict=True)
    ]
    (contradicted, repeated, _), (circles, complete, _) = found
    return Consistency(repeated, contradicted, estimates[0], complete, circles, estimates[1])


def _repeated(wins: NDArray[np.int64]) -> tuple[int, int]:
    """Pairs put both ways, and pairs shown together twice or more."""
    upper = np.triu_indices(len(wins), 1)
    one, other = wins[upper], wins.T[upper]
    return int(np.count_nonzero((one > 0) & (other > 0))), int(np.count_nonzero(one + other > 1))


def _triads(wins: NDArray[np.int64]) -> tuple[int, int]:
    """Threes of candidates that go round, and threes of which every pair has a majority."""
    over = (wins > wins.T).astype(np.int64)
    either = over + over.T
    return int(np.trace(over @ over @ over)) // 3, int(np.trace(either @ either @ either)) // 6
