"""The frontiers of a sweep: by latency, by cost, by both, in the usual and the strict sense, and under time limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.protocols.rag.sweep.findings.families import at_other_cutoffs
from embassay.protocols.rag.sweep.findings.ground import Ground
from embassay.protocols.rag.sweep.findings.recommending import decidable
from embassay.protocols.rag.sweep.findings.record import Frontier
from embassay.protocols.rag.tradeoffs.frontier import Axis, Dominance, frontier

MAIN = "cost, latency"
AXES: tuple[tuple[str, tuple[Axis, ...]], ...] = (
    (MAIN, ("cost", "latency")), ("latency", ("latency",)), ("cost", ("cost",)),
)  # fmt: skip
STRICT = ", strict"


def frontiers(ground: Ground) -> Iterator[Frontier]:
    """Every frontier by the measure that decides; the main one also under each time limit of the rules, and by the
    same measure at the other cutoffs, one by one and each as an objective of its own."""
    measure, both = ground.rules.measure, AXES[0][1]
    for name, axes in AXES:
        yield _made(ground, name, [measure], axes, "pareto")
        yield _made(ground, name + STRICT, [measure], axes, "strict")
    for slo in ground.rules.slos_ms:
        yield _made(ground, f"{MAIN}, at most {slo:g} ms", [measure], both, "pareto", slo)
    others = at_other_cutoffs(ground)
    for other in others:
        yield _made(ground, f"{MAIN}, {other}", [other], both, "pareto")
        yield _made(ground, f"{MAIN}, {other}{STRICT}", [other], both, "strict")
    if others:
        yield _made(ground, f"{MAIN}, every cutoff", [measure, *others], both, "pareto")


def _made(
    ground: Ground,
    name: str,
    measures: Sequence[str],
    axes: Sequence[Axis],
    dominance: Dominance,
    slo_ms: float | None = None,
) -> Frontier:
    found = frontier(
        decidable(ground, *measures),
        measures,
        axes=axes,
        dominance=dominance,
        slo_ms=slo_ms,
        cost_share=ground.rules.cost_share,
        jitter_ms=ground.measured_jitter_ms,
    )
    ordered = sorted(found, key=lambda one: (one.latency, one.cost, one.id))
    return Frontier(
        name, " and ".join(measures), tuple(axes), dominance, tuple(one.id for one in ordered), slo_ms
    )
