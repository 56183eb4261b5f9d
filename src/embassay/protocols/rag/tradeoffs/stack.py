"""A retrieval stack as its user sees it: what it costs, how long it takes, how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from embassay.errors import UsageError

JITTER_MS = 75.0
"""Latencies that differ by less are not told apart, where the jitter was not measured (spec rag 3.2)."""
COST_SHARE = 0.01
"""Costs that differ by less of the larger are equal: the mean length of what was reranked moves them by as much."""
ROUNDING = 1e-9
"""Qualities that differ by less are equal: sums of floats in another order (spec rag, trap 8)."""


@dataclass(frozen=True)
class Stack:
    """One configuration, measured.

    `cost` in US dollars per 1,000 queries, `latency` in milliseconds per query (the percentile that is compared),
    `quality` by the name of the measure, higher is better. `prompt_tokens` are those of the K passages that the
    generator is given.
    """

    id: str
    cost: float
    latency: float
    quality: Mapping[str, float] = field(default_factory=dict)
    prompt_tokens: float = 0.0

    def reaches(self, measure: str) -> float:
        """The quality of this name; UsageError where it was not measured."""
        try:
            return self.quality[measure]
        except KeyError:
            raise UsageError(
                f"The stack {self.id!r} has no {measure}.",
                mend=f"It has: {', '.join(self.quality) or 'none'}.",
            ) from None
