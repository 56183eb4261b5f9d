"""How often candidates were shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from embassay.protocols.rag.ranking.report.judged import Judged


@dataclass(frozen=True)
class Exposure:
    """Times that a candidate was shown, over those of all queries: the least, the median, the most; and how many were
    `never` shown: their place is by grade alone."""

    least: int
    median: float
    most: int
    never: int


def exposure(queries: Sequence[Judged]) -> Exposure | None:
    """Count them; None where there is no candidate."""
    counts: list[int] = []
    for query in queries:
        shown = [0] * len(query.candidates)
        for call in query.calls:
            for position in call.shown:
                shown[position] += 1
        counts += shown
    return Exposure(min(counts), float(median(counts)), max(counts), counts.count(0)) if counts else None
