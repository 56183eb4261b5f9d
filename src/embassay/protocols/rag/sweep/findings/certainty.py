"""How sure a choice is: the operator's rule applied to every resample at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.sweep.configuration import Configuration
from embassay.protocols.rag.sweep.findings.record import Share
from embassay.protocols.rag.tradeoffs.rules import Limits
from embassay.protocols.rag.tradeoffs.stack import COST_SHARE, ROUNDING, Stack

Floats = NDArray[np.float64]

NOBODY = -1
MOST_RUNNERS = 5


@dataclass(frozen=True)
class Winners:
    """Of each resample, the place of the stack that the rule takes (-1: none keeps the limits), (B,); and which stacks
    are as good as the best one there, (B, stacks)."""

    places: NDArray[np.int64]
    best: NDArray[np.bool_]

    def share(self, place: int) -> float:
        """Of how many resamples this stack is the winner."""
        return float((self.places == place).mean())

    def among_best(self, place: int) -> float:
        """In how many no stack that keeps the limits is better than this one, which keeps them too."""
        return float(self.best[:, place].mean())


def choose_each(
    stacks: Sequence[Stack],
    quality: Floats,
    latency: Floats,
    limits: Limits,
    jitter_ms: float,
    cost_share: float = COST_SHARE,
) -> Winners:
    """`choose` of the tradeoffs for every row of `quality` and `latency`, both (B, stacks); costs and prompts stay.

    A stack whose quality is NaN in a resample does not take part there.
    """
    cost, prompt = np.array([one.cost for one in stacks]), np.array([one.prompt_tokens for one in stacks])
    known = np.where(np.isnan(quality), -np.inf, quality)
    running = np.isfinite(known)
    if limits.sla_ms is not None:
        running &= latency <= limits.sla_ms
    if limits.budget is not None:
        running &= cost <= limits.budget
    if limits.target is not None:
        running &= known >= limits.target - ROUNDING
    if limits.target is None:
        tied = _lowest(-known, running, ROUNDING)
    else:
        tied = _lowest(
            np.broadcast_to(cost, known.shape), _lowest(latency, running, jitter_ms), ROUNDING, cost_share
        )
    left = _lowest(np.broadcast_to(prompt, known.shape), tied, 0.0)
    left = _lowest(np.broadcast_to(cost, known.shape), left, ROUNDING, cost_share)
    for key in (-known, latency):
        left = _lowest(key, left, 0.0)
    by_id = np.argsort(np.argsort([one.id for one in stacks]))
    places = np.where(left, by_id, len(stacks)).argmin(axis=1)
    return Winners(np.where(left.any(axis=1), places, NOBODY), tied)


def _lowest(
    values: Floats, running: NDArray[np.bool_], within: float, share: float = 0.0
) -> NDArray[np.bool_]:
    """Of those running, the ones that differ from the lowest of their row by no more, or by that share of it."""
    kept = np.where(running, values, np.inf)
    least = kept.min(axis=1, keepdims=True)
    return np.asarray(
        running & (kept <= least + within + share * np.where(np.isfinite(least), np.abs(least), 0.0))
    )


def runners(winners: Winners, ids: Sequence[str], chosen: str) -> tuple[Share, ...]:
    """The other stacks that win, most often first."""
    counts = Counter(winners.places[winners.places != NOBODY].tolist())
    found = [(n, ids[place]) for place, n in counts.items() if ids[place] != chosen]
    found.sort(key=lambda one: (-one[0], one[1]))
    return tuple(Share(id, n / len(winners.places)) for n, id in found[:MOST_RUNNERS])


def by_axis(winners: Winners, configurations: Sequence[Configuration]) -> tuple[Share, ...]:
    """How often each value of each axis wins, of the axes that have several, most often first within an axis."""
    shares = []
    for axis in fields(Configuration):
        values = [getattr(one, axis.name) for one in configurations]
        if len(set(values)) < 2:
            continue
        counts = Counter(values[place] for place in winners.places.tolist() if place != NOBODY)
        ordered = sorted(counts.items(), key=lambda one: (-one[1], str(one[0])))
        shares += [Share(said(axis.name, value), n / len(winners.places), axis.name) for value, n in ordered]
    return tuple(shares)


def said(axis: str, value: object) -> str:
    """A value of an axis in words.

    >>> said("dims", None), said("dims", 64), said("k", 50), said("mode", "hybrid")
    ('all dimensions', '64 dimensions', 'K 50', 'hybrid')
    """
    if axis == "dims":
        return "all dimensions" if value is None else f"{value} dimensions"
    if axis == "k":
        return f"K {value}"
    if value == "none":
        return {"reranker": "no reranker", "rewrite": "no rewriting", "chunk": "no chunking"}.get(
            axis, "none"
        )
    if axis in ("deduplicate", "boost"):
        return f"{axis} {value:g}" if value else {"deduplicate": "copies kept", "boost": "no boost"}[axis]
    return str(value)
