"""The frontier as people see it: stacks of equal price, time and quality are one row."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.protocols.rag.sweep.findings.record import Asked, Part, StackFacts
from embassay.protocols.rag.tradeoffs.stack import ROUNDING


@dataclass(frozen=True)
class Spot:
    """A row of the frontier: the stack that stands for it, and those that equal it in all three."""

    stack: str
    equal: tuple[str, ...] = ()


def shown_frontier(part: Part, asked: Asked) -> tuple[Spot, ...]:
    """The rows of the main frontier, fastest first, and among them the recommended stack where a smaller prompt took it
    off the frontier. For equal ones stands the recommended one, else that of the smallest K: they differ in what these
    queries never reach."""
    chosen = part.recommendation.stack
    ids = dict.fromkeys([*part.frontiers[0].stacks, *([chosen] if chosen else [])])
    groups: list[list[StackFacts]] = []
    for one in sorted((part.stack(id) for id in ids), key=lambda one: (one.latency, one.cost, one.id)):
        same = next((group for group in groups if _equal(group[0], one, asked)), None)
        if same is None:
            groups.append([one])
        else:
            same.append(one)
    spots = []
    for group in groups:
        first, *others = sorted(group, key=lambda one: (one.id != chosen, one.axes["k"], one.id))
        spots.append(Spot(first.id, tuple(one.id for one in others)))
    return tuple(spots)


def _equal(one: StackFacts, other: StackFacts, asked: Asked) -> bool:
    pairs = (
        (one.cost, other.cost),
        (one.latency, other.latency),
        (one.value(asked.measure) or 0.0, other.value(asked.measure) or 0.0),
    )
    return all(abs(a - b) <= ROUNDING for a, b in pairs)
