"""Is more lost where the original score is high? (spec section 14: above 80 points)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from embassay.measures import spearman
from embassay.protocols.pteb.analysis.drops import Drop
from embassay.protocols.pteb.analysis.groups import SEED, Contrast, Group, contrast, grouped

HIGH = 0.8
EDGES = (-1.0, 0.2, 0.4, 0.6, 0.8, 1.0)
CAUTION = (
    "A high score has more room to fall, and the original score is a part of the drop: "
    "the two are related even where paraphrasing does the same to all."
)


@dataclass(frozen=True)
class AgainstOriginal:
    """The drops as points (`original`, `delta`), in bins of the original score, and above against not above `high`.

    `correlation` is Spearman's of original score and delta over all `points`; NaN where it is undefined. `caution` says
    what the relation does not mean.
    """

    points: tuple[Drop, ...]
    bins: tuple[Group, ...]
    high: float
    above: Contrast
    correlation: float
    caution: str = CAUTION


def against_original(
    drops: Sequence[Drop], *, high: float = HIGH, edges: Sequence[float] = EDGES, seed: int = SEED
) -> AgainstOriginal:
    """Drops against original scores, both as fractions; bins are [low, high), the last one closed."""
    names = [f"{max(low, 0) * 100:g} to {top * 100:g}" for low, top in pairwise(edges)]
    names[0] = f"under {edges[1] * 100:g}"

    def bin_of(drop: Drop) -> str:
        place = int(np.searchsorted(edges, drop.original, side="right")) - 1
        return names[min(max(place, 0), len(names) - 1)]

    def side(drop: Drop) -> str:
        return "above" if drop.original > high else "not above"

    correlation = spearman([drop.original for drop in drops], [drop.delta for drop in drops])
    return AgainstOriginal(
        tuple(drops),
        grouped(drops, bin_of, names, seed=seed),
        high,
        contrast(drops, side, "above", "not above", seed=seed),
        float(correlation),
    )
