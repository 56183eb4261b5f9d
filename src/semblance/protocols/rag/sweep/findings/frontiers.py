"""The frontiers of a sweep: by latency, by cost, by both, in the usual and the strict sense, and under time limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from semblance.protocols.rag.sweep.findings.families import at_other_cutoffs
from semblance.protocols.rag.sweep.findings.ground import Ground
from semblance.protocols.rag.sweep.findings.recommending import decidable
from semblance.protocols.rag.sweep.findings.record import Frontier
from semblance.protocols.rag.tradeoffs.frontier import Axis, Dominance, frontier

MAIN = "cost, latency"
AXES: tuple[tuple[str, tuple[Axis, ...]], ...] = (
    (MAIN, ("cost", "latency")), ("latency", ("latency",)), ("cost", ("cost",)),
)  # fmt: skip
STRICT = ", strict"


def frontiers(ground: Ground) -> Iterator[Frontier]:
    """Every frontier by the measure that decides; the main one also under each time limit of the rules, and by the
    same measure at the other usual cutoff."""
    measure = ground.rules.measure
    for name, axes in AXES:
        yield _made(ground, name, measure, axes, "pareto")
        yield _made(ground, name + STRICT, measure, axes, "strict")
    for slo in ground.rules.slos_ms:
        yield _made(ground, f"{MAIN}, at most {slo:g} ms", measure, ("cost", "latency"), "pareto", slo)
    for other in at_other_cutoffs(ground):
        yield _made(ground, f"{MAIN}, {other}", other, ("cost", "latency"), "pareto")
        yield _made(ground, f"{MAIN}, {other}{STRICT}", other, ("cost", "latency"), "strict")


def _made(
    ground: Ground,
    name: str,
    measure: str,
    axes: Sequence[Axis],
    dominance: Dominance,
    slo_ms: float | None = None,
) -> Frontier:
    found = frontier(decidable(ground, measure), [measure], axes=axes, dominance=dominance, slo_ms=slo_ms)
    ordered = sorted(found, key=lambda one: (one.latency, one.cost, one.id))
    return Frontier(name, measure, tuple(axes), dominance, tuple(one.id for one in ordered), slo_ms)
